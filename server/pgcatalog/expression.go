package pgcatalog

import (
	"math"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// expr binds an expression.
func (b *binder) expr(s *scope, e syntax.Expr) expr {
	b.nodes++
	if v, ok := constantOf(e); ok {
		return constant(v)
	}
	if c, ok := columnOf(e); ok {
		return b.column(s, c)
	}
	if c, ok := callOf(e); ok {
		return b.call(s, c)
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return b.expr(s, e.X)
	case *syntax.Literal:
		return b.cast(s, &syntax.Literal{Kind: e.Kind, Value: e.Value}, typeOf(&syntax.Type{Path: e.Type}), e.Pos())
	case *syntax.Parameter:
		for len(b.parameters) < e.Number {
			b.parameters = append(b.parameters, 0)
		}
		return b.argument(e.Number)
	case *syntax.Unary:
		return b.unary(s, e)
	case *syntax.Binary:
		return b.binary(s, e)
	case *syntax.Cast:
		return b.cast(s, e.X, typeOf(e.Type), e.Operator)
	case *syntax.Case:
		return b.caseOf(s, e)
	case *syntax.Test:
		return b.test(s, e)
	case *syntax.Between:
		return b.between(s, e)
	case *syntax.In:
		return negatedIf(e.Not, b.in(s, e))
	case *syntax.Subquery:
		return b.scalar(s, e)
	case *syntax.Exists:
		return b.exists(s, e)
	case *syntax.Array:
		return b.arrayOf(s, e)
	case *syntax.Index:
		return b.index(s, e)
	case *syntax.Field:
		return b.field(s, e)
	case *syntax.Tuple:
		return b.rowOf(s, e)
	case *syntax.Collate:
		return b.expr(s, e.X) // every collation here is that of bytes
	case *syntax.Star:
		fail(sqlerr.New(sqlerr.Malformed, "syntax error at or near \"*\"").At(e.Pos()))
	}
	unsupported(e.Pos(), "%s", syntax.Excerpt(syntax.Text(e), 40))
	return expr{}
}

// constant returns the expression of a literal's value.
func constant(value any) expr {
	switch v := value.(type) {
	case nil:
		return expr{typ: unknownOID, untyped: true, isNull: true, sql: "NULL"}
	case string:
		return expr{typ: unknownOID, untyped: true, literal: v, sql: constantSQL(v)}
	case bool:
		return always(boolOID, v)
	case int64:
		if v < math.MinInt32 || v > math.MaxInt32 {
			return always(int8OID, v)
		}
		return always(int4OID, v)
	}
	return always(numericOID, value)
}

// unary binds an operator before an operand.
func (b *binder) unary(s *scope, e *syntax.Unary) expr {
	switch e.Op {
	case "NOT":
		return expr{typ: boolOID, sql: "(NOT " + b.condition(s, e.X, "NOT") + ")"}
	case "+":
		return b.expr(s, e.X)
	case "-":
		right := b.expr(s, e.X)
		if right.untyped {
			right = b.typed(right, int4OID)
		}
		return b.operated(always(right.typ, zeroValue(right.typ)), "-", right, e.Pos())
	}
	unsupported(e.Pos(), "the prefix operator %s", e.Op)
	return expr{}
}

// binary binds an operator between two operands.
func (b *binder) binary(s *scope, e *syntax.Binary) expr {
	switch {
	case e.Op == "AND" || e.Op == "OR":
		return b.logic(s, e)
	case e.Op == "IS DISTINCT FROM":
		l, r := b.matched(b.expr(s, e.X), b.expr(s, e.Y), "=", e.Operator)
		if listed(l.typ) {
			return b.invoked(boolOID, true, func(_ *run, a []any) any { return (compareNulls(a[0], a[1], false) != 0) != e.Not }, l, r)
		}
		is := " IS NOT "
		if e.Not {
			is = " IS "
		}
		return expr{typ: boolOID, sql: b.grown("(" + l.sql + is + r.sql + ")")}
	case e.Quantifier != "":
		return b.quantified(s, e)
	}
	right := b.expr(s, e.Y)
	return b.operated(b.expr(s, e.X), operatorOf(e), right, e.Operator)
}

// logic binds AND and OR.
func (b *binder) logic(s *scope, e *syntax.Binary) expr {
	operands := conjoined(e)
	texts := make([]string, len(operands))
	for i, o := range operands {
		texts[i] = b.condition(s, o, e.Op)
	}
	return expr{typ: boolOID, sql: b.grown(balanced(texts, " "+e.Op+" "))}
}

// balanced joins operands so that a long chain does not nest deep.
func balanced(texts []string, operator string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	half := len(texts) / 2
	return "(" + balanced(texts[:half], operator) + operator + balanced(texts[half:], operator) + ")"
}

// between binds BETWEEN.
func (b *binder) between(s *scope, e *syntax.Between) expr {
	x, low, high := b.expr(s, e.X), b.expr(s, e.Low), b.expr(s, e.High)
	l1, r1 := b.matched(x, low, ">=", e.Operator)
	l2, r2 := b.matched(x, high, "<=", e.Operator)
	if l1.sql == l2.sql && !listed(l1.typ) {
		return negatedIf(e.Not, expr{typ: boolOID, sql: b.grown("(" + l1.sql + " BETWEEN " + r1.sql + " AND " + r2.sql + ")")})
	}
	both := "(" + b.comparison(l1, ">=", r1).sql + " AND " + b.comparison(l2, "<=", r2).sql + ")"
	return negatedIf(e.Not, expr{typ: boolOID, sql: b.grown(both)})
}

func negatedIf(yes bool, e expr) expr {
	if yes {
		e.sql = "(NOT " + e.sql + ")"
	}
	return e
}

func (b *binder) cast(s *scope, x syntax.Expr, target typeName, at int) expr {
	t := target.resolve()
	if a, ok := x.(*syntax.Array); ok && a.Query == nil && len(a.Items) == 0 {
		return always(t, &array{lower: 1})
	}
	e := b.converted(b.expr(s, x), t, at)
	if len(target.modifiers) == 1 && (t == varcharOID || t == bpcharOID) {
		if v, ok := constantOf(target.modifiers[0]); ok {
			if length, ok := v.(int64); ok && length > 0 {
				e = b.invoked(t, false, shortened(length), e)
			}
		}
	}
	return e
}

// shortened cuts texts to a number of characters.
func shortened(length int64) func(*run, []any) any {
	return func(_ *run, a []any) any {
		if s, ok := a[0].(string); ok && int64(len(s)) > length {
			if r := []rune(s); int64(len(r)) > length {
				return string(r[:length])
			}
		}
		return a[0]
	}
}

func (b *binder) caseOf(s *scope, e *syntax.Case) expr {
	when, of := make([]string, len(e.Whens)), ""
	var tests []string
	var x expr
	if e.Of != nil {
		x = b.expr(s, e.Of)
	}
	plain := e.Of != nil
	for i, w := range e.Whens {
		if e.Of == nil {
			when[i] = b.condition(s, w.If, "CASE/WHEN")
			continue
		}
		l, r := b.matched(x, b.expr(s, w.If), "=", at(w.If))
		if i == 0 {
			of = l.sql
		}
		plain = plain && !listed(l.typ) && l.sql == of
		when[i], tests = r.sql, append(tests, b.comparison(l, "=", r).sql)
	}
	if e.Of != nil && !plain {
		when, of = tests, ""
	}
	results := make([]expr, 0, len(e.Whens)+1)
	if e.Else != nil { // PostgreSQL takes the type of ELSE first
		results = append(results, b.expr(s, e.Else))
	} else {
		results = append(results, constant(nil))
	}
	for _, w := range e.Whens {
		results = append(results, b.expr(s, w.Then))
	}
	t := b.alike(results, "CASE", e.Pos())
	text := "CASE " + of
	for i, w := range when {
		text += " WHEN " + w + " THEN " + results[i+1].sql
	}
	return expr{typ: t, fields: results[len(results)-1].fields, sql: b.grown("(" + text + " ELSE " + results[0].sql + " END)")}
}

func (b *binder) test(s *scope, e *syntax.Test) expr {
	if e.Is == "NULL" {
		x := b.settled(b.expr(s, e.X))
		if e.Not {
			return expr{typ: boolOID, sql: b.grown("(" + x.sql + " IS NOT NULL)")}
		}
		return expr{typ: boolOID, sql: b.grown("(" + x.sql + " IS NULL)")}
	}
	x := b.boolean(b.expr(s, e.X), "IS "+e.Is, e.Operator)
	text := map[string]string{"TRUE": " IS TRUE)", "FALSE": " IS FALSE)", "UNKNOWN": " IS NULL)"}[e.Is]
	return negatedIf(e.Not, expr{typ: boolOID, sql: b.grown("(" + x + text)})
}

func (b *binder) in(s *scope, e *syntax.In) expr {
	if sub, ok := e.Set.(*syntax.Subquery); ok {
		return b.anyOf(s, e.X, "=", sub.Query, false, e.Operator)
	}
	x := b.expr(s, e.X)
	list := e.Set.(*syntax.Tuple).Items
	items := make([]expr, len(list))
	for i, item := range list {
		items[i] = b.expr(s, item)
	}
	return b.among(x, items, e.Operator)
}

// among is x IN (items).
func (b *binder) among(x expr, items []expr, at int) expr {
	lefts, rights := make([]expr, len(items)), make([]expr, len(items))
	plain := true
	for i, item := range items {
		lefts[i], rights[i] = b.matched(x, item, "=", at)
		plain = plain && lefts[i].sql == lefts[0].sql && !listed(lefts[i].typ)
	}
	if plain {
		return expr{typ: boolOID, sql: b.grown("(" + lefts[0].sql + " IN (" + joined(rights) + "))")}
	}
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = b.comparison(lefts[i], "=", rights[i]).sql
	}
	return expr{typ: boolOID, sql: b.grown(balanced(texts, " OR "))}
}

// quantified is x operator ANY|ALL (array or query).
func (b *binder) quantified(s *scope, e *syntax.Binary) expr {
	operator, all := operatorOf(e), e.Quantifier == "ALL"
	if sub, ok := e.Y.(*syntax.Subquery); ok {
		return b.anyOf(s, e.X, operator, sub.Query, all, e.Operator)
	}
	left := b.expr(s, e.X)
	if a, ok := syntax.Inside(e.Y).(*syntax.Array); ok && a.Query == nil && len(a.Items) > 0 && operator == "=" && !all && !listed(left.typ) {
		items := b.items(s, a)
		b.alike(items, "ARRAY", a.Pos())
		return b.among(left, items, e.Operator)
	}
	list := b.expr(s, e.Y)
	if list.untyped {
		if left.untyped {
			left = b.settled(left)
		}
		list = b.typed(list, ArrayOf(baseOf(left.typ)))
	}
	element := ElementOf(list.typ)
	if element == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "op ANY/ALL (array) requires array on right side").At(e.Operator))
	}
	name, q := b.fresh("j"), b.fresh("q")
	item := expr{typ: element, sql: name + ".value"}
	test := b.anyOfValues(left, operator, item, all, e.Operator, "json_each(coalesce(json_extract("+q+".a, '$.items'), "+q+".a)) AS "+name)
	text := "(SELECT CASE WHEN " + q + ".a IS NOT NULL THEN " + test + " END FROM (SELECT " + list.sql + " AS a) AS " + q + ")"
	return expr{typ: boolOID, sql: b.grown(text)}
}

// anyOf is x operator ANY (SELECT …).
func (b *binder) anyOf(s *scope, left syntax.Expr, operator string, q *syntax.Query, all bool, at int) expr {
	p := b.nested(s, q)
	var row expr
	element := uint32(recordOID)
	if r, ok := syntax.Inside(left).(*syntax.Tuple); ok {
		if len(p.columns) != len(r.Items) {
			fail(sqlerr.New(sqlerr.Invalid, "subquery has %d columns, and the row before it %d", len(p.columns), len(r.Items)).At(at))
		}
		row = b.rowOf(s, r)
	} else {
		if len(p.columns) != 1 {
			fail(sqlerr.New(sqlerr.Invalid, "subquery has too many columns").At(at))
		}
		row, element = b.expr(s, left), p.columns[0].typ
	}
	name := b.fresh("j")
	item := expr{typ: element, fields: p.columns[0].fields, sql: name + ".c0"}
	if element == recordOID && len(p.columns) > 1 {
		list := make([]string, len(p.columns))
		for i := range list {
			list[i] = name + ".c" + itoa(i)
		}
		item.fields, item.sql = p.columns, jsonList(list)
	}
	return expr{typ: boolOID, sql: b.grown(b.anyOfValues(row, operator, item, all, at, "("+p.sql+") AS "+name))}
}

// anyOfValues compares a value with each item of a source.
func (b *binder) anyOfValues(left expr, operator string, item expr, all bool, at int, from string) string {
	if operator == "=" && !all || operator == "<>" && all {
		if l, r := b.matched(left, item, operator, at); !listed(l.typ) {
			in := " IN (SELECT "
			if all {
				in = " NOT IN (SELECT "
			}
			return "(" + l.sql + in + r.sql + " FROM " + from + "))"
		}
	}
	found, otherwise := "max(x) = 1 THEN 1", "0"
	if all {
		found, otherwise = "min(x) = 0 THEN 0", "1"
	}
	test := b.operated(left, operator, item, at).sql
	return "(SELECT CASE WHEN " + found + " WHEN count(*) > count(x) THEN NULL ELSE " + otherwise + " END FROM (SELECT " + test + " AS x FROM " + from + "))"
}

// listed reports whether values of a type are held as JSON, which does not compare as they do.
func listed(t uint32) bool { return classOf(t) == arrays || classOf(t) == records }

func (b *binder) exists(s *scope, e *syntax.Exists) expr {
	return expr{typ: boolOID, sql: b.grown("EXISTS (" + b.nested(s, e.Query).sql + ")")}
}

// oneColumn binds a query that must have one column.
func (b *binder) oneColumn(s *scope, q *syntax.Query, at int) *plan {
	p := b.nested(s, q)
	if len(p.columns) != 1 {
		fail(sqlerr.New(sqlerr.Invalid, "subquery must return only one column").At(at))
	}
	return p
}

// scalar binds a query as a value.
func (b *binder) scalar(s *scope, e *syntax.Subquery) expr {
	p := b.oneColumn(s, e.Query, e.Pos())
	out := expr{typ: p.columns[0].typ, fields: p.columns[0].fields}
	if b.atMostOne(e.Query) {
		out.sql = b.grown("(" + p.sql + ")")
		return out
	}
	name := b.fresh("q")
	rows := expr{sql: "(SELECT json_group_array(json_array(" + name + ".c0)) FROM (" + p.sql + ") AS " + name + ")"}
	c := &goCall{args: []expr{out}, rows: true, at: e.Pos(), eval: func(r *run, rows []any) any {
		switch len(rows) {
		case 0:
			return nil
		case 1:
			return rows[0].(record)[0]
		}
		r.fail("more than one row returned by a subquery used as an expression")
		return nil
	}}
	out.sql = b.goSQL(c, []expr{rows})
	return out
}

// atMostOne reports whether a query gives one row by its form: without FROM, or with LIMIT 1.
func (b *binder) atMostOne(q *syntax.Query) bool {
	if q.Limit != nil {
		v, ok := constantOf(q.Limit)
		return ok && v == int64(1)
	}
	block, ok := q.Body.(*syntax.Block)
	if !ok || len(block.From) > 0 || len(block.Items) != 1 {
		return false
	}
	c, isCall := callOf(syntax.Inside(block.Items[0].X))
	return !isCall || kindOf(c.name) != sets
}

// arrayOfRows binds ARRAY(SELECT …).
func (b *binder) arrayOfRows(s *scope, e *syntax.Array) expr {
	p := b.oneColumn(s, e.Query, e.Pos())
	t := ArrayOf(p.columns[0].typ)
	if t == 0 {
		unsupported(e.Pos(), "an array of %s", b.catalog.typeTitle(p.columns[0].typ))
	}
	name := b.fresh("q")
	return expr{typ: t, sql: b.grown("(SELECT json_group_array(" + name + ".c0) FROM (" + p.sql + ") AS " + name + ")")}
}

func (b *binder) arrayOf(s *scope, e *syntax.Array) expr {
	if e.Query != nil {
		return b.arrayOfRows(s, e)
	}
	items := b.items(s, e)
	if len(items) == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "cannot determine type of empty array").WithHint("write ARRAY[]::text[]").At(e.Pos()))
	}
	t := ArrayOf(b.alike(items, "ARRAY", e.Pos()))
	if t == 0 {
		unsupported(e.Pos(), "an array of %s", b.catalog.typeTitle(items[0].typ))
	}
	return expr{typ: t, sql: b.grown("json_array(" + joined(items) + ")")}
}

// items binds the items of ARRAY[…].
func (b *binder) items(s *scope, e *syntax.Array) []expr {
	items := make([]expr, len(e.Items))
	for i, item := range e.Items {
		items[i] = b.expr(s, item)
	}
	return items
}

func (b *binder) index(s *scope, e *syntax.Index) expr {
	list, by := b.expr(s, e.X), b.implied(b.expr(s, e.I), int4OID, e.Operator)
	element := ElementOf(list.typ)
	if element == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "cannot subscript type %s because it does not support subscripting", b.catalog.typeTitle(list.typ)).At(e.Operator))
	}
	return b.invoked(element, false, func(_ *run, args []any) any {
		a, ok := args[0].(*array)
		i, known := args[1].(int64)
		if i -= lowerOf(a); !ok || !known || i < 0 || i >= int64(len(a.elements)) {
			return nil
		}
		return a.elements[i]
	}, list, by)
}

func lowerOf(a *array) int64 {
	if a == nil {
		return 0
	}
	return int64(a.lower)
}

func (b *binder) field(s *scope, n *syntax.Field) expr {
	e, name := b.expr(s, n.X), folded(n.Name)
	if e.fields == nil {
		fail(sqlerr.New(sqlerr.Invalid, "column notation .%s applied to type %s, which is not a composite type", name, b.catalog.typeTitle(e.typ)).At(n.Operator))
	}
	for i, f := range e.fields {
		if f.name == name {
			return fieldOf(e, i)
		}
	}
	fail(sqlerr.New(sqlerr.Unknown, "column %q not found in data type %s", name, b.catalog.typeTitle(e.typ)).Of(sqlerr.Column).At(n.Operator))
	return expr{}
}

func (b *binder) rowOf(s *scope, e *syntax.Tuple) expr {
	items := make([]expr, len(e.Items))
	fields := make([]outColumn, len(items))
	for i, item := range e.Items {
		items[i] = b.settled(b.expr(s, item))
		fields[i] = outColumn{name: "f" + itoa(i+1), typ: items[i].typ, fields: items[i].fields}
	}
	return expr{typ: recordOID, fields: fields, sql: b.grown("json_array(" + joined(items) + ")")}
}

// fieldOf is a field of a row.
func fieldOf(e expr, i int) expr {
	f := e.fields[i]
	return expr{typ: f.typ, fields: f.fields, sql: "json_extract(" + e.sql + ", '$[" + itoa(i) + "]')"}
}
