package dashboard

import "net/http"

const themeCookie = "lockgen-theme"

// theme returns "light" or "dark", or "" to follow the browser.
func (q *request) theme() string {
	c, err := q.r.Cookie(themeCookie)
	if err != nil || (c.Value != "light" && c.Value != "dark") {
		return ""
	}
	return c.Value
}

// setTheme keeps the choice in the browser, and goes back to the page where it was made.
func (q *request) setTheme() (*view, error) {
	q.r.Body = http.MaxBytesReader(q.w, q.r.Body, maxForm)
	c := &http.Cookie{Name: themeCookie, Value: q.r.PostFormValue("theme"), MaxAge: 365 * 24 * 3600}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	q.setCookie(c)
	redirect(q.w, http.StatusSeeOther, q.ownAddress(q.r.PostFormValue("back")))
	return nil, nil
}

// setCookie sets a cookie for the directory that the browser knows the dashboard by.
func (q *request) setCookie(c *http.Cookie) {
	c.HttpOnly, c.SameSite = true, http.SameSiteLaxMode
	c.Secure = q.r.TLS != nil
	http.SetCookie(q.w, c)
}
