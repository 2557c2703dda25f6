package server

// ForgetFailures forgets the logins that failed, so that the next ones do not wait.
func (s *Server) ForgetFailures() {
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	clear(s.failures.all)
}

// Fingerprint is what the log has of a statement's text.
var Fingerprint = fingerprint
