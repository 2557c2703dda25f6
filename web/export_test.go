package web

import "maps"

// Paths are the paths below /api/v1/, and whether each takes a body of JSON.
func (s *Server) Paths() map[string]bool {
	all := make(map[string]bool)
	for name, r := range maps.All(s.routes()) {
		all[name] = r.method == "POST" && !r.file
	}
	return all
}
