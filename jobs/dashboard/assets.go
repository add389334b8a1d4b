package dashboard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/timeline"
)

// asset is a file that pages load. It holds nothing private, so everybody gets it.
type asset struct {
	name    string
	content []byte
	version string // of the content
	address string // changes with the content, so that browsers may keep it
}

var assets = map[string]*asset{
	"style.css": newAsset("style.css", timeline.Styles),
	"app.js":    newAsset("app.js", read("form.js")),
	"icon.svg":  newAsset("icon.svg"),
}

func newAsset(name string, more ...string) *asset {
	content := []byte(read(name) + strings.Join(more, ""))
	sum := sha256.Sum256(content)
	version := hex.EncodeToString(sum[:6])
	return &asset{name: name, content: content, version: version, address: address(name, "v", version)}
}

func read(name string) string {
	content, err := web.ReadFile("web/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(content)
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "This file can only be read.", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(a.name)))
	h.Set("ETag", `"`+a.version+`"`)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
