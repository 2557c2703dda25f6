package pgcatalog

import (
	"fmt"
	"slices"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// call binds a call.
func (b *binder) call(s *scope, n call) expr {
	if n.schema != "" && !isSystem(n.schema) {
		fail(sqlerr.New(sqlerr.Unknown, "function %s.%s does not exist", n.schema, n.name).Of(sqlerr.Function).
			At(n.position))
	}
	kind := kindOf(n.name)
	switch {
	case n.over != nil:
		return b.over(s, n, kind)
	case kind == aggregates && s.level.clause != "":
		fail(sqlerr.New(sqlerr.Invalid, "aggregate functions are not allowed in %s", s.level.clause).At(n.position))
	case kind == aggregates:
		s.level.aggregates++
		return b.aggregate(s, n, "")
	case n.distinct || n.order != nil || n.filter != nil || n.star:
		fail(sqlerr.New(sqlerr.Invalid, "%s is not an aggregate function", n.name).At(n.position))
	case kind == sets && s.level.noSets != "":
		unsupported(n.position, "a function that returns a set, in %s,", s.level.noSets)
	case kind == sets:
		return b.setItem(s, b.set(s, n))
	case kind == windows:
		fail(sqlerr.New(sqlerr.Invalid, "window function %s requires an OVER clause", n.name).At(n.position))
	}
	args := b.exprs(s, n.args)
	switch {
	case (n.name == "coalesce" || n.name == "greatest" || n.name == "least") && len(args) > 0:
		return b.oneOf(n, args)
	case n.name == "nullif" && len(args) == 2:
		return b.nullIf(args[0], args[1], n.position)
	}
	f := b.overload(n, args)
	return expr{typ: b.result(f.out, f, args, n.position), sql: b.functionSQL(f, args, n.position)}
}

func (b *binder) exprs(s *scope, list []syntax.Expr) []expr {
	out := make([]expr, len(list))
	for i, e := range list {
		out[i] = b.expr(s, e)
	}
	return out
}

// functionSQL writes a call. A constant is NULL where an argument is.
func (b *binder) functionSQL(f *function, args []expr, at int) string {
	switch {
	case f.sql == "":
		return b.goSQL(&goCall{args: args, loose: f.how&loose != 0, at: at, eval: f.eval}, args)
	case strings.Contains(f.sql, "%s"):
		return b.grown(fmt.Sprintf(f.sql, joined(args)))
	case len(args) == 0:
		return f.sql
	}
	given := strings.Join(textsOf(args), " IS NOT NULL AND ") + " IS NOT NULL"
	return b.grown("CASE WHEN " + given + " THEN " + f.sql + " END")
}

// oneOf binds COALESCE, GREATEST and LEAST.
func (b *binder) oneOf(n call, list []expr) expr {
	t := b.alike(list, strings.ToUpper(n.name), n.position)
	if n.name == "coalesce" && len(list) > 1 {
		return expr{typ: t, fields: list[0].fields, sql: b.grown("coalesce(" + joined(list) + ")")}
	}
	return b.invoked(t, true, func(_ *run, list []any) any {
		var out any
		for _, v := range list {
			if v != nil && (out == nil || (compare(v, out) > 0) == (n.name == "greatest")) {
				out = v
			}
		}
		return out
	}, list...)
}

// nullIf binds NULLIF.
func (b *binder) nullIf(l, r expr, at int) expr {
	l, r = b.matched(l, r, "=", at)
	if !listed(l.typ) {
		return expr{typ: l.typ, sql: "nullif(" + l.sql + ", " + r.sql + ")"}
	}
	return b.invoked(l.typ, true, func(_ *run, a []any) any {
		if a[0] != nil && a[1] != nil && compare(a[0], a[1]) == 0 {
			return nil
		}
		return a[0]
	}, l, r)
}

// joined lists expressions in SQL.
func joined(list []expr) string { return strings.Join(textsOf(list), ", ") }

func textsOf(list []expr) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.sql
	}
	return texts
}

// aggregate binds a call of an aggregate. What SQLite has not, Go makes of a list of the rows.
func (b *binder) aggregate(s *scope, n call, over string) expr {
	saved := *s.level
	s.level.clause, s.level.noSets = "the arguments of an aggregate", "the arguments of an aggregate"
	defer func() { s.level.clause, s.level.noSets = saved.clause, saved.noSets }()
	if over != "" && (n.distinct || n.order != nil) {
		unsupported(n.position, "DISTINCT or ORDER BY of an aggregate with OVER")
	}
	args := b.exprs(s, n.args)
	f := b.overload(n, args)
	out := expr{typ: b.result(f.out, f, args, n.position)}
	if t := out.typ; f.out == anyelementOID && (baseOf(t) == nameOID || classOf(t) == records) {
		fail(sqlerr.New(sqlerr.Unknown, "function min(%s) does not exist", b.catalog.typeTitle(t)).
			Of(sqlerr.Function).WithHint("cast it to text").At(n.position))
	}
	inside := joined(args)
	if f.eval != nil {
		inside = jsonList(textsOf(args))
	}
	if order := b.aggregateOrder(s, n, args); order != nil {
		inside += " ORDER BY " + strings.Join(order, ", ")
	}
	if n.distinct {
		inside = "DISTINCT " + inside
	}
	after := over
	if n.filter != nil {
		after = " FILTER (WHERE " + b.condition(s, n.filter, "FILTER") + ")" + over
	}
	if f.eval == nil {
		out.sql = b.grown(fmt.Sprintf(f.sql, inside, after))
		return out
	}
	rows := expr{sql: "json_group_array(" + inside + ")" + after}
	out.sql = b.goSQL(&goCall{args: args, rows: true, at: n.position, eval: f.eval}, []expr{rows})
	return out
}

// aggregateOrder returns the keys by which an aggregate takes its rows. PostgreSQL sorts to find equal ones.
func (b *binder) aggregateOrder(s *scope, n call, args []expr) (keys []string) {
	for _, k := range n.order {
		keys = append(keys, ordered(k, unordinal(b.settled(b.expr(s, k.X)).sql)))
	}
	if n.distinct && keys == nil {
		for _, a := range args {
			keys = append(keys, ordered(syntax.OrderTerm{}, unordinal(a.sql)))
		}
	}
	return keys
}

// over binds a window function.
func (b *binder) over(s *scope, n call, kind how) expr {
	if s.level.clause != "" {
		fail(sqlerr.New(sqlerr.Invalid, "window functions are not allowed in %s", s.level.clause).At(n.position))
	}
	over := n.over
	if over.Bare {
		if over = s.level.named[folded(over.Name)]; over == nil {
			fail(sqlerr.New(sqlerr.Unknown, "window %q does not exist", folded(n.over.Name)).At(n.position))
		}
	}
	saved := s.level.noSets
	s.level.noSets = "a window"
	var parts, order []string
	for _, p := range over.Partition {
		parts = append(parts, b.settled(b.expr(s, p)).sql)
	}
	for _, k := range over.Order {
		order = append(order, ordered(k, b.settled(b.expr(s, k.X)).sql))
	}
	s.level.noSets = saved
	s.level.windows++
	text := " OVER ("
	if parts != nil {
		text += "PARTITION BY " + strings.Join(parts, ", ")
	}
	if order != nil {
		text += " ORDER BY " + strings.Join(order, ", ")
	}
	text += ")"
	switch {
	case kind == aggregates:
		return b.aggregate(s, n, text)
	case kind != windows || len(n.args) > 0:
		unsupported(n.position, "the window function %s", n.name)
	}
	return expr{typ: int8OID, sql: n.name + "()" + text}
}

// setCall is a call of a function that returns a set.
type setCall struct {
	out    expr // the type of an element
	args   []expr
	strict bool // it is empty if an argument is NULL
	at     int
	eval   evaluation
}

// elements computes a set.
func (c *setCall) elements(r *run, a []any) []any {
	if c.strict && slices.Contains(a, nil) {
		return nil
	}
	r.call = &goCall{args: c.args, at: c.at}
	out, _ := c.eval(r, a).([]any)
	return out
}

// set binds a call of a function that returns a set.
func (b *binder) set(s *scope, n call) *setCall {
	args := b.exprs(s, n.args)
	f := b.overload(n, args)
	out := expr{typ: b.result(f.out, f, args, n.position)}
	for _, field := range f.fields {
		out.fields = append(out.fields, outColumn{name: field.name, typ: b.result(field.typ, f, args, n.position)})
	}
	return &setCall{out, args, true, n.position, f.eval}
}

// setItem is a set in a select list: a column of the rows that its sets have together.
func (b *binder) setItem(s *scope, set *setCall) expr {
	if s.level.zipped == "" {
		s.level.zipped = b.fresh("z")
	}
	s.level.sets = append(s.level.sets, set)
	text := "json_extract(" + s.level.zipped + ".value, '$[" + itoa(len(s.level.sets)-1) + "]')"
	return expr{typ: set.out.typ, fields: set.out.fields, sql: text}
}

// zip returns the source that has the sets of a select list side by side.
func (b *binder) zip(l *level) string {
	var args []expr
	for _, set := range l.sets {
		args = append(args, set.args...)
	}
	sets := l.sets
	e := b.invoked(textOID, true, func(r *run, a []any) any {
		out := &array{lower: 1}
		for i, set := range sets {
			values := set.elements(r, a[:len(set.args)])
			a = a[len(set.args):]
			for n, v := range values {
				if n == len(out.elements) {
					out.elements = append(out.elements, make(record, len(sets)))
				}
				out.elements[n].(record)[i] = v
			}
		}
		return out
	}, args...)
	return "json_each(" + e.sql + ") AS " + l.zipped
}

// columnName returns the name that PostgreSQL gives to a column without AS.
func columnName(e syntax.Expr) string {
	if s, _ := namedBy(e); s != "" {
		return s
	}
	return "?column?"
}

// namedBy returns an expression's name, and whether it is stronger than that of a cast around it.
func namedBy(e syntax.Expr) (name string, strong bool) {
	if c, ok := callOf(e); ok {
		return c.name, true
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return namedBy(e.X)
	case *syntax.Collate:
		return namedBy(e.X)
	case *syntax.Column:
		return folded(e.Path[len(e.Path)-1]), true
	case *syntax.Field:
		return folded(e.Name), true
	case *syntax.Index:
		return namedBy(e.X)
	case *syntax.Unary:
		if _, number := constantOf(e.X); e.Op == "+" && !number {
			return namedBy(e.X)
		}
	case *syntax.Literal:
		if e.Type != nil {
			return typeOf(&syntax.Type{Path: e.Type}).title(), false
		}
	case *syntax.Cast:
		if name, strong := namedBy(e.X); strong {
			return name, true
		}
		return typeOf(e.Type).title(), false
	case *syntax.Case:
		if e.Else != nil {
			if name, strong := namedBy(e.Else); strong {
				return name, true
			}
		}
		return "case", false
	case *syntax.Exists:
		return "exists", true
	case *syntax.Subquery:
		if b, ok := e.Query.Body.(*syntax.Block); ok && len(b.Items) == 1 {
			if !b.Items[0].As.None() {
				return folded(b.Items[0].As), true
			}
			return namedBy(b.Items[0].X)
		}
	case *syntax.Array:
		return "array", true
	case *syntax.Tuple:
		return "row", true
	}
	return "", false
}

// title is the name of a type as a column has it: as PostgreSQL's grammar turns it into one.
func (t typeName) title() string {
	if own := infoOf(typeNamed(t.name)).name; own != "" && t.schema == "" {
		return own
	}
	return strings.Trim(t.name, `"`)
}
