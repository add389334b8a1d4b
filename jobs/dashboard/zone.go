package dashboard

import (
	"net/http"
	"net/url"
	"time"
)

// zoneCookie holds the name of the reader's time zone. The script sets it, since only the browser knows it.
const zoneCookie = "lockgen-zone"

// readerZone returns the zone of the reader's clock, nil if it is unknown.
func readerZone(r *http.Request) *time.Location {
	c, err := r.Cookie(zoneCookie)
	if err != nil {
		return nil
	}
	name, err := url.QueryUnescape(c.Value)
	if err != nil || name == "" || name == "Local" || len(name) > 64 {
		return nil
	}
	zone, err := time.LoadLocation(name) // it opens nothing outside of its data base
	if err != nil {
		return nil
	}
	return zone
}
