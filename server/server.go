// Package server answers clients that speak the PostgreSQL protocol: psql, JDBC, psycopg,
// pandas, R and others. Each connection has a session of package engine, so what a client
// may ask, see and spend is decided there. This package keeps to the protocol: logins,
// messages, portals, the settings that clients send, and the form of values.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/binary"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"dpsql/engine"
	"dpsql/internal/places"
	"dpsql/internal/scram"
)

// Config says what a server serves, and to whom.
type Config struct {
	Database *engine.DB   // whose users may log in
	Name     string       // of the database, that clients connect to
	Log      *slog.Logger // nil logs nothing
	// Certificate returns the certificate to show to the next client. nil offers no TLS.
	Certificate func() (*tls.Certificate, error)
	// RequireTLS refuses a connection without TLS, unless it comes over a Unix socket.
	RequireTLS bool
	// Curator reports whether a connection belongs to the curator, who has no password. It is
	// asked before the password of a user is. nil is never.
	Curator func(c net.Conn, user string) bool
	// Failures are the logins that failed, and Shares what users have. The server shares both with what else serves the
	// database. nil makes its own.
	Failures *scram.Failures
	Shares   *places.Shares
	Limits   Limits
}

// Limits bound what clients may use. A field that is 0 has its default.
type Limits struct {
	Connections int           // of users at a time, and as many that have not logged in; 1,000
	Login       time.Duration // until a client has logged in; 10 s
	Idle        time.Duration // between a client's messages; 0 has no limit
	Write       time.Duration // until a client has taken what was sent to it; 30 s
	Message     int           // bytes of a message; 1 MiB
	Prepared    int           // prepared statements, and portals, of a connection; 1,000
	Memory      int           // bytes that all connections of a user may make the server keep; 256 MiB
}

func (l Limits) withDefaults() Limits {
	l.Connections, l.Prepared = cmp.Or(l.Connections, 1000), cmp.Or(l.Prepared, 1000)
	l.Login, l.Write = cmp.Or(l.Login, 10*time.Second), cmp.Or(l.Write, 30*time.Second)
	l.Message, l.Memory = cmp.Or(l.Message, 1<<20), cmp.Or(l.Memory, places.MostHeld)
	return l
}

// Server is a server. It serves any number of listeners.
type Server struct {
	config   Config
	log      *slog.Logger
	counts   Counts
	failures *scram.Failures
	catalogs catalogs

	mu       sync.Mutex
	entering seats            // of those that have not logged in
	users    seats            // of those that have, but the curator's
	conns    map[uint32]*conn // by the number that clients are told
	last     uint32           // the number given last
	draining bool
	served   sync.WaitGroup
}

// New returns a server. It listens nowhere until Serve is called.
func New(c Config) *Server {
	c.Limits, c.Shares = c.Limits.withDefaults(), cmp.Or(c.Shares, places.NewShares())
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Server{config: c, log: log, failures: cmp.Or(c.Failures, scram.NewFailures()),
		entering: seats{most: c.Limits.Connections, older: true}, users: seats{most: c.Limits.Connections},
		conns: make(map[uint32]*conn)}
}

// Counts returns what the server has counted so far.
func (s *Server) Counts() *Counts { return &s.counts }

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.served.Add(1)
	s.counts.Connections.Add(1)
	s.counts.Open.Add(1)
	return true
}

func (s *Server) leave() {
	s.counts.Open.Add(-1)
	s.served.Done()
}

// knock gives a place to a connection that has not logged in, until it has or ends. When the server
// drains it ends at once.
func (s *Server) knock(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if out := s.entering.take(c.network, c); out != nil {
		out.drain(errCrowded)
	}
	if s.draining {
		c.drain(errDraining)
	}
}

// Shutdown ends the connections. Each that has logged in may end its statement until ctx ends; then the
// statement is cancelled. A statement that was charged already goes on as package engine
// has it. Shutdown returns when all connections have ended.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
	for _, held := range s.entering.of {
		for _, c := range held {
			c.drain(errDraining)
		}
	}
	for _, c := range s.conns {
		c.drain(errDraining)
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.conns {
			c.interrupt()
			c.net.SetDeadline(time.Now())
		}
	})
	defer stop()
	s.served.Wait()
}

// register gives a connection a place among those that have logged in, its number and the key by which it
// can be cancelled.
func (s *Server) register(c *conn, keySize int) error {
	c.key = make([]byte, keySize)
	rand.Read(c.key) // never fails, see crypto/rand
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entering.leave(c.network, c)
	if !c.curator {
		out := s.users.take(c.folded, c)
		if out == c {
			return errCrowded
		}
		if out != nil {
			out.drain(errCrowded)
			out.interrupt()
		}
	}
	for {
		if s.last++; s.last != 0 && s.conns[s.last] == nil {
			break
		}
	}
	c.number = s.last
	s.conns[c.number] = c
	if s.draining {
		c.drain(errDraining)
	}
	return nil
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entering.leave(c.network, c)
	s.users.leave(c.folded, c)
	if s.conns[c.number] == c {
		delete(s.conns, c.number)
	}
}

// cancel cancels the statement of the connection that the request names, if it has its key.
func (s *Server) cancel(request []byte) {
	s.counts.Cancels.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conns[binary.BigEndian.Uint32(request)]
	if c != nil && subtle.ConstantTimeCompare(c.key, request[4:]) == 1 {
		c.interrupt()
	}
}

// Counts are what a server has counted since it was made. None of them depends on a private
// row but through an answer.
type Counts struct {
	Open        atomic.Int64 // connections now
	Connections atomic.Int64 // accepted
	Logins      atomic.Int64 // that succeeded
	Refused     atomic.Int64 // logins that failed
	Statements  atomic.Int64 // that ran
	Verbs       atomic.Int64 // of those, the ones about transactions, settings, cursors and the like
	Catalog     atomic.Int64 // of those, the ones about the catalog of PostgreSQL
	Errors      atomic.Int64 // statements that failed or were refused
	Answers     atomic.Int64 // statements with a private answer
	Bought      atomic.Int64 // of those, the ones that cost something
	Rows        atomic.Int64 // sent
	Received    atomic.Int64 // bytes of messages, within TLS
	Sent        atomic.Int64 // the same, to clients
	Cancels     atomic.Int64 // requests to cancel
	Panics      atomic.Int64 // faults of the server, each of which ended a statement or a connection
}
