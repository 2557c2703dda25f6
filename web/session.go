package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"dpsql/engine"
	"dpsql/internal/scram"
	"dpsql/query"
	"dpsql/sqlerr"
)

const (
	idleSession = 30 * time.Minute
	longSession = 12 * time.Hour
	userSession = 5 // of a user at a time; the oldest ends

	tokenHeader = "X-Dpsql-Token"
)

// digest is the SHA-256 of a secret: what is kept opens nothing.
type digest [sha256.Size]byte

// secret returns a new secret, and its digest.
func secret() (string, digest) {
	var b [32]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	text := base64.RawURLEncoding.EncodeToString(b[:])
	return text, sha256.Sum256([]byte(text))
}

func (d digest) of(text string) bool {
	given := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(d[:], given[:]) == 1
}

// session is a login. It has two halves, and only both together open anything: a cookie, which pages of other ports
// of the host are sent too, and a token, which the page keeps, so that no form and no link has it.
type session struct {
	cookie, token digest
	user          string
	curator       bool
	engine        *engine.Session // statements have sessions like it
	verifier      string          // that her password fitted
	made, seen    time.Time

	mu       sync.Mutex
	planning context.CancelFunc // ends the plan that is made; nil for none
}

// name returns the name of the share that the user has.
func (s *session) name() string { return query.FoldName(s.user) }

// sessions are those who are logged in.
type sessions struct {
	mu  sync.Mutex
	by  map[digest]*session // by their cookies
	now func() time.Time
}

// open begins a session, and returns its two halves.
func (all *sessions) open(by *session) (cookie, token string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	cookie, by.cookie = secret()
	token, by.token = secret()
	by.made, by.seen = all.now(), all.now()
	var oldest *session
	own := 0
	for _, other := range all.by {
		switch {
		case all.over(other):
			all.close(other)
		case other.curator == by.curator && query.SameName(other.user, by.user):
			if own++; oldest == nil || other.made.Before(oldest.made) {
				oldest = other
			}
		}
	}
	if own >= userSession {
		all.close(oldest)
	}
	all.by[by.cookie] = by
	return cookie, token
}

func (all *sessions) over(s *session) bool {
	now := all.now()
	return now.Sub(s.seen) > idleSession || now.Sub(s.made) > longSession
}

// close ends a session. The caller has the lock.
func (all *sessions) close(s *session) { delete(all.by, s.cookie) }

func (all *sessions) end(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.close(s)
}

// find returns the session of two halves. It is nil if no session has the cookie, and false if its token is another.
func (all *sessions) find(cookie, token string) (s *session, ok bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s = all.by[sha256.Sum256([]byte(cookie))]
	switch {
	case s == nil:
		return nil, false
	case all.over(s):
		all.close(s)
		return nil, false
	case !s.token.of(token):
		return s, false
	}
	s.seen = all.now()
	return s, true
}

// sessionOf returns the session of a request. It ends with its user, and with her password.
func (s *Server) sessionOf(r *http.Request) (*session, error) {
	none := refusal(http.StatusUnauthorized, "session", "you are not logged in, or no longer").hinted("log in again")
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return nil, none
	}
	found, ok := s.sessions.find(cookie.Value, r.Header.Get(tokenHeader))
	switch {
	case found == nil:
		return nil, none
	case !ok:
		return nil, refusal(http.StatusUnauthorized, "token", "the request has another session's token, or none").hinted("log in again")
	case found.curator && !near(r):
		return nil, notNear()
	case found.curator:
		return found, nil
	}
	same, err := found.engine.HasVerifier(r.Context(), found.verifier)
	if err != nil {
		return nil, err
	}
	if !same {
		s.sessions.end(found)
		return nil, none
	}
	return found, nil
}

// engine returns a session of the engine for one statement: whoever gets the user's name later is another user to it.
func (c *call) engine() *engine.Session {
	s := c.session.engine.Again()
	s.SetWaits(c.endTurn)
	return s
}

// cookieName is of the port too: cookies are sent to all ports of a host.
func cookieName(r *http.Request) string {
	name := "dpsql"
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, port, err := net.SplitHostPort(a.String()); err == nil {
			name += "-" + port
		}
	}
	if r.TLS != nil {
		return "__Host-" + name
	}
	return name
}

func setCookie(w http.ResponseWriter, r *http.Request, value string) {
	c := &http.Cookie{Name: cookieName(r), Value: value, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// near reports whether a request was made on this machine. One with a header of a proxy was not: who made it is not known.
func near(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

func notNear() *failure {
	return refusal(http.StatusForbidden, "forbidden", "the curator works on this machine, and through no proxy")
}

// who is what a page is told of its session.
type who struct {
	Token    string `json:"token,omitempty"`
	User     string `json:"user"`
	Role     string `json:"role"`
	Database string `json:"database"`
	Port     int    `json:"port,omitempty"` // of the wire
}

func (c *call) who(token string) who {
	role := engine.Analyst
	if c.session.curator {
		role = engine.Curator
	}
	return who{token, c.session.user, string(role), c.config.Name, c.config.Port}
}

// login opens a session for a password, or for the curator's key.
func (c *call) login() (any, error) {
	var body struct{ User, Password, Key string }
	if err := c.read(&body); err != nil {
		return nil, err
	}
	if body.Key != "" {
		switch {
		case !near(c.r):
			return nil, notNear()
		case !c.useKey(body.Key):
			return nil, refusal(http.StatusUnauthorized, "login", "the key is not good any more").hinted("a link is good once, for ten minutes: ask for another")
		}
		if c.config.KeyUsed != nil {
			c.config.KeyUsed()
		}
		c.session = &session{curator: true, engine: c.config.Database.NewSession()}
	} else {
		verifier, err := c.authenticate(body.User, body.Password)
		if err != nil {
			return nil, err
		}
		c.session = &session{user: body.User, engine: c.config.Database.NewUserSession(body.User), verifier: verifier}
	}
	cookie, token := c.sessions.open(c.session)
	setCookie(c.w, c.r, cookie)
	c.log.Info("logged in", "client", scram.Network(c.r.RemoteAddr), "user", c.session.user, "curator", c.session.curator, "web", true)
	return c.who(token), nil
}

// authenticate checks a password as the wire does: the same verifier, of somebody who does not exist too, and the same
// wait after failures. It returns the verifier.
func (c *call) authenticate(user, password string) (verifier string, err error) {
	verifier, known, err := c.config.Database.Verifier(c.ctx(), user)
	if err != nil {
		return "", refusal(http.StatusInternalServerError, sqlerr.Internal, "the users cannot be read")
	}
	try, ok := c.config.Failures.Begin(query.FoldName(user), scram.Network(c.r.RemoteAddr))
	if !ok {
		return "", refusal(http.StatusTooManyRequests, "logins", "too many logins of this user failed or wait").hinted("try again in a few seconds")
	}
	select {
	case <-time.After(try.Wait):
	case <-c.ctx().Done():
		c.config.Failures.TakeBack(try)
		return "", c.ctx().Err()
	}
	c.derivations <- struct{}{}
	fits := scram.Matches(verifier, password)
	<-c.derivations
	if !fits || !known {
		return "", refusal(http.StatusUnauthorized, "login", "the user or the password is wrong")
	}
	c.config.Failures.Succeeded(try)
	return verifier, nil
}

func (c *call) logout() (any, error) {
	c.sessions.end(c.session)
	setCookie(c.w, c.r, "")
	return struct{}{}, nil
}

// key is the curator's: it opens one session, within KeyTime.
type key struct {
	mu    sync.Mutex
	hash  digest
	until time.Time // zero if there is no key
}

// KeyTime is how long a key is good.
const KeyTime = 10 * time.Minute

// NewKey returns a key for the curator. It is good once, for KeyTime; the key before it is good no more.
func (s *Server) NewKey() string {
	s.key.mu.Lock()
	defer s.key.mu.Unlock()
	text, hash := secret()
	s.key.hash, s.key.until = hash, s.sessions.now().Add(KeyTime)
	return text
}

// useKey reports whether a key is good, and ends it if so.
func (s *Server) useKey(text string) bool {
	s.key.mu.Lock()
	defer s.key.mu.Unlock()
	good := s.key.hash.of(text) && s.sessions.now().Before(s.key.until)
	if good {
		s.key.until = time.Time{}
	}
	return good
}
