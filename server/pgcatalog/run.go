package pgcatalog

import (
	"context"
	"math"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
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
	args     []any
	steps    int
	price    int // the steps of a row: more for a longer statement, which does more with it
	look     int // the number of steps at which the context is looked at
	memory   int
	slots    []any // what held expressions and ANY's elements are
	rows     map[*plan][][]any
	tables   map[*relation][][]any
	working  map[*loop][][]any
	indexes  map[*scan]*rowIndex
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

// relation returns the rows of a system's relation.
func (r *run) relation(rel *relation) [][]any {
	rows, ok := r.tables[rel]
	if !ok {
		rows = r.catalog.rowsOf(rel)
		r.tables[rel] = rows
	}
	return rows
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
		fail(sqlerr.New(sqlerr.Unsupported, "a pattern of more than %d bytes is outside the catalog's dialect", maxPattern))
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
		fail(sqlerr.New(sqlerr.Unsupported, "the regular expression %s is outside the catalog's dialect", strconv.Quote(excerpt(s))))
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

// rounded returns a float as an integer of a type.
func (c *Catalog) rounded(v float64, t uint32) any {
	v = math.RoundToEven(v)
	if math.IsNaN(v) || v < -1<<62 || v > 1<<62 {
		fail(sqlerr.New(sqlerr.Invalid, "%s out of range", c.typeTitle(t)))
	}
	return c.ranged(int64(v), t)
}

func itoa(n int) string { return strconv.Itoa(n) }

// Statement is a statement with its types. It may be run often, and at the same time.
type Statement struct {
	Columns    []ResultColumn
	Parameters []uint32 // the types of $1, $2, …

	catalog *Catalog
	plan    *plan
	slots   int
	price   int
}

// ResultColumn is a column of a result. Size is that of RowDescription.
type ResultColumn struct {
	Name string
	OID  uint32
	Size int16
}

// Rows is a result.
type Rows struct {
	Columns []ResultColumn
	Values  [][]any // each as AppendText and AppendBinary take it, nil for NULL
}

// Prepare gives a statement its types. parameters are the types that the client gave to $1,
// $2, …; 0 where it leaves them open.
func (c *Catalog) Prepare(sql string, parameters []uint32) (*Statement, error) {
	tokens, err := syntax.Postgres.Lex(sql)
	if err != nil {
		return nil, err
	}
	q, err := Parse(tokens)
	if err != nil {
		return nil, err
	}
	return c.PrepareQuery(q, parameters)
}

// PrepareQuery is Prepare for a query that Parse has read.
func (c *Catalog) PrepareQuery(q *syntax.Query, parameters []uint32) (s *Statement, err error) {
	defer caught(&err)
	b := &binder{catalog: c, parameters: make([]uint32, len(parameters))}
	for i, t := range parameters {
		if t != unknownOID {
			b.parameters[i] = t
		}
	}
	p := b.query(&scope{level: &level{clause: "VALUES"}}, nil, q)
	for i, t := range b.parameters {
		if t == 0 {
			b.parameters[i] = textOID
		}
		if typeTable().types[b.parameters[i]] == nil {
			fail(sqlerr.New(sqlerr.Unsupported, "a parameter of the type with OID %d is outside the catalog's dialect", t))
		}
	}
	s = &Statement{Parameters: b.parameters, catalog: c, plan: p, slots: b.slots, price: 1 + b.nodes/32}
	for _, col := range p.columns {
		t := baseOf(col.typ)
		r := ResultColumn{Name: col.name, OID: t, Size: -1}
		if info := typeTable().types[t]; info != nil {
			r.Size = int16(info.length)
		}
		s.Columns = append(s.Columns, r)
	}
	return s, nil
}

// Query runs the statement. Each argument is nil for NULL, a string in text form or []byte in
// binary form.
func (s *Statement) Query(ctx context.Context, session Session, args []any) (out *Rows, err error) {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer caught(&err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(args) != len(s.Parameters) {
		return nil, sqlerr.New(sqlerr.Invalid, "the statement has %d parameters, and %d values came with it", len(s.Parameters), len(args))
	}
	r := &run{ctx: ctx, catalog: s.catalog, session: session, begun: time.Now().UTC(), price: s.price, slots: make([]any, s.slots), rows: make(map[*plan][][]any),
		tables: make(map[*relation][][]any), working: make(map[*loop][][]any),
		indexes: make(map[*scan]*rowIndex), patterns: make(map[patternKey]*regexp.Regexp)}
	for i, a := range args {
		switch a := a.(type) {
		case nil:
			r.args = append(r.args, nil)
		case string:
			r.args = append(r.args, s.catalog.input(a, s.Parameters[i]))
		case []byte:
			r.args = append(r.args, s.catalog.binaryInput(a, s.Parameters[i]))
		default:
			return nil, sqlerr.New(sqlerr.Internal, "an argument of the catalog is a %T", a)
		}
	}
	out = &Rows{Columns: s.Columns}
	s.plan.each(&frame{run: r}, func(row []any) bool {
		r.kept(row)
		if out.Values = append(out.Values, row); len(out.Values) > maxRows {
			fail(sqlerr.New(sqlerr.Unsupported, "a result about the catalog of more than %d rows is outside the dialect", maxRows).
				WithHint("add a condition or LIMIT"))
		}
		return true
	})
	return out, nil
}
