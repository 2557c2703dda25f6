package pgcatalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Statement is a statement with its types. It may be run often, and at the same time.
type Statement struct {
	Columns    []ResultColumn
	Parameters []uint32 // the types of $1, $2, …

	catalog *Catalog
	sql     string // one text of JSON: the rows
	columns []outColumn
	calls   []*goCall
	reads   []*relation
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
			unsupported(0, "a parameter of the type with OID %d", t)
		}
	}
	s = &Statement{Parameters: b.parameters, catalog: c, sql: resultSQL(p), columns: p.columns, calls: b.calls, reads: b.reads, price: 1 + b.nodes/32}
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
	r := &run{ctx: ctx, catalog: s.catalog, session: session, begun: time.Now().UTC(), price: s.price, calls: s.calls,
		patterns: make(map[patternKey]*regexp.Regexp)}
	values := []any{lastRun.Add(1)}
	for i, a := range args {
		switch a := a.(type) {
		case nil:
			values = append(values, nil)
		case string:
			values = append(values, encode(s.catalog.input(a, s.Parameters[i])))
		case []byte:
			values = append(values, encode(s.catalog.binaryInput(a, s.Parameters[i])))
		default:
			return nil, sqlerr.New(sqlerr.Internal, "an argument of the catalog is a %T", a)
		}
	}
	return s.rows(r, values)
}

// maxTime is how long a statement may run.
const maxTime = 2 * time.Second

// resultSQL gives the rows of a plan as one text, so that SQLite makes all of them in its first step.
func resultSQL(p *plan) string {
	var lists []string
	for i := 0; i < len(p.columns); i += maxArguments {
		var some []string
		for j := i; j < min(i+maxArguments, len(p.columns)); j++ {
			some = append(some, "c"+itoa(j))
		}
		lists = append(lists, jsonList(some))
	}
	return "SELECT json_group_array(" + jsonList(lists) + ") FROM (" + p.sql + ")"
}

// maxArguments is a number of arguments that a function of SQLite takes.
const maxArguments = 100

// rows runs the statement.
func (s *Statement) rows(r *run, values []any) (*Rows, error) {
	db, err := opened(context.WithoutCancel(r.ctx))
	if err != nil {
		return nil, err
	}
	if err := db.show(context.WithoutCancel(r.ctx), s.catalog, s.reads); err != nil {
		db.close()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.ctx, cmp.Or(s.catalog.time, maxTime)) // from here on: who asks first waits for the relations
	defer cancel()
	running.Store(values[0], r)
	defer running.Delete(values[0])
	text, err := db.ask(ctx, s.sql, values)
	if err != nil {
		db.close() // it gives the memory back
		return nil, r.failure(ctx, err)
	}
	giveBack(db)
	return s.read(r, text)
}

// read reads the rows that SQLite gave, one after the other: they take more memory than their text.
func (s *Statement) read(r *run, text string) (*Rows, error) {
	out := &Rows{Columns: s.Columns}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	_, err := d.Token()
	for err == nil && d.More() {
		var lists [][]any
		if err = d.Decode(&lists); err != nil {
			break
		}
		row := make([]any, 0, len(s.columns))
		for _, list := range lists {
			for _, v := range list {
				col := s.columns[len(row)]
				row = append(row, decode(v, col.typ, col.fields))
			}
		}
		r.kept(row)
		if out.Values = append(out.Values, row); len(out.Values) > maxRows {
			return nil, sqlerr.New(sqlerr.Unsupported, "a result about the catalog of more than %d rows is outside the dialect", maxRows).
				WithHint("add a condition or LIMIT")
		}
	}
	if err != nil {
		return nil, sqlerr.New(sqlerr.Internal, "the catalog cannot read its rows")
	}
	return out, nil
}

// tooMuch are SQLite's words for what it has a limit of.
var tooMuch = regexp.MustCompile("too large|too many|too big|overflow|nesting|at most")

// failure returns the error of a statement that failed in SQLite.
func (r *run) failure(ctx context.Context, err error) error {
	switch {
	case r.err != nil:
		return r.err
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case ctx.Err() != nil:
		return sqlerr.New(sqlerr.Unsupported, "a statement about the catalog that runs longer than %s is outside the dialect", maxTime).
			WithHint("does every join have a condition?")
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL:
			return sqlerr.New(sqlerr.Unsupported, "a statement about the catalog that needs more than %d MiB is outside the dialect", maxMemory>>20).
				WithHint("add a condition or LIMIT")
		}
	}
	if tooMuch.MatchString(err.Error()) {
		return sqlerr.New(sqlerr.Unsupported, "a statement about the catalog that is so deep or so long is outside the dialect")
	}
	return sqlerr.New(sqlerr.Internal, "the catalog failed inside SQLite: %v", err)
}
