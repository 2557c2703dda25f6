// Package web serves the console: pages that hold no data, and an API in JSON that the pages ask. Each request
// runs in a session of package engine, so what somebody may ask, see and spend is decided there. This package
// keeps to HTTP: who asks, from where, and in which form.
//
// Analysts log in with the password that they have over the wire, the curator with a key that is good once. For an
// analyst nothing depends on private rows but answers, which the engine holds: she gets no progress, no times
// and no byte of a reply before its statement has ended.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dpsql/engine"
	"dpsql/internal/places"
	"dpsql/internal/scram"
)

// Config says what a console serves, and to whom.
type Config struct {
	Database *engine.DB
	Name     string       // of the database, as pages have it
	Port     int          // where the database is served over the wire; 0 if it is not
	File     string       // of the database: uploads are kept beside it
	Log      *slog.Logger // nil logs nothing
	// Certificate returns the certificate to show to the next client, with its Leaf. nil offers no TLS.
	Certificate func() (*tls.Certificate, error)
	Hosts       []string        // names by which pages may be asked for, beside localhost, the certificate's and any address
	Failures    *scram.Failures // of logins, those of the wire too; nil makes its own
	Shares      *places.Shares  // of users, those of the wire too; nil makes its own
	Upload      int64           // bytes that a file may have; 1 GiB if 0
	KeyUsed     func()          // called when the key was used, or has expired; may be nil
}

const (
	longestHeader = 16 << 10
	longestBody   = 1 << 20
	longestLogin  = 4 << 10
	sendTime      = 10 * time.Second // for headers, and for a body that is not uploaded
	takeTime      = 30 * time.Second // to take a reply
	idleTime      = time.Minute      // of a connection between requests
	connections   = 1000             // the most at a time
)

// Server is a console. It serves any number of listeners.
type Server struct {
	config      Config
	log         *slog.Logger
	http        http.Server
	sessions    sessions
	key         key
	derivations chan struct{} // holds a token for each password that is made into a key
	draining    atomic.Bool
	crowd       crowd
	runs        runs
}

// New returns a console. It listens nowhere until Serve is called.
func New(c Config) *Server {
	s := &Server{config: c, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), derivations: make(chan struct{}, 2)}
	s.config.Failures, s.config.Shares = cmp.Or(c.Failures, scram.NewFailures()), cmp.Or(c.Shares, places.NewShares())
	s.config.Upload = cmp.Or(c.Upload, 1<<30)
	s.sessions = sessions{by: make(map[digest]*session), now: time.Now}
	s.runs.ctx, s.runs.end = context.WithCancel(context.Background())
	quiet := slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)
	s.http = http.Server{Handler: s.handler(), MaxHeaderBytes: longestHeader, ReadHeaderTimeout: sendTime, IdleTimeout: idleTime,
		ErrorLog: quiet, ConnState: s.crowd.note, Protocols: new(http.Protocols)}
	s.http.Protocols.SetHTTP1(true)
	if c.Certificate != nil {
		s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.Certificate() }}
	}
	s.removeUploads()
	return s
}

// Serve accepts connections until Shutdown, over TLS if there is a certificate. It closes the listener.
func (s *Server) Serve(l net.Listener, overTLS bool) error {
	if overTLS {
		return s.http.ServeTLS(l, "", "")
	}
	return s.http.Serve(l)
}

// Shutdown ends the console. Requests may end until ctx does; then their statements are cancelled.
func (s *Server) Shutdown(ctx context.Context) {
	s.draining.Store(true)
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	s.runs.end()
}

// crowd holds the number of connections to connections. Whoever has most, by networks, makes room: her oldest that asks
// nothing, or else her oldest.
type crowd struct {
	mu  sync.Mutex
	all []*guest // the oldest first
}

type guest struct {
	net.Conn
	network string
	busy    int // 1 while it asks
}

func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.all, func(g *guest) bool { return g.Conn == conn })
	switch {
	case state == http.StateNew:
		if len(c.all) >= connections {
			own := make(map[string]int)
			for _, g := range c.all {
				own[g.network]++
			}
			out := slices.MinFunc(c.all, func(a, b *guest) int {
				return cmp.Or(own[b.network]-own[a.network], strings.Compare(a.network, b.network), a.busy-b.busy)
			})
			c.all = slices.DeleteFunc(c.all, func(g *guest) bool { return g == out })
			out.Close()
		}
		c.all = append(c.all, &guest{conn, scram.Network(conn.RemoteAddr().String()), 0})
	case i < 0: // it had to leave
	case state == http.StateActive:
		c.all[i].busy = 1
	case state == http.StateIdle:
		c.all[i].busy = 0
	default:
		c.all = slices.Delete(c.all, i, i+1)
	}
}
