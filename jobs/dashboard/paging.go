package dashboard

import (
	"net/url"
	"strconv"
)

// pageRows is how many rows a page of a list has.
const pageRows = 50

// pager leads through a list in pages.
type pager struct {
	First, Last, Total     int // of the rows, from 1
	Page, Pages            int
	Start, Prev, Next, End string // addresses; empty: there is none
}

// number groups the digits of n, since a cluster may have many jobs.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// newPager finds the page that the request asks for in a list of total rows; what does not exist becomes the nearest
// one that does.
func (q *request) newPager(total int) pager {
	asked, err := strconv.Atoi(q.r.URL.Query().Get("page"))
	if err != nil {
		asked = 1
	}
	p := pager{Total: total, Pages: max(1, (total+pageRows-1)/pageRows)}
	p.Page = min(max(1, asked), p.Pages)
	p.First, p.Last = (p.Page-1)*pageRows+1, min(total, p.Page*pageRows)
	if p.Page > 1 {
		p.Start, p.Prev = q.with("page", "1"), q.with("page", strconv.Itoa(p.Page-1))
	}
	if p.Page < p.Pages {
		p.Next, p.End = q.with("page", strconv.Itoa(p.Page+1)), q.with("page", strconv.Itoa(p.Pages))
	}
	return p
}

// with returns the address of this page with other parameters.
func (q *request) with(params ...string) string {
	values := url.Values{}
	for name, vs := range q.r.URL.Query() {
		if len(vs) > 0 && vs[0] != "" {
			values.Set(name, vs[0])
		}
	}
	for i := 0; i < len(params); i += 2 {
		if values.Set(params[i], params[i+1]); params[i+1] == "" {
			values.Del(params[i])
		}
	}
	return q.name + "?" + values.Encode()
}
