package pgcatalog

import (
	"context"
	"regexp"
	"time"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

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
