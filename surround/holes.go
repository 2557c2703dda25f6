package surround

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rqlite/sql"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// hole is a sub-select in the text of a core. Its values stand there in the end. It is of public
// tables, or a statement around private aggregates of its own, which is answered before the core
// is asked: the core is then a query that an earlier answer chose.
type hole struct {
	from, to    int // characters of the text, with the parentheses
	statement   *Statement
	list        bool // of values after IN
	exists, not bool // EXISTS, NOT EXISTS; NOT IN
	private     bool
	outer       string // EXISTS: the core's column that is compared with the values
	text        string
	origin      []int // for each character of the text of the sub-select, its position in the statement
}

// Waits reports whether the text of the core has values of other private aggregates.
func (c Core) Waits() bool {
	return slices.ContainsFunc(c.holes, func(h hole) bool { return h.private })
}

// Asked answers a statement around private aggregates that is part of another one. at returns
// the position there of one in the text.
type Asked func(text string, at func(position int) int) (*Result, error)

// subSelect returns the sub-select that an expression in parentheses is. It is a list of values
// after IN.
func subSelect(e sql.Expr) (s *sql.SelectStatement, list bool) {
	switch e := e.(type) {
	case *sql.Exists:
		return e.Select, false
	case *sql.ParenExpr:
		return inner(e.X), false
	case *sql.ExprList:
		if len(e.Exprs) == 1 {
			return inner(e.Exprs[0]), true
		}
	}
	return nil, false
}

// entersSelect makes a sub-select of public tables part of the core: as a hole, which Resolve
// fills with values. The front end reads those of x IN (SELECT column FROM table) itself.
func (b *block) entersSelect(e sql.Expr, s *sql.SelectStatement, list bool) {
	first, last := b.span(e)
	private := b.asksPrivate(first, last)
	if !private && list && last-first == 5 && b.tokens[first+3].Matches("FROM") && b.with[query.FoldName(b.tokens[first+4].Value)] == nil {
		return
	}
	h := &hole{list: list, private: private}
	_, h.exists = e.(*sql.Exists)
	var text script
	opened := b.opened
	if private { // a statement by itself: nothing in it is folded into this core
		b.opened = nil
	}
	b.needed(&text, first, last)
	from := b.firstOf(s)
	if outer, inner, equal := b.compared(s); h.exists && !private && outer != nil {
		h.outer = b.semiJoin(&text, s, outer, inner, equal)
	} else {
		b.emit(&text, stretch{from, b.outside(from) - 1})
	}
	b.opened = opened
	var err error
	if h.statement, err = parse(text.text.String(), nil); err != nil || text.long {
		b.refuse(b.tokens[from].Unsupported("this sub-select").WithHint("ask for it first, and write its result as a value"))
		return
	}
	h.text, h.origin = text.text.String(), text.origin
	h.statement.relocate(text.origin)
	h.not = h.exists && e.(*sql.Exists).Not.IsValid() || list && b.at(first-2).Matches("NOT")
	b.opened[first] = opening{tokens: last - first + 1, hole: h, at: stretch{first, last}}
}

// compared returns the column of the core that the condition of a sub-select says one of its own
// equals, and the comparison. All are nil if it says no such thing.
func (b *block) compared(s *sql.SelectStatement) (outer, inner *sql.QualifiedRef, equal *sql.BinaryExpr) {
	if s.Compound != nil || s.WithClause != nil || s.Source == nil || s.WhereExpr == nil || len(s.GroupByExprs) > 0 || s.Limit.IsValid() || b.cutter.aggregates(s) {
		return nil, nil, nil
	}
	own := b.from(s.Source, b.with, nil)
	means := func(e sql.Expr, items []item) *sql.QualifiedRef {
		ref, ok := bareOf(e).(*sql.QualifiedRef)
		if !ok || !slices.ContainsFunc(items, func(i item) bool { return query.SameName(i.name, b.name(ref.Table).Value) }) {
			return nil
		}
		return ref
	}
	for rest := s.WhereExpr; ; {
		at, _ := rest.(*sql.BinaryExpr)
		conjunct := rest
		if at != nil && at.Op == sql.AND {
			conjunct, rest = at.Y, at.X
		}
		if eq, ok := conjunct.(*sql.BinaryExpr); ok && eq.Op == sql.EQ && b.stands(eq) {
			for _, pair := range [][2]sql.Expr{{eq.X, eq.Y}, {eq.Y, eq.X}} {
				mine := means(pair[0], own)
				if theirs := means(pair[1], b.frame.items); mine != nil && theirs != nil && means(pair[1], own) == nil {
					return theirs, mine, eq
				}
			}
		}
		if at == nil || at.Op != sql.AND {
			return nil, nil, nil
		}
	}
}

// stands reports whether nothing but AND is beside a comparison: what the parser did not get,
// such as COLLATE, would be.
func (b *block) stands(e sql.Expr) bool {
	first, last := b.span(e)
	before, after := b.at(first-1), b.at(last+1)
	return (before.Matches("WHERE") || before.Matches("AND")) && (after.Matches("AND") || after.Matches(")")) && b.whole(stretch{first, last})
}

// semiJoin writes the values that the sub-select of an EXISTS compares with a column of the core,
// and returns the text of the column.
func (b *block) semiJoin(out *script, s *sql.SelectStatement, outer, inner *sql.QualifiedRef, equal *sql.BinaryExpr) string {
	from := b.index(s.From)
	place := b.tokens[from].Position
	column := func(out *script, ref *sql.QualifiedRef) { b.emit(out, stretch{b.of(ref.Table), b.of(ref.Column)}) }
	out.write("SELECT ", place)
	column(out, inner)
	out.write(" ", place)
	first, last := b.span(equal)
	b.emit(out, stretch{from, first - 1})
	out.write(" ", b.tokens[first].Position)
	column(out, inner)
	out.write(" IS NOT NULL ", b.tokens[last].Position)
	if end := b.outside(from) - 1; end > last {
		b.emit(out, stretch{last + 1, end})
	}
	b.enters(outer)
	var text script
	column(&text, outer)
	return text.text.String()
}

// asksPrivate reports whether tokens name a private table, or an entry of WITH that has private
// rows or aggregates of them.
func (b *block) asksPrivate(first, last int) bool {
	for i := first; i < last; i++ {
		t := b.tokens[i]
		if !b.isTable(i) {
			continue
		}
		_, private := b.private(syntax.Name{Text: t.Value, Position: t.Position})
		if e := b.with[query.FoldName(t.Value)]; e != nil {
			private = e.rows != nil || e.cores
		}
		if private {
			return true
		}
	}
	return false
}

// isTable reports whether a token can be a table's name.
func (c *cutter) isTable(i int) bool {
	t, before := c.tokens[i], c.at(i-1)
	return (t.Kind == syntax.KindWord || t.Kind == syntax.KindQuoted) &&
		(before.Matches("FROM") || before.Matches("JOIN") || before.Matches(",") || before.Matches("(") || before.Matches("."))
}

// needed writes the common table expressions that tokens name, and those that these name.
func (b *block) needed(out *script, first, last int) {
	var all []*entry
	var find func(first, last int)
	find = func(first, last int) {
		for i := first; i <= last; i++ {
			if e := b.with[query.FoldName(b.tokens[i].Value)]; e != nil && b.isTable(i) && !slices.Contains(all, e) {
				all = append(all, e)
				find(b.index(e.cte.SelectLparen), b.index(e.cte.SelectRparen))
			}
		}
	}
	find(first, last)
	slices.SortFunc(all, func(x, y *entry) int { return cmp.Compare(b.of(x.cte.TableName), b.of(y.cte.TableName)) })
	for i, e := range all {
		out.write([]string{"WITH RECURSIVE ", ", "}[min(i, 1)], b.tokens[first].Position)
		b.emit(out, stretch{b.of(e.cte.TableName), b.index(e.cte.SelectRparen)})
		if i == len(all)-1 {
			out.write(" ", b.tokens[first].Position)
		}
	}
}

// among writes that a column of the core has one of the values of a sub-select. EXISTS is false,
// and not NULL, where the column is NULL.
func (h hole) among(r *Result) (string, error) {
	h.list, h.exists = true, false
	if len(r.Rows) == 0 {
		return "(1 = " + map[bool]string{true: "1", false: "0"}[h.not] + ")", nil
	}
	in := h
	in.outer, in.not = "", false
	list, err := in.values(r)
	return "((" + h.outer + " IN " + list + ") IS " + map[bool]string{true: "NOT ", false: ""}[h.not] + "TRUE)", err
}

// maxList bounds the values of a sub-select in a core.
const maxList = 1000

// Resolve returns the cores with values in the place of their sub-selects. It runs those of
// public tables, and has those around private aggregates answered by asked. If asked is nil, NULL
// stands for their values: the cores then have the columns that they will have, and are refused
// if they will be, but ask for something else.
func (db *Database) Resolve(ctx context.Context, cores []Core, from Source, args []query.Value, asked Asked) ([]Core, error) {
	out := slices.Clone(cores)
	for i, core := range cores {
		text := []rune(core.Text)
		var filled script
		at := 0
		for _, h := range core.holes {
			r, err := &Result{Columns: make([]ResultColumn, 1), Rows: [][]any{{nil}}}, error(nil)
			switch {
			case !h.private:
				r, err = db.Run(ctx, h.statement, from, args)
			case asked != nil:
				r, err = asked(h.text, func(position int) int {
					if position < 1 || position > len(h.origin) {
						return h.statement.at(0).Position
					}
					return h.origin[position-1]
				})
			}
			if e, ok := err.(*sqlerr.Error); ok && e.Code == sqlerr.Unknown && e.Hint == "" {
				return nil, e.WithHint("a sub-select inside a private aggregate names columns of its own tables only: join the public table instead")
			}
			if err != nil {
				return nil, err
			}
			values, err := h.values(r)
			if err != nil {
				return nil, err
			}
			filled.slice(text, core.origin, at, h.from)
			filled.write(values, core.origin[h.from])
			at = h.to
		}
		if len(core.holes) > 0 {
			filled.slice(text, core.origin, at, len(text))
			if filled.long {
				return nil, sqlerr.New(sqlerr.Unsupported, "a private aggregate of more than %d KiB is outside the dialect", maxText>>10).At(core.Position)
			}
			out[i].Text, out[i].origin, out[i].holes = filled.text.String(), filled.origin, nil
		}
	}
	return out, nil
}

// values writes what a sub-select gives.
func (h hole) values(r *Result) (string, error) {
	first := h.statement.at(0)
	if h.outer != "" {
		return h.among(r)
	}
	if h.exists {
		return "(1 = " + map[bool]string{true: "1", false: "0"}[len(r.Rows) > 0 != h.not] + ")", nil
	}
	if len(r.Columns) != 1 {
		return "", first.Malformed("a sub-select of %d columns stands in the place of a value", len(r.Columns))
	}
	if !h.list {
		if len(r.Rows) == 0 {
			return "NULL", nil
		}
		return literal(r.Rows[0][0]), nil
	}
	var values []string
	for _, row := range r.Rows {
		values = append(values, literal(row[0]))
	}
	slices.Sort(values)
	values = slices.Compact(values)
	switch { // IN () is false, and NOT IN () true, of NULL too
	case len(values) == 0 && h.not:
		return "(NULL) IS NULL", nil
	case len(values) == 0:
		return "(NULL) IS TRUE", nil
	}
	if len(values) > maxList {
		return "", first.Unsupported(fmt.Sprintf("a sub-select of more than %d values inside a private aggregate", maxList)).
			WithHint("write IN (SELECT column FROM a public table)")
	}
	return "(" + strings.Join(values, ", ") + ")", nil
}

// literal writes a value.
func literal(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	case string:
		return query.Text(v).String()
	}
	return "NULL"
}
