package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"dpsql/internal/answerjson"
	"dpsql/internal/places"
	"dpsql/sqlerr"
)

// policy keeps a page to what it was sent with. Nothing in a page runs but its script, and no script makes
// elements of a text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// handler returns what answers requests: it refuses those that no page of this console makes.
func (s *Server) handler() http.Handler {
	pages, api := s.static(), s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		c := &call{Server: s, w: w, r: r, endTurn: func() {}}
		defer c.close()
		if !s.knowsHost(r.Host) {
			c.fail(refusal(http.StatusMisdirectedRequest, "host", "this console is not called %s", strings.ToValidUTF8(r.Host[:min(len(r.Host), 100)], "?")).
				hinted("ask by an address, or name it: dpsql serve --web-host NAME"))
			return
		}
		name, asked := strings.CutPrefix(r.URL.Path, "/api/v1/")
		if !asked {
			pages.ServeHTTP(w, r)
			return
		}
		var reply any
		err := sqlerr.Guard(func() (err error) {
			reply, err = c.answer(api[name])
			return err
		})
		if err != nil {
			c.fail(err)
		} else if reply != nil {
			c.reply(http.StatusOK, reply)
		}
	})
}

// knowsHost reports whether a request may be for this host: an address, localhost, or a name that the console was
// given. Any other name may have been bound to this address by whoever owns it, so that its pages reach the API.
func (s *Server) knowsHost(host string) bool {
	name := host
	if before, _, err := net.SplitHostPort(host); err == nil {
		name = before
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return true
	}
	return name != "" && (slices.ContainsFunc(s.config.Hosts, func(own string) bool { return strings.EqualFold(own, name) }) || s.certified(name))
}

// certified reports whether the certificate is for a name.
func (s *Server) certified(name string) bool {
	if s.config.Certificate == nil {
		return false
	}
	c, err := s.config.Certificate()
	return err == nil && c.Leaf != nil && c.Leaf.VerifyHostname(name) == nil
}

// route is what a path of the API does.
type route struct {
	method  string
	open    bool // without a session
	curator bool // for the curator alone
	file    bool // the body is no JSON
	do      func(*call) (reply any, err error)
}

// call is a request of the API.
type call struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	session *session // nil for login
	body    string   // if it is no file
	held    int      // bytes, of the user's share
	endTurn func()
}

func (c *call) ctx() context.Context { return c.r.Context() }

// answer returns the reply to a request; nil if it was written already.
func (c *call) answer(to *route) (any, error) {
	r := c.r
	switch {
	case c.draining.Load():
		return nil, refusal(http.StatusServiceUnavailable, "closed", "the console is about to end")
	case to == nil:
		return nil, refusal(http.StatusNotFound, "unknown", "there is nothing at this path")
	case r.Method != to.method:
		c.w.Header().Set("Allow", to.method)
		return nil, refusal(http.StatusMethodNotAllowed, "method", "this path takes %s", to.method)
	case new(http.CrossOriginProtection).Check(r) != nil || foreign(r):
		return nil, refusal(http.StatusForbidden, "forbidden", "the request comes from another site's page")
	}
	if r.Method == http.MethodPost && !to.file {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return nil, refusal(http.StatusUnsupportedMediaType, "type", "a request is JSON").hinted("Content-Type: application/json")
		}
	}
	if to.open {
		if err := c.take(longestLogin); err != nil {
			return nil, err
		}
		return to.do(c)
	}
	var err error
	if c.session, err = c.sessionOf(r); err != nil {
		return nil, err
	}
	if to.curator && !c.session.curator {
		return nil, refusal(http.StatusForbidden, "forbidden", "this is for the curator")
	}
	if !to.file {
		if err := c.take(longestBody); err != nil {
			return nil, err
		}
	}
	c.endTurn = c.config.Shares.Turn(c.session.name())
	return to.do(c)
}

// take reads the body.
func (c *call) take(most int64) error {
	length := c.r.ContentLength
	if length < 0 || length > most {
		length = most
	}
	if err := c.hold(int(length)); err != nil {
		return err
	}
	out := http.NewResponseController(c.w)
	out.SetReadDeadline(time.Now().Add(sendTime))
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, most))
	out.SetReadDeadline(time.Time{}) // from here on it is watched for its end
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return refusal(http.StatusRequestEntityTooLarge, "size", "this request has at most %d bytes", most)
	case err != nil:
		return malformed()
	}
	c.body = string(text)
	return c.hold(places.Statement(len(c.body)))
}

// hold notes that so many bytes more are kept for the user until the request ends, as over the wire.
func (c *call) hold(more int) error {
	if c.session == nil {
		return nil
	}
	if !c.config.Shares.Hold(c.session.name(), more, places.MostHeld) {
		return sqlerr.New(sqlerr.Busy, "your requests would keep more than %d bytes", places.MostHeld).WithHint("send a shorter one, or wait until others have ended")
	}
	c.held += more
	return nil
}

// close gives back what the request had of the user's share.
func (c *call) close() {
	c.endTurn()
	if c.held > 0 {
		c.config.Shares.Hold(c.session.name(), -c.held, math.MaxInt)
	}
}

// foreign reports whether a browser says that another site's page asks: CrossOriginProtection lets it read.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// read reads the body into v, a pointer. Fields that v does not have are refused.
func (c *call) read(v any) error {
	d := json.NewDecoder(strings.NewReader(c.body))
	d.DisallowUnknownFields()
	d.UseNumber()
	if d.Decode(v) != nil || d.Decode(new(struct{})) != io.EOF {
		return malformed()
	}
	return nil
}

func malformed() *failure {
	return refusal(http.StatusUnprocessableEntity, "malformed", "the request is not the JSON that this path takes").hinted("docs/web-schema.json has the fields of each path")
}

// failure is a refused request.
type failure struct {
	status int
	answerjson.Failure
	Price    *price   `json:"price,omitempty"`    // what the statement would take
	Readings []string `json:"readings,omitempty"` // of the dates in a file
}

func (f *failure) Error() string { return f.Failure.Error.Message }

func refusal(status int, code sqlerr.Code, format string, args ...any) *failure {
	return &failure{status: status, Failure: answerjson.FailureOf(sqlerr.New(code, format, args...))}
}

func (f *failure) hinted(hint string) *failure {
	f.Failure.Error.Hint = hint
	return f
}

// failed returns an error as clients get it. One that is not known loses its text, which could hold a private value.
func failed(err error) *failure {
	var own *failure
	if errors.As(err, &own) {
		return own
	}
	f := &failure{http.StatusUnprocessableEntity, answerjson.FailureOf(err), nil, nil}
	switch f.Failure.Error.Code {
	case sqlerr.Internal:
		f.status = http.StatusInternalServerError
	case sqlerr.Closed:
		f.status = http.StatusServiceUnavailable
	}
	return f
}

// fail replies with an error.
func (c *call) fail(err error) {
	f := failed(err)
	if f.status == http.StatusInternalServerError {
		c.log.Error("a request ended by a fault", "path", c.r.URL.Path, "error", err)
	}
	c.log.Debug("refused", "path", c.r.URL.Path, "code", f.Failure.Error.Code)
	c.reply(f.status, f)
}

// reply writes a reply. Whoever does not take it is left after takeTime.
func (c *call) reply(status int, v any) {
	text, err := answerjson.Marshal(v)
	if err == nil {
		err = c.hold(len(text))
	}
	if err != nil {
		f := failed(err)
		status = f.status
		text, _ = answerjson.Marshal(f)
	}
	http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(takeTime))
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	c.w.Write(text)
}
