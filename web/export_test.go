package web

import "net/http"

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// Paths are the paths below /api/v1/, and whether each takes a body of JSON.
func (s *Server) Paths() map[string]bool {
	all := make(map[string]bool)
	for name, r := range s.routes() {
		all[name] = r.method == "POST" && !r.file
	}
	return all
}
