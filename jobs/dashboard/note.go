package dashboard

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
)

const noteCookie = "lockgen-note"

// note is what the next page says about the action before it. It travels in a cookie, since the next page may be
// made by another node, and since anybody can make links with an address.
type note struct {
	Text string `json:"text"`
}

func (q *request) leaveNote(text string) {
	content, err := json.Marshal(note{Text: text})
	if err != nil {
		return // a string always can
	}
	q.setCookie(&http.Cookie{Name: noteCookie, Value: base64.RawURLEncoding.EncodeToString(content), MaxAge: 60})
}

// takeNote returns the note, if any, and removes it.
func (q *request) takeNote() *note {
	c, err := q.r.Cookie(noteCookie)
	if err != nil {
		return nil
	}
	q.setCookie(&http.Cookie{Name: noteCookie, MaxAge: -1})
	content, err := base64.RawURLEncoding.DecodeString(c.Value)
	var n note
	if err != nil || json.Unmarshal(content, &n) != nil || n.Text == "" {
		return nil
	}
	return &n
}
