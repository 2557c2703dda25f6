package around

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Waits reports whether the text of the core has values of other private aggregates.
func (c Core) Waits() bool {
	return slices.ContainsFunc(c.holes, func(h hole) bool { return h.private })
}

// Asked answers a statement around private aggregates that is part of another one. Its positions
// are those there.
type Asked func(*Statement) (*Result, error)

// isPlain reports whether a query is SELECT column FROM table.
func (b *block) isPlain(q *syntax.Query) bool {
	s, ok := q.Body.(*syntax.Block)
	if !ok || len(s.Items) != 1 || len(s.From) != 1 {
		return false
	}
	col, isColumn := s.Items[0].X.(*syntax.Column)
	t, isTable := s.From[0].(*syntax.Table)
	if !isColumn || !isTable || len(col.Path) > 1 || len(t.Path) > 1 || b.with[query.FoldName(t.Path[0].Text)] != nil {
		return false
	}
	alone := &syntax.Block{Items: []syntax.Item{{X: col}}, From: []syntax.Source{&syntax.Table{Path: t.Path}}}
	return q.String() == (&syntax.Query{Body: alone}).String()
}

// compared returns the column of the core that the condition of a sub-select says one of its own
// equals, and the comparison. All are nil if it says no such thing.
func (b *block) compared(q *syntax.Query) (outer, inner *syntax.Column, equal syntax.Expr) {
	s, ok := q.Body.(*syntax.Block)
	if !ok || len(q.With) > 0 || q.Limit != nil || len(s.From) == 0 || b.cutter.aggregates(s, q) {
		return nil, nil, nil
	}
	own := b.from(s.From, b.with)
	means := func(e syntax.Expr, items []item) *syntax.Column {
		col, ok := syntax.Inside(e).(*syntax.Column)
		if !ok || len(col.Path) < 2 {
			return nil
		}
		if !slices.ContainsFunc(items, func(i item) bool { return query.SameName(i.name, col.Path[0].Text) }) {
			return nil
		}
		return col
	}
	for rest := s.Where; rest != nil; {
		conjunct := rest
		if and, ok := rest.(*syntax.Binary); ok && and.Op == "AND" {
			conjunct, rest = and.Y, and.X
		} else {
			rest = nil
		}
		eq, ok := conjunct.(*syntax.Binary)
		if !ok || eq.Op != "=" && eq.Op != "==" {
			continue
		}
		for _, pair := range [][2]syntax.Expr{{eq.X, eq.Y}, {eq.Y, eq.X}} {
			mine, theirs := means(pair[0], own), means(pair[1], b.frame.items)
			if mine != nil && theirs != nil && means(pair[1], own) == nil {
				return theirs, mine, eq
			}
		}
	}
	return nil, nil, nil
}

// semiJoin returns the query of the values that the sub-select of an EXISTS compares with a column
// of the core.
func semiJoin(out *emitter, s *syntax.Block, inner *syntax.Column, equal syntax.Expr) *syntax.Block {
	known := &syntax.Test{X: syntax.Copy[syntax.Expr](inner, out.emit), Is: "NULL", Not: true}
	return syntax.Placed(&syntax.Block{
		Items: []syntax.Item{{X: syntax.Copy[syntax.Expr](inner, out.emit)}},
		From:  out.sources(s.From),
		Where: syntax.Copy(s.Where, func(n syntax.Node) syntax.Node {
			if n == syntax.Node(equal) {
				return syntax.Placed(known, equal)
			}
			return out.emit(n)
		}),
		Windows: s.Windows,
	}, s)
}

// isPrivate reports whether a name is a private table, or an entry of WITH that has private
// rows or aggregates of them.
func (b *block) isPrivate(name syntax.Ident) bool {
	if e := b.with[query.FoldName(name.Text)]; e != nil {
		return e.rows != nil || e.cores
	}
	_, private := b.private(syntax.Name{Text: name.Text, Position: name.Pos()})
	return private
}

// needed returns the common table expressions that a query names, and those that these name.
func (b *block) needed(out *emitter, q *syntax.Query) (tables []*syntax.CommonTable) {
	var all []*entry
	var find func(q *syntax.Query)
	find = func(q *syntax.Query) {
		hasTables(q, func(name syntax.Ident) bool {
			if e := b.with[query.FoldName(name.Text)]; e != nil && !slices.Contains(all, e) {
				all = append(all, e)
				find(e.table.Query)
			}
			return false
		})
	}
	find(q)
	slices.SortFunc(all, func(x, y *entry) int { return x.table.Pos() - y.table.Pos() })
	for _, e := range all {
		tables = append(tables, syntax.Copy(e.table, out.emit))
	}
	return tables
}

// maxList bounds the values of a sub-select in a core.
const maxList = 1000

// Resolve returns the cores with values in the place of their sub-selects. It runs those of
// public tables, and has those around private aggregates answered by asked. If asked is nil, NULL
// stands for their values: the cores then have the columns that they will have, and are refused
// if they will be, but ask for something else.
func (db *Database) Resolve(
	ctx context.Context, cores []Core, from Source, args []query.Value, asked Asked,
) ([]Core, error) {
	out := slices.Clone(cores)
	for i, core := range cores {
		if len(core.holes) == 0 {
			continue
		}
		values := make(map[syntax.Expr]filling)
		for _, h := range core.holes {
			r, err := &Result{Columns: make([]ResultColumn, 1), Rows: [][]any{{nil}}}, error(nil)
			switch {
			case !h.private:
				r, err = db.Run(ctx, h.statement, from, args)
			case asked != nil:
				r, err = asked(h.statement)
			}
			if e, ok := err.(*sqlerr.Error); ok && e.Code == sqlerr.Unknown && e.Hint == "" {
				return nil, e.WithHint("a sub-select inside a private aggregate names columns of its own tables only: " +
					"join the public table instead")
			}
			if err != nil {
				return nil, err
			}
			if values[h.node], err = h.fill(r); err != nil {
				return nil, err
			}
		}
		filled := &out[i]
		filled.query, filled.holes = filledIn(core.query, values), nil
		if filled.Text = filled.query.String(); len(filled.Text) > maxText {
			return nil, sqlerr.New(sqlerr.Unsupported, "a private aggregate of more than %d KiB is outside the dialect",
				maxText>>10).At(core.Position)
		}
	}
	return out, nil
}

// filling makes what stands for a sub-select. left returns what is left of an operand of IN.
type filling func(left func(syntax.Expr) syntax.Expr) syntax.Expr

// filledIn returns a core with values in its holes.
func filledIn(core *syntax.Query, values map[syntax.Expr]filling) *syntax.Query {
	var put func(n syntax.Node) syntax.Node
	put = func(n syntax.Node) syntax.Node {
		e, ok := n.(syntax.Expr)
		if !ok || values[e] == nil {
			return nil
		}
		return values[e](func(x syntax.Expr) syntax.Expr { return syntax.Copy(x, put) })
	}
	return syntax.Copy(core, put)
}

// fill returns what stands for the sub-select when it gives a result.
func (h hole) fill(r *Result) (filling, error) {
	first := h.statement.first()
	as := func(e syntax.Expr) (filling, error) {
		return func(func(syntax.Expr) syntax.Expr) syntax.Expr { return e }, nil
	}
	switch {
	case h.outer != nil:
		return h.among(r)
	case h.exists:
		return as(truth(len(r.Rows) > 0 != h.not))
	case len(r.Columns) != 1:
		return nil, first.Malformed("a sub-select of %d columns stands in the place of a value", len(r.Columns))
	}
	in, list := h.node.(*syntax.In)
	switch {
	case list:
		set, err := h.list(r)
		if err != nil {
			return nil, err
		}
		return func(left func(syntax.Expr) syntax.Expr) syntax.Expr {
			other := *in
			other.X, other.Set = left(in.X), set
			if len(r.Rows) > 0 {
				return &other
			}
			// IN () is false, and NOT IN () true, of NULL too
			return syntax.Placed(&syntax.Test{X: &other, Is: map[bool]string{true: "NULL", false: "TRUE"}[h.not]}, in)
		}, nil
	case len(r.Rows) == 0:
		return as(nullValue())
	}
	return as(literal(r.Rows[0][0]))
}

// among returns that a column of the core has one of the values of a sub-select. EXISTS is false,
// and not NULL, where the column is NULL.
func (h hole) among(r *Result) (filling, error) {
	e := truth(h.not)
	if len(r.Rows) > 0 {
		set, err := h.list(r)
		if err != nil {
			return nil, err
		}
		in := &syntax.Paren{X: &syntax.In{X: h.outer, Set: set}}
		e = &syntax.Paren{X: &syntax.Test{X: in, Is: "TRUE", Not: h.not}}
	}
	return func(func(syntax.Expr) syntax.Expr) syntax.Expr { return e }, nil
}

// list returns the values of a sub-select, each once; NULL if there are none.
func (h hole) list(r *Result) (*syntax.Tuple, error) {
	values := make(map[string]syntax.Expr)
	for _, row := range r.Rows {
		e := literal(row[0])
		values[syntax.Text(e)] = e
	}
	if len(values) > maxList {
		construct := fmt.Sprintf("a sub-select of more than %d values inside a private aggregate", maxList)
		return nil, h.statement.first().Unsupported(construct).
			WithHint("write IN (SELECT column FROM a public table)")
	}
	if len(values) == 0 {
		return &syntax.Tuple{Items: []syntax.Expr{nullValue()}}, nil
	}
	set := &syntax.Tuple{}
	for _, text := range slices.Sorted(maps.Keys(values)) {
		set.Items = append(set.Items, values[text])
	}
	return set, nil
}

// truth returns an expression that is true or false.
func truth(yes bool) syntax.Expr {
	number := func(text string) syntax.Expr { return &syntax.Literal{Kind: syntax.KindInteger, Value: text} }
	value := map[bool]string{true: "1", false: "0"}[yes]
	return &syntax.Paren{X: &syntax.Binary{Op: "=", X: number("1"), Y: number(value)}}
}

// literal returns a value as an expression.
func literal(v any) syntax.Expr {
	number := func(kind syntax.Kind, text string) syntax.Expr {
		if digits, negative := strings.CutPrefix(text, "-"); negative {
			return &syntax.Unary{Op: "-", X: &syntax.Literal{Kind: kind, Value: digits}}
		}
		return &syntax.Literal{Kind: kind, Value: text}
	}
	switch v := v.(type) {
	case int64:
		return number(syntax.KindInteger, strconv.FormatInt(v, 10))
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return number(syntax.KindDecimal, text)
	case string:
		return &syntax.Literal{Kind: syntax.KindString, Value: v}
	}
	return nullValue()
}
