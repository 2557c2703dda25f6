package server

import "dpsql/internal/scram"

// ForgetFailures forgets the logins that failed, so that the next ones do not wait.
func (s *Server) ForgetFailures() { s.failures = scram.NewFailures() }
