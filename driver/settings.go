package driver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// Settings are settings of SET. A field that is zero leaves its setting as it is.
type Settings struct {
	Mechanism  string  // auto, direct, projection, marginals, smw, or the name of a release or mechanism
	Accuracy   float64 // in counts, of a SUM or AVG in its units: what is not known so well for free is bought
	Confidence float64 // of margins, between 0 and 1
	Clamp      string  // on: negative counts are 0; or off
	Unverified string  // off: answers without a margin are refused; or on
	Margins    string  // proven or simulated
}

// apply sets the settings that are given, by a function that sets one.
func (s Settings) apply(set func(name, value string) error) error {
	number := func(x float64) string {
		if x == 0 {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	for _, o := range [][2]string{{"mechanism", s.Mechanism}, {"accuracy", number(s.Accuracy)}, {"confidence", number(s.Confidence)},
		{"clamp", s.Clamp}, {"unverified", s.Unverified}, {"margins", s.Margins}} {
		if o[1] == "" {
			continue
		}
		if err := set(o[0], o[1]); err != nil {
			return err
		}
	}
	return nil
}

// call is what a context tells the driver about a statement, since database/sql hands on nothing else.
type call struct {
	settings []Settings // later ones hold
	report   func(*engine.Result)
}

type callKey struct{}

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

func (c call) in(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, c) }

// With returns a context whose statements have settings of their own. They add to those of ctx. A value that SET
// refuses is an error of the statement.
func With(ctx context.Context, s Settings) context.Context {
	c := callOf(ctx)
	c.settings = append(slices.Clone(c.settings), s)
	return c.in(ctx)
}

// Report returns a context whose statements pass their results to a function, before database/sql sees the rows.
func Report(ctx context.Context, to func(*engine.Result)) context.Context {
	c := callOf(ctx)
	c.report = to
	return c.in(ctx)
}

// set applies the settings of a context, and returns a function that restores those of the connection.
func (c *conn) set(ctx context.Context) (restore func(), err error) {
	before := c.session.Settings()
	restore = func() { c.session.SetSettings(before) }
	for _, s := range callOf(ctx).settings {
		if err := s.apply(c.session.Set); err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}

// runsOnPool are the functions of database/sql that run or prepare a statement on whichever connection is free. A statement
// of a sql.Stmt is prepared anew where its sql.DB has no connection that knows it.
var runsOnPool = regexp.MustCompile(`^database/sql\.\((\*DB\)\.(Exec|Query|Prepare)Context|\*Stmt\)\.)`)

// pooled reports whether a statement is prepared for a sql.DB rather than a sql.Conn or sql.Tx. A driver sees the same calls for
// all of them: only the callers tell.
func pooled() bool {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		f, more := frames.Next()
		if runsOnPool.MatchString(f.Function) {
			return true
		}
		if !more {
			return false
		}
	}
}

// lost refuses SET where the next statement may have another connection.
func lost(p *engine.Prepared) error {
	name, value, ok := p.Setting()
	if !ok || !pooled() {
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "SET on a sql.DB is lost: the next statement may have another connection").
		WithHint("use sql.Conn, `?%s=%s` or dpsql.With", name, url.QueryEscape(value))
}

// setting is a statement in a hint that sets something.
var setting = regexp.MustCompile(`\bSET (mechanism|accuracy|confidence|clamp|unverified|margins) = ([\w.]+)`)

// hinted adds to a hint about SET what does the same in Go.
func hinted(err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	if m := setting.FindStringSubmatch(e.Hint); m != nil {
		return e.WithHint("%s", fmt.Sprintf("%s (in Go: `?%s=%s` or dpsql.With)", e.Hint, m[1], m[2]))
	}
	return err
}
