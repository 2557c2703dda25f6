package sqlfront

import (
	"cmp"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// The types of a statement follow from its text and from the declarations of its tables, and
// not from its arguments. So they are the same before and after it runs. "" is the type of
// what can have any: NULL, and a parameter as long as nothing has told its type.
//
// The value of an expression has its type if the arguments have those of the parameters. An
// expression whose value is of one of two types, as that of a CASE, has a type that both can be
// shown in: text, where there is no narrower one.

// typeParameters finds the types of parameters in the clauses of a SELECT. As in PostgreSQL
// the first use of a parameter that tells its type decides.
func (b *binder) typeParameters() {
	o := &outputs{binder: b}
	for i := range b.s.From {
		if on := b.s.From[i].On; on != nil {
			o.typeOf(on)
		}
	}
	for _, it := range b.s.List {
		if it.Expr != nil {
			o.typeOf(it.Expr)
		}
	}
	for _, e := range append([]sqlparser.Expr{b.s.Where, b.s.Having}, b.s.GroupBy...) {
		if e != nil {
			o.typeOf(e)
		}
	}
	o.expect(b.s.Where, query.SQLBool)
	o.expect(b.s.Having, query.SQLBool)
	for _, t := range b.s.OrderBy {
		o.typeOf(t.Expr)
	}
	if b.s.Limit != nil {
		o.expect(b.s.Limit.Rowcount, query.SQLInt8)
		o.expect(b.s.Limit.Offset, query.SQLInt8)
	}
}

// expect notes the type that an expression has where it stands, for the parameters in it whose
// value is its value.
func (o *outputs) expect(e sqlparser.Expr, typ query.SQLType) {
	if e == nil || typ == "" || o.parameters == nil {
		return
	}
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.SQLVal:
		if t, ok := o.parameter(e); ok && o.parameters[t.Parameter-1] == "" {
			o.parameters[t.Parameter-1] = typ
		}
	case *sqlparser.CaseExpr:
		for _, r := range results(e) {
			o.expect(r, typ)
		}
	case *sqlparser.FuncExpr:
		name, _ := o.calledFunction(e)
		args := argumentsOf(e)
		switch {
		case name == "iif" && len(args) == 3:
			args = args[1:]
		case specials[name] == 0 && (name != "min" && name != "max" || len(args) == 1):
			return
		}
		for _, a := range args {
			o.expect(a, typ)
		}
	}
}

// parameter returns the token of a parameter. It is false for any other literal.
func (b *binder) parameter(v *sqlparser.SQLVal) (syntax.Token, bool) {
	t, ok := b.g.Token(string(v.Val))
	return t, ok && v.Type == sqlparser.ValArg && t.Kind == syntax.KindParameter
}

// results returns the results of a CASE.
func results(e *sqlparser.CaseExpr) []sqlparser.Expr {
	var all []sqlparser.Expr
	for _, w := range e.Whens {
		all = append(all, w.Val)
	}
	if e.Else != nil {
		all = append(all, e.Else)
	}
	return all
}

// argumentsOf returns the arguments of a call that are expressions.
func argumentsOf(f *sqlparser.FuncExpr) []sqlparser.Expr {
	var args []sqlparser.Expr
	for _, x := range f.Exprs {
		if a, ok := x.(*sqlparser.AliasedExpr); ok {
			args = append(args, a.Expr)
		}
	}
	return args
}

// common returns the type of a value that is one of several. Each expects the type of the
// others.
func (o *outputs) common(all ...sqlparser.Expr) query.SQLType {
	typ := query.SQLType("")
	for _, e := range all {
		typ = commonSQLType(typ, o.typeOf(e))
	}
	for _, e := range all {
		o.expect(e, typ)
	}
	return typ
}

// widths are the types of numbers, the wider the larger.
var widths = map[query.SQLType]int{query.SQLBool: 1, query.SQLInt8: 2, query.SQLNumeric: 3, query.SQLFloat8: 4}

// commonSQLType returns the type of values of two types.
func commonSQLType(a, b query.SQLType) query.SQLType {
	switch {
	case a == b || b == "":
		return a
	case a == "":
		return b
	case widths[a] > 0 && widths[b] > 0:
		return widerOf(a, b)
	case isTime(a) && isTime(b):
		return query.SQLTimestamp
	}
	return query.SQLText
}

func widerOf(a, b query.SQLType) query.SQLType {
	if widths[a] < widths[b] {
		return b
	}
	return a
}

// typeOf returns the type of an expression.
func (o *outputs) typeOf(e sqlparser.Expr) query.SQLType {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ColName:
		return o.typeOfName(e)
	case *sqlparser.SQLVal:
		return o.typeOfLiteral(e)
	case *sqlparser.UnaryExpr:
		o.expect(e.Expr, query.SQLFloat8) // as in PostgreSQL
		return cmp.Or(o.typeOfNumber(e.Expr), query.SQLFloat8)
	case *sqlparser.BinaryExpr:
		return o.typeOfArithmetic(e)
	case *sqlparser.CaseExpr:
		return o.typeOfCase(e)
	case *sqlparser.FuncExpr:
		f, condition := syntax.Filter(e)
		if condition != nil {
			o.typeCondition(condition)
		}
		name, _ := o.calledFunction(f)
		return o.typeOfCall(name, f, argumentsOf(f))
	case *sqlparser.ComparisonExpr:
		o.typeOfComparison(e)
		return query.SQLBool
	case *sqlparser.RangeCond:
		o.common(e.Left, e.From, e.To)
		return query.SQLBool
	case *sqlparser.IsExpr:
		if typ := o.typeOf(e.Expr); typ == "" && e.Operator != sqlparser.IsNullStr && e.Operator != sqlparser.IsNotNullStr {
			o.expect(e.Expr, query.SQLBool)
		}
		return query.SQLBool
	case *sqlparser.NotExpr:
		o.typeCondition(e.Expr)
		return query.SQLBool
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		_, and := e.(*sqlparser.AndExpr)
		for _, part := range flatten(e, and) {
			o.typeCondition(part)
		}
		return query.SQLBool
	case sqlparser.ValTuple:
		for _, x := range e {
			o.typeOf(x)
		}
	}
	return ""
}

// typeCondition finds the types of a condition's parameters.
func (o *outputs) typeCondition(e sqlparser.Expr) {
	o.typeOf(e)
	o.expect(e, query.SQLBool)
}

// typeOfName returns the type of a column, of an alias, or of CURRENT_DATE.
func (o *outputs) typeOfName(e *sqlparser.ColName) query.SQLType {
	if k, ok := o.clockWord(e); ok {
		return timeType(k.time)
	}
	t, ok := o.g.Token(e.Name.String())
	qualifier, err := o.qualifier(e.Qualifier)
	if !ok || err != nil {
		return ""
	}
	columns := o.scope.columnsNamed(qualifier, t.Value)
	if len(columns) == 0 && qualifier == "" {
		return o.typeOfEntry(func(it syntax.ListItem) bool { return it.Alias != "" && query.SameName(it.Alias, t.Value) })
	}
	if len(columns) != 1 || columns[0] == notBound {
		return ""
	}
	return o.typeOfColumn(columns[0])
}

// timeType returns the type of a date or of a moment.
func timeType(t temporal) query.SQLType {
	switch t {
	case isDay:
		return query.SQLDate
	case isMoment:
		return query.SQLTimestamp
	}
	return query.SQLText
}

func (b *binder) typeOfColumn(column int) query.SQLType {
	if b.joins.steps(column) != nil {
		return query.SQLFloat8
	}
	return b.u.Columns()[column].SQLType()
}

// typeOfEntry returns the type of the first entry of the select list that is meant. No entry
// refers to one that refers to another.
func (o *outputs) typeOfEntry(meant func(syntax.ListItem) bool) query.SQLType {
	if o.typing {
		return ""
	}
	o.typing = true
	defer func() { o.typing = false }()
	for _, it := range o.s.List {
		if it.Expr != nil && meant(it) {
			return o.typeOf(it.Expr)
		}
	}
	return ""
}

func (o *outputs) typeOfLiteral(v *sqlparser.SQLVal) query.SQLType {
	t, ok := o.g.Token(string(v.Val))
	if !ok {
		return ""
	}
	switch t.Kind {
	case syntax.KindString:
		return query.SQLText
	case syntax.KindParameter:
		if o.parameters != nil {
			return o.parameters[t.Parameter-1]
		}
	case syntax.KindInteger, syntax.KindDecimal:
		if k, err := (constant{source: t}).number(t.Text); err == nil && k.real == nil {
			return query.SQLInt8
		}
		return query.SQLFloat8
	case syntax.KindWord:
		if columns := o.scope.columnsNamed("", t.Value); len(columns) == 1 && columns[0] != notBound && t.Upper != "NULL" {
			return o.typeOfColumn(columns[0])
		}
		if t.Upper == "TRUE" || t.Upper == "FALSE" {
			return query.SQLBool
		}
	}
	return ""
}

// typeOfNumber returns the type of an operand of arithmetic: TRUE is 1 there.
func (o *outputs) typeOfNumber(e sqlparser.Expr) query.SQLType {
	if typ := o.typeOf(e); typ != query.SQLBool {
		return typ
	}
	return query.SQLInt8
}

// typeOfArithmetic returns the type of x + y and the like. The days between two dates are an
// integer, and a date plus days is a date. As in PostgreSQL, a parameter beside a date is one.
func (o *outputs) typeOfArithmetic(e *sqlparser.BinaryExpr) query.SQLType {
	x, y := o.typeOfNumber(e.Left), o.typeOfNumber(e.Right)
	switch {
	case e.Operator == sqlparser.MinusStr && x == query.SQLDate && widths[y] == 0:
		o.expect(e.Right, query.SQLDate)
		return query.SQLInt8
	case e.Operator == sqlparser.MinusStr && y == query.SQLDate:
		o.expect(e.Left, query.SQLDate)
		return query.SQLInt8
	case x == query.SQLDate || y == query.SQLDate:
		o.expect(e.Left, query.SQLInt8)
		o.expect(e.Right, query.SQLInt8)
		return query.SQLDate
	case bitOperators[e.Operator]:
		x, y = query.SQLInt8, query.SQLInt8
	}
	typ := widerOf(cmp.Or(x, y, query.SQLInt8), cmp.Or(y, x, query.SQLInt8))
	if widths[typ] == 0 {
		typ = query.SQLInt8
	}
	if typ == query.SQLNumeric && (x == "" || y == "") {
		o.expect(e.Left, query.SQLNumeric)
		o.expect(e.Right, query.SQLNumeric)
	}
	o.expect(e.Left, typ)
	o.expect(e.Right, typ)
	return typ
}

func (o *outputs) typeOfCase(e *sqlparser.CaseExpr) query.SQLType {
	for _, w := range e.Whens {
		if e.Expr != nil {
			o.common(e.Expr, w.Cond)
		} else {
			o.typeCondition(w.Cond)
		}
	}
	return o.common(results(e)...)
}

// typeOfComparison finds the types of a comparison's parameters.
func (o *outputs) typeOfComparison(e *sqlparser.ComparisonExpr) {
	switch e.Operator {
	case sqlparser.LikeStr, sqlparser.NotLikeStr, syntax.OperatorGlob, syntax.OperatorNotGlob:
		for _, x := range []sqlparser.Expr{e.Left, e.Right, e.Escape} {
			if x != nil {
				o.typeOf(x)
				o.expect(x, query.SQLText)
			}
		}
		return
	}
	o.compared(e.Left, e.Right)
}

// compared finds the types of the parameters in values that are compared: of two, of two rows,
// of one with a list, or of a row with a list of rows.
func (o *outputs) compared(left, right sqlparser.Expr) {
	x, y := syntax.Unwrap(left), syntax.Unwrap(right)
	list, isList := y.(sqlparser.ValTuple)
	row, isRow := x.(sqlparser.ValTuple)
	switch {
	case !isList && !isRow:
		if _, public := y.(*sqlparser.Subquery); public {
			o.typeOf(x)
			return
		}
		o.common(x, y)
	case !isRow:
		o.common(append([]sqlparser.Expr{x}, list...)...)
	case isList:
		for i, e := range list {
			if _, rows := syntax.Unwrap(e).(sqlparser.ValTuple); rows {
				o.compared(row, e)
			} else if i < len(row) {
				o.common(row[i], e)
			}
		}
	}
}

// typeOfCall returns the type of a call, by its lower-case name.
func (o *outputs) typeOfCall(name string, f *sqlparser.FuncExpr, args []sqlparser.Expr) query.SQLType {
	switch {
	case specials[name] > 0 || (name == "min" || name == "max") && len(args) > 1:
		return o.typeOfSpecial(name, args)
	case isMeasure(name) && len(args) == 1:
		return o.typeOfMeasure(name, args[0])
	}
	types := make([]query.SQLType, len(args))
	for i, a := range args {
		types[i] = o.typeOf(a)
	}
	first := query.SQLType("")
	if len(args) > 0 {
		first = types[0]
	}
	expect := func(from int, typ query.SQLType) {
		for i := from; i < len(args); i++ {
			o.expect(args[i], typ)
		}
	}
	switch name {
	case "count", "regr_count", "grouping", "grouping_id":
		return query.SQLInt8
	case "length":
		expect(0, query.SQLText)
		return query.SQLInt8
	case "unixepoch", "julianday", "datetime", "date", "time":
		if expect(1, query.SQLText); len(args) > 0 {
			o.expect(args[0], timeArguments[name])
		}
		return timeResults[name]
	case "strftime":
		if expect(2, query.SQLText); len(args) > 1 {
			o.expect(args[0], query.SQLText)
			o.expect(args[1], query.SQLTimestamp)
		}
		return query.SQLText
	case "lower", "upper":
		expect(0, query.SQLText)
		return query.SQLText
	case "substr", "substring":
		if expect(1, query.SQLInt8); len(args) > 0 {
			o.expect(args[0], query.SQLText)
		}
		return query.SQLText
	case "cast":
		return o.typeOfCast(f)
	case "sum", "abs":
		expect(0, query.SQLInt8)
		return widerOf(query.SQLInt8, first)
	case "median", "percentile_cont":
		expect(1, query.SQLFloat8)
		if isTime(first) {
			return first
		}
		return query.SQLFloat8
	case "quantile", "percentile_disc", "min", "max":
		expect(1, query.SQLFloat8)
		return cmp.Or(first, query.SQLText)
	case "round":
		expect(1, query.SQLInt8)
		if first == "" && len(args) > 0 {
			o.expect(args[0], query.SQLFloat8)
		}
		return query.SQLFloat8
	}
	if isOwn(name) {
		return query.SQLFloat8
	}
	return ""
}

// What functions of dates take and give.
var (
	timeArguments = map[string]query.SQLType{"date": query.SQLDate, "datetime": query.SQLTimestamp, "time": query.SQLTimestamp,
		"unixepoch": query.SQLTimestamp, "julianday": query.SQLTimestamp}
	timeResults = map[string]query.SQLType{"date": query.SQLDate, "datetime": query.SQLTimestamp, "time": query.SQLText,
		"unixepoch": query.SQLInt8, "julianday": query.SQLFloat8}
)

func (o *outputs) typeOfSpecial(name string, args []sqlparser.Expr) query.SQLType {
	switch {
	case name == "iif" && len(args) == 3:
		o.typeCondition(args[0])
		return o.common(args[1:]...)
	case name == "nullif" && len(args) == 2:
		x, y := o.typeOf(args[0]), o.typeOf(args[1])
		o.expect(args[0], y)
		o.expect(args[1], x)
		return cmp.Or(x, y)
	}
	return o.common(args...)
}

// typeOfMeasure returns the type of MARGIN, LOW or HIGH. The margin of a date is a number of
// days, and the ends of its interval are dates.
func (o *outputs) typeOfMeasure(name string, arg sqlparser.Expr) query.SQLType {
	typ := query.SQLType("")
	if alias, ok := o.bareName(arg); ok {
		typ = o.typeOfEntry(func(it syntax.ListItem) bool { return query.SameName(o.heading(it), alias) })
	} else {
		typ = o.typeOf(arg)
	}
	if name != "margin" && (isTime(typ)) {
		return typ
	}
	return query.SQLFloat8
}

func (o *outputs) typeOfCast(f *sqlparser.FuncExpr) query.SQLType {
	if len(f.Exprs) != 1 {
		return ""
	}
	arg, ok := f.Exprs[0].(*sqlparser.AliasedExpr)
	if !ok {
		return ""
	}
	typ := query.SQLText
	if t, _ := o.g.Token(arg.As.String()); t.Upper == "INTEGER" {
		typ = query.SQLInt8
	}
	o.expect(arg.Expr, typ)
	return typ
}
