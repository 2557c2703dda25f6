package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// expr compiles an expression over keys and aggregates. aliases says whether a name
// may be an alias of the select list, as in HAVING and ORDER BY.
func (o *outputs) expr(e sqlparser.Expr, aliases bool) (post.Expr, error) {
	e = syntax.Unwrap(e)
	if k, ok, err := o.keyed(e); ok || err != nil {
		return k, err
	}
	switch e := e.(type) {
	case *sqlparser.FuncExpr:
		return o.call(e, aliases)
	case *sqlparser.ColName:
		return o.nameExpr(e, aliases)
	case *sqlparser.SQLVal:
		v, _, err := o.literal(e)
		return post.Constant{Value: v.constant.scalar().value.Any()}, err
	case *sqlparser.UnaryExpr:
		return o.signedExpr(e, aliases)
	case *sqlparser.BinaryExpr:
		return o.arithmetic(e, aliases)
	case *sqlparser.CaseExpr:
		return o.caseExpr(e, aliases)
	case *sqlparser.ComparisonExpr, *sqlparser.RangeCond, *sqlparser.IsExpr, *sqlparser.AndExpr, *sqlparser.OrExpr, *sqlparser.NotExpr:
		return o.condition(e, aliases)
	}
	return nil, o.outside(e)
}

// nameExpr compiles a name: a column that is not grouped is refused.
func (o *outputs) nameExpr(e *sqlparser.ColName, aliases bool) (post.Expr, error) {
	if i, ok := o.aliasIndex(e); ok && aliases {
		return o.entry(i)
	}
	if _, err := o.column(e); err != nil {
		return nil, err
	}
	t, _ := o.g.Token(e.Name.String())
	at := o.g.FirstToken(e)
	if len(o.keys) > 0 {
		return nil, at.Unsupported("column " + t.Value + ", which is not grouped,").
			WithHint("put it into GROUP BY, or into an aggregate")
	}
	return nil, at.Unsupported("a bare column in the select list").
		WithHint("%s; SELECT %s, COUNT(*) FROM table GROUP BY %s counts by its values", countHint, t.Text, t.Text)
}

// aliasIndex returns the index of the first entry of the select list whose alias an expression is,
// and no column's name.
func (o *outputs) aliasIndex(e sqlparser.Expr) (int, bool) {
	name, ok := o.bareName(e)
	if !ok || len(o.scope.columnsNamed("", name)) > 0 {
		return 0, false
	}
	return o.entryNamed(name, aliasOf)
}

// entryNamed returns the index of the first entry of the select list that has a name.
func (b *binder) entryNamed(name string, nameOf func(syntax.ListItem) string) (int, bool) {
	i := slices.IndexFunc(b.s.List, func(it syntax.ListItem) bool {
		if it.Expr == nil {
			return false
		}
		own := nameOf(it)
		return own != "" && query.SameName(own, name)
	})
	return i, i >= 0
}

func aliasOf(it syntax.ListItem) string { return it.Alias }

// entry compiles an entry of the select list, once.
func (o *outputs) entry(i int) (post.Expr, error) {
	it := o.s.List[i]
	if o.columns[i].Value != nil {
		return o.columns[i].Value, nil
	}
	if it.Star != nil {
		return nil, o.g.ItemToken(it).Unsupported("SELECT *").WithHint(countHint)
	}
	if o.compiling[i] {
		return nil, o.g.ItemToken(it).Malformed("the alias %s refers to itself", syntax.Excerpt(it.Alias, 40))
	}
	o.compiling[i] = true
	e, err := o.expr(it.Expr, false)
	if err != nil {
		return nil, err
	}
	o.columns[i] = post.Column{Name: o.heading(it), Value: e}
	return e, nil
}

// heading names a column of the result.
func (b *binder) heading(it syntax.ListItem) string {
	if it.Alias != "" {
		return it.Alias
	}
	if f, ok := syntax.Unwrap(it.Expr).(*sqlparser.FuncExpr); ok {
		f, _ = syntax.Filter(f)
		if name, _ := b.calledFunction(f); isOwn(name) || isMeasure(name) {
			return name
		}
	}
	if c, ok := syntax.Unwrap(it.Expr).(*sqlparser.ColName); ok {
		if t, ok := b.g.Token(c.Name.String()); ok {
			return t.Value
		}
	}
	return b.g.TextOf(it)
}

// number compiles an expression that must not be a text.
func (o *outputs) number(e sqlparser.Expr, aliases bool, what string) (post.Expr, error) {
	x, err := o.expr(e, aliases)
	if err != nil {
		return nil, err
	}
	if x.Type() == post.Text {
		return nil, o.g.StartToken(e).Unsupported("a text as " + what).WithHint("compare it, or use an integer")
	}
	return x, nil
}

func (o *outputs) signedExpr(e *sqlparser.UnaryExpr, aliases bool) (post.Expr, error) {
	if v, ok, err := o.operand(e); err == nil && ok && !v.isColumn {
		return post.Constant{Value: v.constant.scalar().value.Any()}, nil // −2^63 is a literal
	}
	x, err := o.number(e.Expr, aliases, "an operand")
	switch {
	case err != nil:
		return nil, err
	case e.Operator == sqlparser.UMinusStr:
		return post.Negative{Operand: x}, nil
	case e.Operator == sqlparser.UPlusStr:
		return x, nil
	}
	return nil, o.g.FirstToken(e).Unsupported("the operator " + e.Operator)
}

func (o *outputs) arithmetic(e *sqlparser.BinaryExpr, aliases bool) (post.Expr, error) {
	op := sqlvalue.Operator(e.Operator)
	if moved, ok := o.moved(e); ok {
		return moved, nil
	}
	switch op {
	case sqlvalue.Plus, sqlvalue.Minus, sqlvalue.Times, sqlvalue.Over, sqlvalue.Modulo:
	default:
		return nil, o.g.FirstToken(e).Unsupported("the operator " + e.Operator)
	}
	left, err := o.number(e.Left, aliases, "an operand")
	if err != nil {
		return nil, err
	}
	right, err := o.number(e.Right, aliases, "an operand")
	return post.Arithmetic{Op: op, Left: left, Right: right}, err
}

func (o *outputs) caseExpr(e *sqlparser.CaseExpr, aliases bool) (post.Expr, error) {
	var c post.Case
	for _, w := range e.Whens {
		condition := w.Cond
		if e.Expr != nil {
			condition = &sqlparser.ComparisonExpr{Operator: sqlparser.EqualStr, Left: e.Expr, Right: w.Cond}
		}
		holds, err := o.number(condition, aliases, "a condition")
		if err != nil {
			return nil, err
		}
		then, err := o.chosen(w.Val, e, aliases)
		if err != nil {
			return nil, err
		}
		c.Arms = append(c.Arms, post.When{If: holds, Then: then})
	}
	if e.Else != nil {
		var err error
		if c.Else, err = o.chosen(e.Else, e, aliases); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// functions are the functions over aggregates, with their numbers of arguments.
var functions = map[string]struct {
	name        post.Function
	least, most int
}{
	"round": {post.Round, 1, 2}, "abs": {post.Abs, 1, 1}, "coalesce": {post.Coalesce, 1, 100}, "ifnull": {post.Coalesce, 2, 2},
}

func (o *outputs) call(e *sqlparser.FuncExpr, aliases bool) (post.Expr, error) {
	e, filter := syntax.Filter(e)
	name, _ := o.calledFunction(e)
	if filter != nil {
		return o.filtered(name, e, filter)
	}
	f, known := functions[name]
	switch {
	case isOwn(name):
		return o.aggregate(name, e)
	case isMeasure(name):
		return o.margin(e, name)
	case name == "grouping" || name == "grouping_id":
		return o.grouping(e)
	case !known:
		return nil, o.unknownFunction(e, name)
	case e.Distinct || len(e.Exprs) < f.least || len(e.Exprs) > f.most:
		return nil, o.g.FirstToken(e).Malformed("%s does not take these arguments", syntax.UpperASCII(name))
	}
	args, ok := argumentsOf(e)
	if !ok {
		return nil, o.g.FirstToken(e).Malformed("%s takes expressions", syntax.UpperASCII(name))
	}
	compile := o.number
	if f.name == post.Coalesce {
		compile = func(x sqlparser.Expr, aliases bool, _ string) (post.Expr, error) { return o.chosen(x, e, aliases) }
	}
	call := post.Call{Name: f.name}
	for _, arg := range args {
		v, err := compile(arg, aliases, "an argument")
		if err != nil {
			return nil, err
		}
		call.Args = append(call.Args, v)
	}
	return call, nil
}

// measures are the functions of the interval of an expression over aggregates.
var measures = map[string]post.Measure{"margin": post.Distance, "low": post.Low, "high": post.High}

// margin compiles MARGIN, LOW or HIGH of an aggregate, of an alias or of an expression
// over aggregates.
func (o *outputs) margin(f *sqlparser.FuncExpr, name string) (post.Expr, error) {
	at, of := o.g.FirstToken(f), measures[name]
	name = syntax.UpperASCII(name)
	if len(f.Exprs) != 1 || f.Distinct {
		return nil, at.Malformed("%s takes one argument", name).WithHint("write %s(COUNT(*))", name)
	}
	args, ok := argumentsOf(f)
	if !ok {
		return nil, at.Malformed("%s takes an aggregate or its alias", name).WithHint("write %s(COUNT(*))", name)
	}
	operand, err := o.marginOf(args[0], name)
	if err != nil {
		return nil, err
	}
	if !post.Private(operand) {
		return nil, at.Unsupported(name+" of an expression without an aggregate").
			WithHint("write %[1]s(COUNT(*)), or %[1]s(n) behind COUNT(*) AS n", name)
	}
	return post.Margin{Operand: operand, Of: of}, nil
}

// marginOf compiles the argument of MARGIN, LOW or HIGH, which function names. A name is
// the alias, or the heading, of an entry of the select list with an aggregate.
func (o *outputs) marginOf(e sqlparser.Expr, function string) (post.Expr, error) {
	name, ok := o.bareName(e)
	if !ok {
		return o.expr(e, true)
	}
	for i, it := range o.s.List {
		if it.Expr != nil && query.SameName(o.heading(it), name) && !o.compiling[i] {
			if x, err := o.entry(i); err != nil || post.Private(x) {
				return x, err
			}
		}
	}
	for i, it := range o.s.List {
		if it.Expr != nil && query.SameName(o.heading(it), name) && o.columns[i].Value != nil && post.Private(o.columns[i].Value) {
			return o.columns[i].Value, nil
		}
	}
	return nil, sqlerr.New(sqlerr.Unknown, "no aggregate of the select list is named %s", syntax.Excerpt(name, 40)).
		WithHint("write %[1]s(COUNT(*)), or %[1]s(n) behind COUNT(*) AS n", function).At(o.g.FirstToken(e).Position)
}

// condition compiles a condition over keys and aggregates, as in HAVING.
func (o *outputs) condition(e sqlparser.Expr, aliases bool) (post.Expr, error) {
	switch e := e.(type) {
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		_, and := e.(*sqlparser.AndExpr)
		logic := post.Logic{And: and}
		for _, part := range flatten(e, and) {
			p, err := o.number(part, aliases, "a condition")
			if err != nil {
				return nil, err
			}
			logic.Operands = append(logic.Operands, p)
		}
		return logic, nil
	case *sqlparser.NotExpr:
		p, err := o.number(e.Expr, aliases, "a condition")
		return post.Not{Operand: p}, err
	case *sqlparser.IsExpr:
		return o.truthTest(e, aliases)
	case *sqlparser.RangeCond:
		return o.rangeCondition(e, aliases)
	case *sqlparser.ComparisonExpr:
		if e.Operator == sqlparser.InStr || e.Operator == sqlparser.NotInStr {
			return o.inList(e, aliases)
		}
		return o.comparison(e.Left, e.Operator, e.Right, aliases)
	}
	return nil, o.outside(e)
}

// comparison compiles left operator right: of two numbers, or of two texts.
func (o *outputs) comparison(left sqlparser.Expr, operator string, right sqlparser.Expr, aliases bool) (post.Expr, error) {
	op, ok := relations[operator]
	if !ok {
		return nil, o.g.StartToken(left).Unsupported(syntax.UpperASCII(operator) + " outside WHERE").WithHint("put it into WHERE")
	}
	l, err := o.expr(left, aliases)
	if err != nil {
		return nil, err
	}
	r, err := o.expr(right, aliases)
	if err != nil {
		return nil, err
	}
	if l != (post.Constant{}) && r != (post.Constant{}) && (l.Type() == post.Text) != (r.Type() == post.Text) {
		return nil, o.g.StartToken(left).Unsupported("a comparison of a number with a text outside WHERE").
			WithHint("compare numbers with numbers, and texts with texts in single quotes")
	}
	if o.mayBeTime(left) || o.mayBeTime(right) {
		l, r = post.Folded{Operand: l, Moment: true}, post.Folded{Operand: r, Moment: true}
	} else if _, key := l.(post.Key); isNoCase(l) || !key && isNoCase(r) { // the collation of the left column counts
		l, r = post.Folded{Operand: l}, post.Folded{Operand: r}
	}
	return post.Comparison{Op: op, Left: l, Right: r}, nil
}

// mayBeTime reports whether values of an expression may be dates or moments.
func (o *outputs) mayBeTime(e sqlparser.Expr) bool { return types.MayBeTime(o.typeOf(e)) }

// chosen compiles one of the expressions of which one has the value of another. Beside moments a date is
// written as one.
func (o *outputs) chosen(e, of sqlparser.Expr, aliases bool) (post.Expr, error) {
	x, err := o.expr(e, aliases)
	if err == nil && o.typeOf(e) == query.SQLDate && o.typeOf(of) == query.SQLTimestamp {
		x = post.Folded{Operand: x, Moment: true}
	}
	return x, err
}

// isNoCase reports whether an expression is a key with COLLATE NOCASE.
func isNoCase(e post.Expr) bool {
	k, ok := e.(post.Key)
	return ok && k.NoCase
}

// rangeCondition compiles x BETWEEN a AND b as x >= a AND x <= b.
func (o *outputs) rangeCondition(e *sqlparser.RangeCond, aliases bool) (post.Expr, error) {
	low, err := o.comparison(e.Left, sqlparser.GreaterEqualStr, e.From, aliases)
	if err != nil {
		return nil, err
	}
	high, err := o.comparison(e.Left, sqlparser.LessEqualStr, e.To, aliases)
	both := post.Logic{And: true, Operands: []post.Expr{low, high}}
	return inverseIf(e.Operator == sqlparser.NotBetweenStr, both), err
}

// inverseIf returns a condition, or NOT of it.
func inverseIf(not bool, e post.Expr) post.Expr {
	if not {
		return post.Not{Operand: e}
	}
	return e
}

// inList compiles x IN (a, b) as x = a OR x = b.
func (o *outputs) inList(e *sqlparser.ComparisonExpr, aliases bool) (post.Expr, error) {
	list, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return nil, o.outside(e.Right)
	}
	var any post.Logic
	for _, x := range list {
		equal, err := o.comparison(e.Left, sqlparser.EqualStr, x, aliases)
		if err != nil {
			return nil, err
		}
		any.Operands = append(any.Operands, equal)
	}
	return inverseIf(e.Operator == sqlparser.NotInStr, any), nil
}

// truthTest compiles IS [NOT] NULL, TRUE and FALSE.
func (o *outputs) truthTest(e *sqlparser.IsExpr, aliases bool) (post.Expr, error) {
	null, truth, not := testOf(e)
	if null {
		x, err := o.expr(e.Expr, aliases)
		return inverseIf(not, post.IsNull{Operand: x}), err
	}
	x, err := o.number(e.Expr, aliases, "a condition")
	return inverseIf(not, post.TruthTest{Operand: x, True: truth}), err
}

// program compiles the select list, HAVING, ORDER BY and LIMIT.
func (o *outputs) program() (post.Program, error) {
	o.columns, o.compiling = make([]post.Column, len(o.s.List)), make([]bool, len(o.s.List))
	p := post.Program{Distinct: o.s.Distinct, Limit: -1}
	for i := range o.s.List {
		if _, err := o.entry(i); err != nil {
			return p, err
		}
	}
	p.Columns = o.columns
	var err error
	if o.s.Having != nil {
		if p.Having, err = o.number(o.s.Having, true, "a condition"); err != nil {
			return p, err
		}
	}
	if p.Order, err = o.order(); err != nil {
		return p, err
	}
	if err := o.aggregated(); err != nil {
		return p, err
	}
	return p, o.limit(&p)
}

// types returns the types of the columns.
func (o *outputs) types() []query.SQLType {
	types := make([]query.SQLType, len(o.columns))
	for i := range types {
		types[i] = o.columnType(i)
	}
	return types
}

// columnType returns the type of an entry of the select list. That of a count is known without
// a look at the text. The ends of an interval of dates are dates.
func (o *outputs) columnType(i int) query.SQLType {
	switch v := o.columns[i].Value.(type) {
	case post.Sum:
		if v.Type() == post.Integer {
			return query.SQLInt8
		}
	case post.Margin:
		if q, ok := v.Operand.(post.Quantile); ok && v.Type() == post.Text {
			return q.Of.SQLType()
		}
		return query.SQLFloat8
	}
	return types.Shown(o.typePass().Of(o.s.Block.Items[i].X))
}

// aggregated refuses a SELECT without aggregates and groups: it would return the
// private rows.
func (o *outputs) aggregated() error {
	if len(o.s.GroupBy) > 0 || o.aggregates > 0 {
		return nil
	}
	it := o.s.List[0]
	if it.Expr == nil {
		return o.g.ItemToken(it).Unsupported("SELECT *").WithHint(countHint)
	}
	construct, _ := o.construct(it.Expr)
	return o.g.ItemToken(it).Unsupported(construct + " in the select list").WithHint(countHint)
}

// order compiles ORDER BY. An ordinal or an alias is the entry of the select list.
func (o *outputs) order() ([]post.Order, error) {
	var terms []post.Order
	for _, t := range o.s.OrderBy {
		by, err := o.orderTerm(t.Expr)
		if err != nil {
			return nil, err
		}
		if isNoCase(by) {
			by = post.Folded{Operand: by}
		}
		terms = append(terms, post.Order{By: by, Descending: t.Direction == sqlparser.DescScr})
	}
	return terms, nil
}

func (o *outputs) orderTerm(e sqlparser.Expr) (post.Expr, error) {
	if n, ok := o.ordinal(e); ok {
		if _, err := o.listed(n, "ORDER BY", e); err != nil {
			return nil, err
		}
		return o.columns[n-1].Value, nil
	}
	if name, ok := o.bareName(e); ok {
		if i, ok := o.entryNamed(name, aliasOf); ok { // before a column of the name
			return o.columns[i].Value, nil
		}
	}
	return o.expr(e, true)
}

// limit reads LIMIT and OFFSET, which are integers or parameters. As in SQLite, a
// negative limit means no limit, and a negative offset means 0. As in PostgreSQL, NULL does.
func (o *outputs) limit(p *post.Program) error {
	if o.s.Limit == nil {
		return nil
	}
	var err error
	if p.Limit, err = o.rowNumber(o.s.Limit.Rowcount, -1); err != nil || o.s.Limit.Offset == nil {
		return err
	}
	p.Offset, err = o.rowNumber(o.s.Limit.Offset, 0)
	return err
}

func (o *outputs) rowNumber(e sqlparser.Expr, null int64) (int64, error) {
	v, ok, err := o.operand(e)
	switch {
	case err != nil:
		return 0, err
	case !ok || v.isColumn:
		construct, _ := o.construct(e)
		return 0, o.g.StartToken(e).Unsupported(construct + " in LIMIT").WithHint("write an integer or a parameter")
	case v.constant.isNull() && v.constant.source.Kind == syntax.KindParameter:
		return null, nil
	case v.constant.real != nil || !v.constant.value.IsInt():
		return 0, sqlerr.New(sqlerr.Invalid, "LIMIT and OFFSET take an integer").At(o.g.FirstToken(e).Position)
	}
	return v.constant.value.Int64(), nil
}
