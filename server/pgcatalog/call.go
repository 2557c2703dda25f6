package pgcatalog

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// call binds a call.
func (b *binder) call(s *scope, n call) expr {
	if n.schema != "" && n.schema != "pg_catalog" && n.schema != "information_schema" {
		fail(sqlerr.New(sqlerr.Unknown, "function %s.%s does not exist", n.schema, n.name).Of(sqlerr.Function).At(n.position))
	}
	if n.over != nil {
		return b.over(s, n)
	}
	if aggregateNamed(n.name) != nil {
		return b.aggregated(s, n)
	}
	if n.distinct || n.order != nil || n.filter != nil || n.star {
		fail(sqlerr.New(sqlerr.Invalid, "%s is not an aggregate function", n.name).At(n.position))
	}
	if setNamed(n.name) != nil {
		if s.level.noSets != "" {
			unsupported(n.position, "a function that returns a set, in %s,", s.level.noSets)
		}
		return b.setItem(s, b.set(s, n))
	}
	if e, ok := b.special(s, n); ok {
		return e
	}
	return b.function(s, n)
}

// special binds the functions that SQL treats in a way of their own.
func (b *binder) special(s *scope, n call) (expr, bool) {
	args := func() []expr {
		list := make([]expr, len(n.args))
		for i, a := range n.args {
			list[i] = b.expr(s, a)
		}
		return list
	}
	switch n.name {
	case "coalesce", "greatest", "least":
		if len(n.args) == 0 {
			return expr{}, false
		}
		list := args()
		t := b.alike(list, strings.ToUpper(n.name), n.position)
		if n.name == "coalesce" && len(list) > 1 {
			return expr{typ: t, fields: list[0].fields, sql: b.grown("coalesce(" + joined(list) + ")")}, true
		}
		return b.invoked(t, true, chosen(n.name), list...), true
	case "nullif":
		if len(n.args) != 2 {
			return expr{}, false
		}
		l, r := b.expr(s, n.args[0]), b.expr(s, n.args[1])
		l, r = b.matched(l, r, "=", n.position)
		if listed(l.typ) {
			return b.invoked(l.typ, true, func(_ *run, a []any) any {
				if a[0] != nil && a[1] != nil && compare(a[0], a[1]) == 0 {
					return nil
				}
				return a[0]
			}, l, r), true
		}
		return expr{typ: l.typ, sql: "nullif(" + l.sql + ", " + r.sql + ")"}, true
	case "concat", "concat_ws":
		list := args()
		for i := range list {
			list[i] = b.converted(list[i], textOID, n.position)
		}
		if len(list) == 0 {
			return expr{}, false
		}
		return b.invoked(textOID, true, concat(n.name == "concat_ws"), list...), true
	case "format":
		if len(n.args) == 0 {
			return expr{}, false
		}
		return b.format(args(), n.position), true
	case "array_to_string":
		if len(n.args) != 2 && len(n.args) != 3 {
			return expr{}, false
		}
		return b.arrayToString(args(), n.position), true
	case "json_build_object":
		return b.jsonObject(args(), n.position), true
	}
	return expr{}, false
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

func chosen(name string) func(*run, []any) any {
	return func(_ *run, list []any) any {
		var out any
		for _, v := range list {
			switch {
			case v == nil:
			case name == "coalesce":
				return v
			case out == nil || (compare(v, out) > 0) == (name == "greatest"):
				out = v
			}
		}
		return out
	}
}

func concat(separated bool) func(*run, []any) any {
	return func(r *run, list []any) any {
		var parts []string
		separator, ok := "", true
		for i, e := range list {
			v, known := e.(string)
			switch r.spend(len(v) + len(separator)); {
			case separated && i == 0:
				separator, ok = v, known
			case known:
				parts = append(parts, v)
			}
		}
		if !ok {
			return nil
		}
		return strings.Join(parts, separator)
	}
}

// function binds a call of an ordinary function.
func (b *binder) function(s *scope, n call) expr {
	args := make([]expr, len(n.args))
	for i, a := range n.args {
		args[i] = b.expr(s, a)
	}
	f := b.overload(functionTable()[n.name], args)
	if f == nil {
		titles := make([]string, len(args))
		for i, a := range args {
			titles[i] = b.catalog.typeTitle(a.typ)
		}
		fail(sqlerr.New(sqlerr.Unknown, "function %s(%s) does not exist", n.name, strings.Join(titles, ", ")).Of(sqlerr.Function).At(n.position))
	}
	for i := range args {
		args[i] = b.implied(args[i], f.args[i], n.position)
	}
	out := f.out
	if out == anyelementOID || out == anyarrayOID {
		out = args[0].typ
	}
	return b.invoked(out, f.loose, f.eval, args...)
}

// overload chooses the function of a name that the arguments fit best.
func (b *binder) overload(list []*builtinFunction, args []expr) *builtinFunction {
	var found *builtinFunction
	best := -1
	for _, f := range list {
		if len(f.args) != len(args) {
			continue
		}
		score := 0
		for i, a := range args {
			switch {
			case a.untyped:
				if f.args[i] == textOID {
					score++
				}
			case a.typ == f.args[i]:
				score += 3
			case implicit(a.typ, f.args[i]):
				score++
			default:
				score = -1000
			}
		}
		if score > best {
			found, best = f, score
		}
	}
	return found
}

// aggregated binds a call of an aggregate.
func (b *binder) aggregated(s *scope, n call) expr {
	if s.level.clause != "" {
		fail(sqlerr.New(sqlerr.Invalid, "aggregate functions are not allowed in %s", s.level.clause).At(n.position))
	}
	s.level.aggregates++
	return b.aggregateCall(s, n, "")
}

func (b *binder) aggregateCall(s *scope, n call, over string) expr {
	saved := *s.level
	s.level.clause, s.level.noSets = "the arguments of an aggregate", "the arguments of an aggregate"
	defer func() { s.level.clause, s.level.noSets = saved.clause, saved.noSets }()
	a := &aggregate{distinct: n.distinct}
	for _, arg := range n.args {
		a.args = append(a.args, b.expr(s, arg))
	}
	if n.star && n.name != "count" {
		fail(sqlerr.New(sqlerr.Unknown, "function %s() does not exist", n.name).Of(sqlerr.Function).At(n.position))
	}
	for i, k := range n.order {
		a.order = append(a.order, b.settled(b.expr(s, k.X)))
		a.keys = append(a.keys, keyOfTerm(len(a.args)+i, k))
	}
	if n.filter != nil {
		a.filter = b.condition(s, n.filter, "FILTER")
	}
	out := aggregateNamed(n.name)(b, a, n.position)
	out.sql = b.aggregateSQL(a, over)
	if n.name == "sum" && classOf(out.typ) == floats {
		out.sql = "CAST(" + out.sql + " AS REAL)"
	}
	return out
}

// aggregateSQL writes a call of an aggregate. What SQLite has not, Go makes of a list of the rows.
func (b *binder) aggregateSQL(a *aggregate, over string) string {
	distinct, filter := "", ""
	if a.filter != "" {
		filter = " FILTER (WHERE " + a.filter + ")"
	}
	if a.native != "" {
		if a.distinct {
			distinct = "DISTINCT "
		}
		args := "*"
		if len(a.args) > 0 {
			args = joined(a.args)
		}
		return b.grown(a.native + "(" + distinct + args + ")" + filter + over)
	}
	list := append(slices.Clone(a.args), a.order...)
	rows := expr{sql: "json_group_array(" + jsonList(textsOf(list)) + ")" + filter + over}
	return b.goSQL(&goCall{rows: true, eval: func(r *run, raw []any) any { return a.result(r, list, raw) }}, []expr{rows})
}

// over binds a window function.
func (b *binder) over(s *scope, n call) expr {
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
	for i, k := range over.Order {
		order = append(order, keyOfTerm(i, k).sql(b.settled(b.expr(s, k.X)).sql))
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
	case aggregateNamed(n.name) != nil:
		return b.aggregateCall(s, n, text)
	case !slices.Contains([]string{"row_number", "rank", "dense_rank"}, n.name) || len(n.args) > 0:
		unsupported(n.position, "the window function %s", n.name)
	}
	return expr{typ: int8OID, sql: n.name + "()" + text}
}

// setItem is a set in a select list: a column of the rows that its sets have together.
func (b *binder) setItem(s *scope, set *setCall) expr {
	if s.level.zipped == "" {
		s.level.zipped = b.fresh("z")
	}
	s.level.sets = append(s.level.sets, set)
	at := itoa(len(s.level.sets) - 1)
	return expr{typ: set.out.typ, fields: set.out.fields, sql: "json_extract(" + s.level.zipped + ".value, '$[" + at + "]')"}
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
			values := set.values(r, a[:len(set.args)])
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

// set binds a call of a function that returns a set; nil if it is none.
func (b *binder) set(s *scope, n call) *setCall {
	bind := setNamed(n.name)
	if bind == nil || n.over != nil {
		return nil
	}
	args := make([]expr, len(n.args))
	for i, a := range n.args {
		args[i] = b.expr(s, a)
	}
	out := bind(b, args, n.position)
	if out == nil {
		fail(sqlerr.New(sqlerr.Unknown, "function %s with %d such arguments does not exist", n.name, len(args)).Of(sqlerr.Function).At(n.position))
	}
	return out
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
	name := t.name
	if own := spellings[name]; own != "" && t.schema == "" {
		name = own
	}
	return strings.Trim(name, `"`)
}
