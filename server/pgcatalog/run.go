package pgcatalog

import (
	"context"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"dpsql/sqlerr"
)

// The limits of one statement.
const (
	maxSteps  = 4 << 20  // rows looked at, and elements, each as many as run.price has
	maxMemory = 32 << 20 // bytes of texts and rows that are made; what clients ask takes up to 200 KB
	maxRows   = 100_000  // of a result
)

// slots bounds the number of statements that run at a time in the process, and with it what
// they take in all.
var slots = make(chan struct{}, max(2, runtime.NumCPU()/2))

// Session is what functions tell of the session that asks. Each part may be missing.
type Session struct {
	PID     int                                              // of pg_backend_pid()
	Setting func(name string) (value string, ok bool)        // of current_setting()
	Set     func(name, value string, transaction bool) error // by set_config()
}

// run is one execution of a statement.
type run struct {
	ctx      context.Context
	catalog  *Catalog
	session  Session
	begun    time.Time // in UTC
	steps    int
	price    int // the steps of a row: more for a longer statement, which does more with it
	look     int // the number of steps at which the context is looked at
	memory   int
	calls    []*goCall
	call     *goCall // the last one
	err      error   // of a call
	patterns map[patternKey]*regexp.Regexp
}

type patternKey struct {
	text              string
	like, insensitive bool
}

// step counts a row or element.
func (r *run) step() {
	if r.steps += r.price; r.steps > maxSteps {
		fail(sqlerr.New(sqlerr.Unsupported, "a statement about the catalog that looks at so many rows is outside the dialect").
			WithHint("does every join have a condition?"))
	}
	if r.steps >= r.look {
		if r.look = r.steps + 1024; r.ctx.Err() != nil {
			fail(r.ctx.Err())
		}
	}
}

// work counts the steps that a function takes over n bytes.
func (r *run) work(n int) {
	r.steps += n
	r.step()
}

// spend counts bytes that a function makes.
func (r *run) spend(n int) {
	if r.memory += n; r.memory > maxMemory {
		fail(sqlerr.New(sqlerr.Unsupported, "a statement about the catalog that needs more than %d MiB is outside the dialect", maxMemory>>20).
			WithHint("add a condition or LIMIT"))
	}
}

// kept counts a row that is kept.
func (r *run) kept(row []any) {
	r.step()
	n := 48 + 16*len(row)
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += len(v) / 8 // most are shared
		case *array:
			n += 16 * len(v.elements)
		}
	}
	r.spend(n)
}

const maxPattern = 1000

// pattern returns the matcher of a regular expression, or of LIKE's pattern.
func (r *run) pattern(s string, like, insensitive bool) *regexp.Regexp {
	key := patternKey{s, like, insensitive}
	if p := r.patterns[key]; p != nil {
		return p
	}
	if len(s) > maxPattern {
		unsupported(0, "a pattern of more than %d bytes", maxPattern)
	}
	text := s
	if like {
		text = likePattern(s)
	} else if rest, ok := strings.CutPrefix(s, "***:"); ok {
		text = rest
	}
	flags := "s"
	if insensitive {
		flags += "i"
	}
	p, err := regexp.Compile("(?" + flags + ")" + text)
	if err != nil {
		unsupported(0, "the regular expression %s", strconv.Quote(excerpt(s)))
	}
	if len(r.patterns) < 100 {
		r.patterns[key] = p
	}
	r.spend(16 * len(s))
	return p
}

// likePattern returns the regular expression of a pattern of LIKE.
func likePattern(s string) string {
	var b strings.Builder
	b.WriteString(`\A`)
	escaped := false
	for _, c := range s {
		switch {
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(c)))
			escaped = false
		case c == '\\':
			escaped = true
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	if escaped {
		fail(sqlerr.New(sqlerr.Invalid, "LIKE pattern must not end with escape character"))
	}
	b.WriteString(`\z`)
	return b.String()
}

func itoa(n int) string { return strconv.Itoa(n) }

// expr is a bound expression.
type expr struct {
	typ       uint32
	fields    []outColumn // of a record
	sql       string
	untyped   bool   // a literal or parameter whose type the context tells
	literal   string // the text of an untyped literal
	isNull    bool   // NULL as a literal
	parameter int    // the number of an untyped parameter, 0 for others
}

// always returns an expression of one value.
func always(t uint32, v any) expr { return expr{typ: t, sql: constantSQL(v)} }

// outColumn is a column of a source or of a result.
type outColumn struct {
	name   string
	typ    uint32
	fields []outColumn // of a record
}
