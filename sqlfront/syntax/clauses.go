package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// This file desugars clauses of other systems: TOP, FETCH, OFFSET, GROUP BY ALL, QUALIFY and
// generate_series, and takes the schema public away. They become edits of the text.

// clauses desugars the clauses of all queries in a statement, which the query q is.
func (d *desugaring) clauses(q *Query) {
	d.schemas()
	Walk(q, func(n Node) bool {
		if inner, ok := n.(*Query); ok {
			d.query(inner)
		}
		return true
	})
	d.series(q)
	if q.Settings != nil {
		d.edit(d.before(q.settingsAt), q.End())
	}
}

// schemas takes PostgreSQL's usual schema away: "public"."t" is t. It does nothing if the
// statement uses the name for something else.
func (d *desugaring) schemas() {
	var found []int
	for i, t := range d.tokens {
		if !t.isName() || UpperASCII(t.Value) != "PUBLIC" || i > 0 && d.tokens[i-1].Matches(".") {
			continue
		}
		if i+2 >= len(d.tokens) || !d.tokens[i+1].Matches(".") || !d.tokens[i+2].isName() {
			return
		}
		found = append(found, i)
	}
	for _, i := range found {
		d.edit(d.tokens[i].Position, d.tokens[i+2].Position)
	}
}

// query desugars the clauses of one query.
func (d *desugaring) query(q *Query) {
	if q.foreign {
		d.limits(q)
	}
	for _, b := range blocks(q.Body, nil) {
		if b.Top != nil {
			d.edit(b.topAt, b.listAt)
			b.Top = Inside(b.Top)
			d.edit(d.end(q), d.end(q), " LIMIT ", &b.Top)
		}
		if b.GroupAll {
			d.groupAll(b)
		}
		if b.Qualify != nil {
			d.qualify(b)
		}
	}
}

// end returns where a clause can be added to a query.
func (d *desugaring) end(q *Query) int {
	switch {
	case q.Settings != nil:
		return d.before(q.settingsAt)
	case q.With == nil && q.Body.Pos() > q.Pos(): // in parentheses
		return q.End() - 1
	}
	return q.End()
}

// blocks adds the SELECTs that a body is made of.
func blocks(b Body, list []*Block) []*Block {
	switch b := b.(type) {
	case *Block:
		return append(list, b)
	case *Compound:
		return blocks(b.Y, blocks(b.X, list))
	}
	return list
}

// limits writes FETCH FIRST n ROWS ONLY, OFFSET n ROWS and LIMIT ALL as LIMIT n OFFSET m.
func (d *desugaring) limits(q *Query) {
	parts := []any{"LIMIT ", "-1"}
	if q.Limit != nil {
		if parts[1] = &q.Limit; q.Limit.Pos() == q.Limit.End() { // FETCH FIRST ROW
			parts[1] = "1"
		}
	}
	if q.Offset != nil {
		parts = append(parts, " OFFSET ", &q.Offset)
	}
	d.edit(q.limits.from, q.limits.to, parts...)
}

// aggregating are names of aggregates, and families the beginnings of others.
var (
	aggregating = words(`SUM TOTAL AVG MIN MAX MARGIN LOW HIGH MEDIAN MODE GROUP_CONCAT STRING_AGG
		ARRAY_AGG ANY_VALUE`)
	families = []string{"COUNT", "STDDEV", "STDEV", "VAR", "CORR", "COVAR_", "REGR_", "PERCENTILE_", "QUANTILE",
		"APPROX_", "BOOL_"}
)

// isAggregate reports whether a call is one of an aggregate. MIN and MAX of several values are none.
func isAggregate(c *Call) bool {
	name := UpperASCII(c.Path[len(c.Path)-1].Text)
	if c.Over != nil || aggregating[name] && (len(c.Args) == 1 || name != "MIN" && name != "MAX") {
		return true
	}
	return slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(name, family) })
}

// aggregates reports whether an expression computes something of many rows, or of none.
func aggregates(e Expr) bool {
	aggregate, names := false, false
	Walk(e, func(n Node) bool {
		switch n := n.(type) {
		case *Column, *Subquery, *Exists:
			names = true
		case *Call:
			names = true
			aggregate = aggregate || isAggregate(n)
		}
		return true
	})
	return aggregate || !names
}

// groupAll writes GROUP BY ALL as the numbers of the entries that aggregate nothing.
func (d *desugaring) groupAll(b *Block) {
	var keys []string
	for i, it := range b.Items {
		if _, star := it.X.(*Star); star {
			return
		}
		if !aggregates(it.X) {
			keys = append(keys, strconv.Itoa(i+1))
		}
	}
	all := d.tokens[d.token(b.groupAt)+2]
	if len(keys) == 0 {
		d.edit(d.before(b.groupAt), all.End)
	} else {
		d.edit(all.Position, all.End, strings.Join(keys, ", "))
	}
}

// title returns the name of an entry of a select list.
func (it Item) title() Ident {
	if c, ok := it.X.(*Column); ok && it.As.None() {
		return c.Path[len(c.Path)-1]
	}
	return it.As
}

// qualify puts a SELECT with QUALIFY into FROM, and the condition into WHERE around it. An alias
// in the condition is what it stands for.
func (d *desugaring) qualify(b *Block) {
	if b.From == nil {
		return
	}
	outer := []any{"SELECT "}
	var names []string
	meant := make(map[string]Expr)
	for i, it := range b.Items {
		name := it.title()
		folded := strings.ToLower(name.Text)
		if name.None() || slices.Contains(names, folded) {
			d.refuse(b.qualifyAt, "QUALIFY over entries without names of their own",
				"write AS and a name behind each entry of the select list")
		}
		if names = append(names, folded); i > 0 {
			outer = append(outer, ", ")
		}
		if outer = append(outer, name.String()); !it.As.None() {
			meant[folded] = it.X
		}
	}
	b.Qualify = Replace(b.Qualify, func(e Expr) Expr {
		c, ok := e.(*Column)
		if !ok || len(c.Path) != 1 || meant[strings.ToLower(c.Path[0].Text)] == nil {
			return e
		}
		m := d.in(e)
		return m.paren(meant[strings.ToLower(c.Path[0].Text)])
	})
	d.edit(b.Pos(), b.Pos(), append(outer, " FROM (")...)
	d.edit(d.before(b.fromAt), d.before(b.fromAt), ", (", &b.Qualify, `) AS "qualify"`)
	d.edit(d.before(b.qualifyAt), b.End(), `) AS "qualified" WHERE "qualify"`)
}

// series writes generate_series(a, b, step) in FROM, or as the only entry of a select list, as a
// recursive common table expression in front of the statement.
func (d *desugaring) series(q *Query) {
	var parts []any
	n := 0
	add := func(c *Call, column string) (table string, ok bool) {
		if len(c.Args) < 2 || len(c.Args) > 3 {
			return "", false
		}
		name := "generate_series"
		if n++; n > 1 {
			name += " " + strconv.Itoa(n)
			parts = append(parts, ", ")
		}
		parts = append(parts, d.entry(c, `"`+name+`"`, column)...)
		return `"` + name + `"`, true
	}
	Walk(q, func(node Node) bool {
		switch s := node.(type) {
		case *Function:
			if isSeries(s.Call) {
				d.sourceSeries(s, add)
			}
		case *Block:
			if c, ok := onlySeries(s); ok {
				if table, ok := add(c, "generate_series"); ok {
					d.edit(c.Pos(), c.End(), "generate_series FROM "+table)
				}
			}
		}
		return true
	})
	if n == 0 {
		return
	}
	if q.With == nil {
		d.edit(q.Pos(), q.Pos(), slices.Concat([]any{"WITH RECURSIVE "}, parts, []any{" "})...)
	} else {
		d.edit(q.Pos(), q.With[0].Pos(), slices.Concat([]any{"WITH RECURSIVE "}, parts, []any{", "})...)
	}
}

func isSeries(c *Call) bool {
	return len(c.Path) == 1 && UpperASCII(c.Path[0].Text) == "GENERATE_SERIES"
}

// onlySeries returns the series that is all that a SELECT has.
func onlySeries(b *Block) (*Call, bool) {
	if len(b.Items) != 1 || b.From != nil || b.Where != nil || b.Distinct || !b.Items[0].As.None() {
		return nil, false
	}
	c, ok := b.Items[0].X.(*Call)
	return c, ok && isSeries(c)
}

// sourceSeries writes a series in FROM as the table that add makes of it.
func (d *desugaring) sourceSeries(s *Function, add func(c *Call, column string) (string, bool)) {
	column, alias := "generate_series", ""
	if !s.Alias.Name.None() {
		column, alias = s.Alias.Name.String(), " AS "+s.Alias.Name.String()
	}
	if len(s.Alias.Columns) == 1 {
		column = s.Alias.Columns[0].String()
	}
	if table, ok := add(s.Call, column); ok {
		d.edit(s.Pos(), s.End(), table+alias)
	}
}

// entry writes the common table expression of a series.
func (d *desugaring) entry(c *Call, table, column string) []any {
	value, next, within := d.step(c)
	from, to, after := value(&c.Args[0]), value(&c.Args[1]), next(column)
	return slices.Concat(
		[]any{table + "(" + column + ") AS (SELECT "}, from, []any{" WHERE "}, from, []any{within}, to,
		[]any{" UNION ALL SELECT "}, after, []any{" FROM " + table + " WHERE "}, after, []any{within}, to,
		[]any{")"})
}

// step returns the forms of the ends of a series and of what follows a value, and the comparison
// that ends it. All values are days, if the step has whole days and no end is a moment, or else
// moments.
func (d *desugaring) step(c *Call) (value func(x *Expr) []any, next func(x string) []any, within string) {
	value = func(x *Expr) []any { return []any{x} }
	plus := func(n string) func(x string) []any { return func(x string) []any { return []any{x + " + " + n} } }
	if len(c.Args) == 2 {
		return value, plus("1"), " <= "
	}
	by := Inside(c.Args[2])
	switch x := by.(type) {
	case *Cast: // of '1 day'::interval
		by = x.X
	case *Interval:
		by = x.Value
	case *Unary:
		if l, ok := x.X.(*Literal); ok && x.Op == "-" && l.Kind == KindInteger && l.Value != "0" {
			return value, func(x string) []any { return []any{x + " - " + l.Value} }, " >= "
		}
	}
	l, ok := by.(*Literal)
	if ok && l.Kind == KindInteger && l.Value != "0" {
		return value, plus(l.Value), " <= "
	}
	text, ok := textOf(by)
	n, word, _ := strings.Cut(strings.TrimSpace(text), " ")
	count, err := strconv.Atoi(n)
	unit, known := units[unitOf(strings.TrimSpace(word))]
	if !ok || err != nil || !known || count < 1 || count > maxCount {
		d.refuse(c.Pos(), "this step of generate_series",
			"it is a whole number, or a text such as '1 month' with a number and a unit")
	}
	function := "datetime("
	if unit.day && !isMoment(c.Args[0]) && !isMoment(c.Args[1]) {
		function = "date("
	}
	value = func(x *Expr) []any { return []any{function, x, ")"} }
	step := ", '+" + strconv.Itoa(count*unit.factor) + " " + unit.word + "')"
	return value, func(x string) []any { return []any{function + x + step} }, " <= "
}

// isMoment reports whether an expression makes a value that has a time of day.
func isMoment(e Expr) (moment bool) {
	Walk(e, func(n Node) bool {
		switch n := n.(type) {
		case *Literal:
			moment = moment || n.Kind == KindString && len(n.Value) > 10 && isoDate(n.Value[:10])
		case *Column:
			moment = moment || len(n.Path) == 1 && UpperASCII(n.Path[0].Text) == "CURRENT_TIMESTAMP"
		case *Call:
			moment = moment || UpperASCII(n.Path[0].Text) == "DATETIME" || UpperASCII(n.Path[0].Text) == "NOW"
		case *Cast:
			to := types[UpperASCII(n.Type.Path[len(n.Type.Path)-1].Text)]
			moment = moment || to == "DATETIME"
		}
		return true
	})
	return moment
}
