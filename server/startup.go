package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/internal/scram"
	"dpsql/query"
	"dpsql/sqlerr"
)

// The codes of startup packets.
const (
	protocol3     = 3 << 16
	latestMinor   = 2
	cancelCode    = 80877102
	sslCode       = 80877103
	gssCode       = 80877104
	maxStartup    = 10_000 // bytes, as in PostgreSQL
	maxMinor      = 0xFFFF
	alpn          = "postgresql"
	tlsHandshake  = 0x16 // the first byte of direct TLS
	shortKey      = 4    // bytes of a key to cancel by, in protocol 3.0
	longKey       = 32   // in 3.2
	loginMessage  = 64 << 10
	unixSocketNet = "unix"
)

// serve runs a connection from its first byte to its end.
func (s *Server) serve(accepted net.Conn) {
	defer accepted.Close()
	c := &conn{server: s, verbs: verbTable, raw: accepted, net: accepted, log: s.log.With("client", clientAddress(accepted)), network: scram.Network(clientAddress(accepted))}
	c.ctx, c.stop = context.WithTimeout(context.Background(), s.config.Limits.Login)
	defer c.stop()
	defer func() {
		if fault := recover(); fault != nil {
			c.fault("a connection ended by a fault", fault)
		}
	}()
	accepted.SetDeadline(time.Now().Add(s.config.Limits.Login))
	s.knock(c)
	defer s.forget(c)
	startup, err := c.startup()
	if err != nil || startup == nil {
		c.leave(err)
		return
	}
	c.speak()
	if err := c.login(startup); err != nil {
		c.leave(err)
		return
	}
	accepted.SetDeadline(time.Time{})
	c.loop()
}

// clientAddress returns the client's address without its port, "local" for a Unix socket.
func clientAddress(c net.Conn) string {
	if c.RemoteAddr().Network() == unixSocketNet {
		return "local"
	}
	if host, _, err := net.SplitHostPort(c.RemoteAddr().String()); err == nil {
		return host
	}
	return c.RemoteAddr().String()
}

// startupPacket is what a client opens its connection with.
type startupPacket struct {
	minor      int // of the protocol's version 3
	parameters map[string]string
	unknown    []string // options of the protocol that it asks for and this server has not
}

// startup reads packets until one opens a session. It answers those that ask for encryption,
// and obeys one that cancels; then it returns nil.
func (c *conn) startup() (*startupPacket, error) {
	var first [1]byte
	if _, err := io.ReadFull(c.net, first[:]); err != nil {
		return nil, err
	}
	c.net = &rewound{Conn: c.net, first: first[:]}
	if first[0] == tlsHandshake { // direct TLS, of PostgreSQL 17's clients
		if err := c.encrypt(); err != nil {
			return nil, err
		}
		if c.tls.ConnectionState().NegotiatedProtocol != alpn {
			return nil, fatal("08P01", "direct TLS needs the ALPN protocol %s", alpn)
		}
	}
	asked := map[uint32]bool{} // a client may ask for each kind of encryption once
	for {
		var head [4]byte
		if _, err := io.ReadFull(c.net, head[:]); err != nil {
			return nil, err
		}
		size := int64(binary.BigEndian.Uint32(head[:]))
		if size < 8 || size > maxStartup {
			return nil, errors.New("not a startup packet")
		}
		body := make([]byte, size-4)
		if _, err := io.ReadFull(c.net, body); err != nil {
			return nil, err
		}
		code, rest := binary.BigEndian.Uint32(body), body[4:]
		switch {
		case code == cancelCode:
			if len(rest) >= 4+shortKey && len(rest) <= 4+256 {
				c.server.cancel(rest)
			}
			return nil, nil
		case (code == sslCode || code == gssCode) && asked[code], code == sslCode && c.tls != nil:
			return nil, errors.New("encryption was asked for twice")
		case code == sslCode && c.server.config.Certificate != nil:
			asked[code] = true
			if _, err := c.net.Write([]byte("S")); err != nil {
				return nil, err
			}
			if err := c.encrypt(); err != nil {
				return nil, err
			}
		case code == sslCode, code == gssCode:
			asked[code] = true
			if _, err := c.net.Write([]byte("N")); err != nil {
				return nil, err
			}
		case code>>16 == protocol3>>16:
			return readStartup(code&maxMinor, rest)
		default:
			return nil, fatal("0A000", "protocol %d.%d is not spoken, only 3.0 to 3.%d", code>>16, code&maxMinor, latestMinor)
		}
	}
}

// readStartup reads the parameters of a startup packet: names and values, each with a zero
// byte behind it, and one more zero byte.
func readStartup(minor uint32, body []byte) (*startupPacket, error) {
	malformed := fatal("08P01", "the startup packet is malformed")
	p := &startupPacket{minor: int(minor), parameters: make(map[string]string)}
	for {
		name, rest, ok := bytes.Cut(body, []byte{0})
		if !ok {
			return nil, malformed
		}
		if len(name) == 0 {
			if len(rest) > 0 {
				return nil, malformed
			}
			return p, nil
		}
		value, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return nil, malformed
		}
		if strings.HasPrefix(string(name), "_pq_.") {
			p.unknown = append(p.unknown, string(name))
		} else {
			p.parameters[string(name)] = string(value)
		}
		body = rest
	}
}

// rewound is a connection whose first byte was read.
type rewound struct {
	net.Conn
	first []byte
}

func (r *rewound) Read(p []byte) (int, error) {
	if len(r.first) == 0 || len(p) == 0 {
		return r.Conn.Read(p)
	}
	n := copy(p, r.first)
	r.first = r.first[n:]
	return n, nil
}

// encrypt begins TLS, with the certificate of this moment.
func (c *conn) encrypt() error {
	if c.server.config.Certificate == nil {
		return errors.New("TLS is not offered")
	}
	certificate, err := c.server.config.Certificate()
	if err != nil {
		return err
	}
	leaf := certificate.Leaf
	if leaf == nil {
		if leaf, err = x509.ParseCertificate(certificate.Certificate[0]); err != nil {
			return err
		}
	}
	c.tls = tls.Server(c.net, &tls.Config{
		Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{alpn}, SessionTicketsDisabled: true})
	c.net, c.binding = c.tls, scram.Binding(leaf)
	return c.tls.Handshake()
}

// login lets the client log in and opens its session.
func (c *conn) login(p *startupPacket) error {
	s := c.server
	if p.minor > latestMinor || len(p.unknown) > 0 {
		c.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: uint32(min(p.minor, latestMinor)), UnrecognizedOptions: p.unknown})
	}
	c.steps.Add(1)
	c.user = p.parameters["user"]
	c.folded = query.FoldName(c.user)
	c.log = c.log.With("user", c.user)
	local := c.raw.RemoteAddr().Network() == unixSocketNet
	switch {
	case c.user == "":
		return fatal("28000", "no user name was given")
	case p.parameters["replication"] != "" && !slices.Contains([]string{"false", "off", "no", "0"}, strings.ToLower(p.parameters["replication"])):
		return fatal("0A000", "there is no replication")
	case s.config.RequireTLS && c.tls == nil && !local:
		return fatal("28000", "this server needs TLS: connect with sslmode=require, or with sslmode=verify-full and its certificate")
	}
	if s.config.Curator != nil && s.config.Curator(c.raw, c.user) {
		c.session, c.curator = s.config.Database.NewSession(), true
	} else {
		// The session is of the user who has the name now. Whoever gets the name while this
		// client logs in is another user.
		c.session = s.config.Database.NewUserSession(c.user)
		if err := c.authenticate(); err != nil {
			s.counts.Refused.Add(1)
			return err
		}
	}
	if name := p.parameters["database"]; name != "" && name != s.config.Name || name == "" && c.user != s.config.Name {
		if name == "" {
			name = c.user
		}
		return fatal("3D000", "database %q does not exist: this server has %q", name, s.config.Name)
	}
	if err := c.settings.begin(c, p.parameters); err != nil {
		e := response(err, nil)
		return &fatalError{e.Code, e.Message}
	}
	s.counts.Logins.Add(1)
	c.log.Info("logged in", "tls", c.tls != nil, "curator", c.curator)
	size := shortKey
	if p.minor >= latestMinor {
		size = longKey
	}
	if err := s.register(c, size); err != nil {
		return err
	}
	c.session.SetWaits(func() { c.endTurn() })
	c.send(&pgproto3.AuthenticationOk{})
	c.settings.report(c)
	c.send(&pgproto3.BackendKeyData{ProcessID: c.number, SecretKey: c.key})
	c.ready()
	c.wire.SetMaxBodyLen(s.config.Limits.Message)
	return c.flush()
}

// asked sends a message of the login, and receives the answer.
func (c *conn) asked(m pgproto3.BackendMessage, kind uint32) (pgproto3.FrontendMessage, error) {
	c.send(m)
	if err := c.flush(); err != nil {
		return nil, err
	}
	if err := c.wire.SetAuthType(kind); err != nil {
		return nil, err
	}
	return c.wire.Receive()
}

// authenticate has the client prove that it knows the user's password. A user who does not
// exist is asked in the same way, and fails in the same way.
func (c *conn) authenticate() error {
	s := c.server
	verifier, known, err := s.config.Database.Verifier(c.ctx, c.user)
	if err != nil {
		c.log.Error("the users cannot be read", "code", sqlerr.CodeOf(err))
		return fatal("58000", "the users cannot be read")
	}
	mechanisms := []string{scram.Plain}
	if c.tls != nil {
		mechanisms = []string{scram.Plus, scram.Plain}
	}
	message, err := c.asked(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms}, pgproto3.AuthTypeSASL)
	if err != nil {
		return err
	}
	initial, ok := message.(*pgproto3.SASLInitialResponse)
	if !ok {
		return fatal("08P01", "a message of the login was expected")
	}
	talk, err := scram.NewConversation(initial.AuthMechanism, verifier, c.binding)
	if err != nil {
		return fatal("08P01", "the client chose an authentication that was not offered")
	}
	reply, _, err := talk.Step(string(initial.Data))
	if err == nil {
		c.steps.Add(1)
		if message, err = c.asked(&pgproto3.AuthenticationSASLContinue{Data: []byte(reply)}, pgproto3.AuthTypeSASLContinue); err != nil {
			return err
		}
		last, ok := message.(*pgproto3.SASLResponse)
		if !ok {
			return fatal("08P01", "a message of the login was expected")
		}
		try, ok := s.failures.Begin(c.folded, c.network)
		if !ok {
			return fatal("57P03", "too many logins of user %q failed or wait: try again in a few seconds", c.user)
		}
		if try.Wait > 0 {
			c.log.Warn("a login waits, after others that failed", "wait", try.Wait)
			select {
			case <-time.After(try.Wait):
			case <-c.ctx.Done(): // it made room, or the time of a login is over: the proof was not looked at
				s.failures.TakeBack(try)
				return c.ctx.Err()
			}
		}
		var done bool
		if reply, done, err = talk.Step(string(last.Data)); err == nil && done && known {
			s.failures.Succeeded(try)
			c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(reply)})
			return nil
		}
	}
	return fatal("28P01", "password authentication failed for user %q", c.user)
}

// Serve accepts connections until ctx ends or the listener fails, and returns nil in the
// first case. It closes the listener. Connections go on until Shutdown.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	pause := time.Duration(0)
	for {
		accepted, err := l.Accept()
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			if err == nil {
				accepted.Close()
			}
			return nil
		case err != nil: // such as too many open files: others may close some
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log.Warn("a connection was not accepted", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		}
		pause = 0
		if !s.enter() {
			accepted.Close() // while it drains
			continue
		}
		go func() {
			defer s.leave()
			s.serve(accepted)
		}()
	}
}
