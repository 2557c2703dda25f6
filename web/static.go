package web

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"dpsql/web/dist"
)

// shell is the page at each of the console's paths. It holds no data.
//
//go:embed shell.html
var shell string

// static returns the handler of what is the same for everybody: the shell, and the files that it names.
func (s *Server) static() http.Handler {
	pages, text := http.NewServeMux(), shell
	files, _ := fs.Glob(dist.Files, "*")
	for _, name := range files {
		switch path.Ext(name) {
		case ".js", ".css", ".txt":
			content, _ := dist.Files.ReadFile(name)
			sum := sha256.Sum256(content)
			hashed := fmt.Sprintf("/assets/%s-%x", name, sum[:8])
			text = strings.ReplaceAll(text, `"/assets/`+name+`"`, `"`+hashed+`"`)
			pages.HandleFunc("GET "+hashed, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
				w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
				w.Write(content)
			})
		}
	}
	for _, name := range []string{"/{$}", "/ask", "/budget", "/curate", "/publish"} {
		pages.HandleFunc("GET "+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write([]byte(text))
		})
	}
	return pages
}
