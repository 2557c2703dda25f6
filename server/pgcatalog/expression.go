package pgcatalog

import (
	"math"
	"strings"

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
		x, hold := b.held(b.expr(s, e.X))
		low := b.operated(x, ">=", b.expr(s, e.Low), e.Operator)
		high := b.operated(x, "<=", b.expr(s, e.High), e.Operator)
		return negatedIf(e.Not, expr{typ: boolOID, eval: hold(conjunction(low.eval, high.eval))})
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
		return expr{typ: unknownOID, untyped: true, isNull: true, eval: func(*frame) any { return nil }}
	case string:
		return expr{typ: unknownOID, untyped: true, literal: v, eval: func(*frame) any { return v }}
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
		return expr{typ: boolOID, eval: negation(b.condition(s, e.X, "NOT"))}
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

// likes are the operators that LIKE and ILIKE stand for, as PostgreSQL names them.
var likes = map[string]string{"LIKE": "~~", "ILIKE": "~~*"}

// operatorOf returns an operator as PostgreSQL names it.
func operatorOf(e *syntax.Binary) string {
	if e.Op == "!=" {
		return "<>"
	}
	name, ok := likes[e.Op]
	switch {
	case ok && e.Not:
		return "!" + name
	case ok:
		return name
	}
	return e.Op
}

// binary binds an operator between two operands.
func (b *binder) binary(s *scope, e *syntax.Binary) expr {
	switch {
	case e.Op == "AND" || e.Op == "OR":
		return b.logic(s, e)
	case e.Op == "IS DISTINCT FROM":
		l, r := b.matched(b.expr(s, e.X), b.expr(s, e.Y), "=", e.Operator)
		return expr{typ: boolOID, eval: func(f *frame) any { return (compareNulls(l.eval(f), r.eval(f), false) != 0) != e.Not }}
	case e.Quantifier != "":
		return b.quantified(s, e)
	}
	right := b.expr(s, e.Y)
	return b.operated(b.expr(s, e.X), operatorOf(e), right, e.Operator)
}

// logic binds AND and OR.
func (b *binder) logic(s *scope, e *syntax.Binary) expr {
	operands := conjoined(e)
	evals := make([]func(*frame) any, len(operands))
	for i, o := range operands {
		evals[i] = b.condition(s, o, e.Op)
	}
	if e.Op == "AND" {
		return expr{typ: boolOID, eval: conjunction(evals...)}
	}
	return expr{typ: boolOID, eval: func(f *frame) any {
		var out any = false
		for _, e := range evals {
			switch e(f) {
			case true:
				return true
			case nil:
				out = nil
			}
		}
		return out
	}}
}

// conjunction is AND.
func conjunction(evals ...func(*frame) any) func(*frame) any {
	return func(f *frame) any {
		var out any = true
		for _, e := range evals {
			switch e(f) {
			case false:
				return false
			case nil:
				out = nil
			}
		}
		return out
	}
}

func negation(eval func(*frame) any) func(*frame) any {
	return func(f *frame) any {
		if v, ok := eval(f).(bool); ok {
			return !v
		}
		return nil
	}
}

func negatedIf(yes bool, e expr) expr {
	if yes {
		e.eval = negation(e.eval)
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
				e.eval = shortened(e.eval, length)
			}
		}
	}
	e.isColumn = false
	return e
}

// shortened cuts texts to a number of characters.
func shortened(eval func(*frame) any, length int64) func(*frame) any {
	return func(f *frame) any {
		v := eval(f)
		if s, ok := v.(string); ok && int64(len(s)) > length {
			if r := []rune(s); int64(len(r)) > length {
				return string(r[:length])
			}
		}
		return v
	}
}

func (b *binder) caseOf(s *scope, e *syntax.Case) expr {
	when := make([]func(*frame) any, len(e.Whens))
	var x expr
	hold := func(eval func(*frame) any) func(*frame) any { return eval }
	if e.Of != nil {
		x, hold = b.held(b.expr(s, e.Of))
	}
	for i, w := range e.Whens {
		if e.Of == nil {
			when[i] = b.condition(s, w.If, "CASE/WHEN")
		} else {
			when[i] = b.operated(x, "=", b.expr(s, w.If), at(w.If)).eval
		}
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
	return expr{typ: t, fields: results[len(results)-1].fields, eval: hold(func(f *frame) any {
		for i, w := range when {
			if w(f) == true {
				return results[i+1].eval(f)
			}
		}
		return results[0].eval(f)
	})}
}

func (b *binder) test(s *scope, e *syntax.Test) expr {
	if e.Is == "NULL" {
		x := b.settled(b.expr(s, e.X))
		return expr{typ: boolOID, eval: func(f *frame) any { return (x.eval(f) == nil) != e.Not }}
	}
	eval := b.boolean(b.expr(s, e.X), "IS "+e.Is, e.Operator)
	return expr{typ: boolOID, eval: func(f *frame) any {
		v := eval(f)
		switch e.Is {
		case "TRUE":
			return (v == true) != e.Not
		case "FALSE":
			return (v == false) != e.Not
		}
		return (v == nil) != e.Not
	}}
}

func (b *binder) in(s *scope, e *syntax.In) expr {
	if sub, ok := e.Set.(*syntax.Subquery); ok {
		return b.anyOf(s, e.X, "=", sub.Query, false, e.Operator)
	}
	x, hold := b.held(b.expr(s, e.X))
	list := e.Set.(*syntax.Tuple).Items
	evals := make([]func(*frame) any, len(list))
	for i, item := range list {
		evals[i] = negation(b.operated(x, "=", b.expr(s, item), at(item)).eval)
	}
	return expr{typ: boolOID, eval: hold(negation(conjunction(evals...)))}
}

// quantified is x operator ANY|ALL (array or query).
func (b *binder) quantified(s *scope, e *syntax.Binary) expr {
	operator, all := operatorOf(e), e.Quantifier == "ALL"
	if sub, ok := e.Y.(*syntax.Subquery); ok {
		return b.anyOf(s, e.X, operator, sub.Query, all, e.Operator)
	}
	left, list := b.expr(s, e.X), b.expr(s, e.Y)
	if list.untyped {
		if left.untyped {
			left = b.settled(left)
		}
		list = b.typed(list, arrayOfType(baseOf(left.typ)))
	}
	element := elementOf(list.typ)
	if element == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "op ANY/ALL (array) requires array on right side").At(e.Operator))
	}
	return b.anyOfValues(left, operator, element, all, e.Operator, func(f *frame) ([]any, bool) {
		a, ok := list.eval(f).(*array)
		if !ok {
			return nil, false
		}
		return a.elements, true
	})
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
	return b.anyOfValues(row, operator, element, all, at, func(f *frame) (out []any, ok bool) {
		for _, r := range p.collect(f) {
			if element == recordOID && len(p.columns) > 1 {
				out = append(out, record(r))
			} else {
				out = append(out, r[0])
			}
		}
		return out, true
	})
}

// anyOfValues compares a value with each of a list.
func (b *binder) anyOfValues(left expr, operator string, element uint32, all bool, at int, list func(*frame) ([]any, bool)) expr {
	slot := b.slot()
	item := expr{typ: element, eval: func(f *frame) any { return f.run.slots[slot] }}
	left, hold := b.held(left)
	cmp := b.operated(left, operator, item, at).eval
	return expr{typ: boolOID, eval: hold(func(f *frame) any {
		values, ok := list(f)
		if !ok {
			return nil
		}
		var out any = all
		for _, v := range values {
			f.run.step()
			f.run.slots[slot] = v
			r := cmp(f)
			switch {
			case r == nil:
				out = nil
			case r == !all:
				return !all
			}
		}
		return out
	})}
}

// held returns an expression for one that is used several times, and the function to wrap
// around what uses it, so that the value is computed once. Otherwise the time would double
// with each level of nesting.
func (b *binder) held(e expr) (held expr, hold func(eval func(*frame) any) func(*frame) any) {
	if e.untyped {
		return e, func(eval func(*frame) any) func(*frame) any { return eval }
	}
	slot, value := b.slot(), e.eval
	e.eval = func(f *frame) any { return f.run.slots[slot] }
	e.isColumn = false
	return e, func(eval func(*frame) any) func(*frame) any {
		return func(f *frame) any {
			f.run.slots[slot] = value(f)
			return eval(f)
		}
	}
}

func (b *binder) exists(s *scope, e *syntax.Exists) expr {
	p := b.nested(s, e.Query)
	return expr{typ: boolOID, eval: func(f *frame) any {
		if !p.correlated {
			return len(p.collect(f)) > 0
		}
		found := false
		p.each(f, func([]any) bool { found = true; return false })
		return found
	}}
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
	return expr{typ: p.columns[0].typ, fields: p.columns[0].fields, eval: func(f *frame) any {
		rows := p.collect(f)
		switch len(rows) {
		case 0:
			return nil
		case 1:
			return rows[0][0]
		}
		fail(sqlerr.New(sqlerr.Invalid, "more than one row returned by a subquery used as an expression").At(e.Pos()))
		return nil
	}}
}

// arrayOfRows binds ARRAY(SELECT …).
func (b *binder) arrayOfRows(s *scope, e *syntax.Array) expr {
	p := b.oneColumn(s, e.Query, e.Pos())
	t := arrayOfType(p.columns[0].typ)
	if t == 0 {
		unsupported(e.Pos(), "an array of %s", b.catalog.typeTitle(p.columns[0].typ))
	}
	return expr{typ: t, eval: func(f *frame) any {
		a := &array{lower: 1}
		for _, row := range p.collect(f) {
			a.elements = append(a.elements, row[0])
		}
		return a
	}}
}

func (b *binder) arrayOf(s *scope, e *syntax.Array) expr {
	if e.Query != nil {
		return b.arrayOfRows(s, e)
	}
	items := make([]expr, len(e.Items))
	for i, item := range e.Items {
		items[i] = b.expr(s, item)
	}
	if len(items) == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "cannot determine type of empty array").WithHint("write ARRAY[]::text[]").At(e.Pos()))
	}
	t := arrayOfType(b.alike(items, "ARRAY", e.Pos()))
	if t == 0 {
		unsupported(e.Pos(), "an array of %s", b.catalog.typeTitle(items[0].typ))
	}
	return expr{typ: t, eval: func(f *frame) any {
		a := &array{make([]any, len(items)), 1}
		for i, e := range items {
			a.elements[i] = e.eval(f)
		}
		return a
	}}
}

func (b *binder) index(s *scope, e *syntax.Index) expr {
	list, by := b.expr(s, e.X), b.implied(b.expr(s, e.I), int4OID, e.Operator)
	element := elementOf(list.typ)
	if element == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "cannot subscript type %s because it does not support subscripting", b.catalog.typeTitle(list.typ)).At(e.Operator))
	}
	return expr{typ: element, eval: func(f *frame) any {
		a, ok := list.eval(f).(*array)
		i, known := by.eval(f).(int64)
		if i -= lowerOf(a); !ok || !known || i < 0 || i >= int64(len(a.elements)) {
			return nil
		}
		return a.elements[i]
	}}
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
			return expr{typ: f.typ, fields: f.fields, eval: func(fr *frame) any {
				if r, ok := e.eval(fr).(record); ok {
					return r[i]
				}
				return nil
			}}
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
	return expr{typ: recordOID, fields: fields, eval: func(f *frame) any {
		r := make(record, len(items))
		for i, item := range items {
			r[i] = item.eval(f)
		}
		return r
	}}
}

// matched gives the two operands of a comparison types that can be compared.
func (b *binder) matched(l, r expr, operator string, at int) (expr, expr) {
	switch {
	case l.untyped && r.untyped:
		return b.settled(l), b.settled(r)
	case l.untyped:
		return b.typed(l, r.typ), r
	case r.untyped:
		return l, b.typed(r, l.typ)
	}
	a, z := classOf(l.typ), classOf(r.typ)
	switch {
	case a == integers && z == floats, a == floats && z == integers, a == floats && z == floats, a == booleans && z == booleans,
		a == integers && z == integers, a == arrays && z == arrays && classOf(elementOf(l.typ)) == classOf(elementOf(r.typ)), a == records && z == records,
		a == textual && z == textual && (isText(l.typ) && isText(r.typ) || baseOf(l.typ) == baseOf(r.typ)):
		return l, r
	case a == integers && isReg(l.typ) && isText(r.typ):
		return l, b.converted(r, l.typ, at)
	case isReg(r.typ) && isText(l.typ):
		return b.converted(l, r.typ, at), r
	}
	b.noOperator(l.typ, operator, r.typ, at)
	return l, r
}

func (b *binder) noOperator(l uint32, operator string, r uint32, at int) {
	fail(sqlerr.New(sqlerr.Unknown, "operator does not exist: %s %s %s", b.catalog.typeTitle(l), operator, b.catalog.typeTitle(r)).Of(sqlerr.Function).
		WithHint("it may need a cast").At(at))
}

// operated applies an operator.
func (b *binder) operated(l expr, operator string, r expr, at int) expr {
	switch operator {
	case "=", "<>", "<", "<=", ">", ">=":
		l, r = b.matched(l, r, operator, at)
		return comparison(l, operator, r)
	case "~", "~*", "!~", "!~*", "~~", "!~~", "~~*", "!~~*":
		return b.pattern(l, operator, r, at)
	case "||":
		return b.concatenated(l, r, at)
	case "@>", "<@", "&&":
		return b.overlap(l, operator, r, at)
	case "+", "-", "*", "/", "%", "&", "|", "#", "<<", ">>":
		return b.arithmetic(l, operator, r, at)
	}
	unsupported(at, "the operator %s", operator)
	return expr{}
}

func comparison(l expr, operator string, r expr) expr {
	var holds func(int) bool
	switch operator {
	case "=":
		holds = func(n int) bool { return n == 0 }
	case "<>":
		holds = func(n int) bool { return n != 0 }
	case "<":
		holds = func(n int) bool { return n < 0 }
	case "<=":
		holds = func(n int) bool { return n <= 0 }
	case ">":
		holds = func(n int) bool { return n > 0 }
	default:
		holds = func(n int) bool { return n >= 0 }
	}
	return expr{typ: boolOID, eval: func(f *frame) any {
		a := l.eval(f)
		if a == nil {
			return nil
		}
		z := r.eval(f)
		if z == nil {
			return nil
		}
		if s, ok := a.(string); ok && len(s) > 256 {
			f.run.work(len(s) / 64)
		}
		return holds(compare(a, z))
	}}
}

func (b *binder) pattern(l expr, operator string, r expr, at int) expr {
	if l.untyped {
		l = b.settled(l)
	}
	if r.untyped {
		r = b.settled(r)
	}
	if !isText(l.typ) || !isText(r.typ) {
		b.noOperator(l.typ, operator, r.typ, at)
	}
	not := strings.HasPrefix(operator, "!")
	insensitive := strings.HasSuffix(operator, "*")
	like := strings.Contains(operator, "~~")
	return expr{typ: boolOID, eval: func(f *frame) any {
		s, ok := l.eval(f).(string)
		p, known := r.eval(f).(string)
		if !ok || !known {
			return nil
		}
		f.run.work(len(s))
		return f.run.pattern(p, like, insensitive).MatchString(s) != not
	}}
}

func (b *binder) concatenated(l, r expr, at int) expr {
	if elementOf(l.typ) != 0 || elementOf(r.typ) != 0 {
		return b.joinedArrays(l, r, at)
	}
	if !l.untyped && !isText(l.typ) && !r.untyped && !isText(r.typ) {
		b.noOperator(l.typ, "||", r.typ, at)
	}
	l, r = b.converted(l, textOID, at), b.converted(r, textOID, at)
	return expr{typ: textOID, eval: func(f *frame) any {
		a, ok := l.eval(f).(string)
		z, known := r.eval(f).(string)
		if !ok || !known {
			return nil
		}
		f.run.spend(len(a) + len(z))
		return a + z
	}}
}

// joinedArrays appends arrays, or an element to one.
func (b *binder) joinedArrays(l, r expr, at int) expr {
	t := l.typ
	if elementOf(t) == 0 {
		t = r.typ
	}
	// An element is a list of one, and NULL as an array is no list.
	list := func(e expr) func(*frame) *array {
		if !e.untyped && elementOf(e.typ) == 0 {
			e = b.implied(e, elementOf(t), at)
			return func(f *frame) *array { return &array{elements: []any{e.eval(f)}} }
		}
		e = b.implied(e, t, at)
		return func(f *frame) *array {
			a, _ := e.eval(f).(*array)
			return a
		}
	}
	left, right := list(l), list(r)
	return expr{typ: t, eval: func(f *frame) any {
		a, z := left(f), right(f)
		switch {
		case a == nil && z == nil:
			return nil
		case a == nil:
			return z
		case z == nil:
			return a
		}
		f.run.spend(16 * (len(a.elements) + len(z.elements)))
		return &array{append(append([]any{}, a.elements...), z.elements...), 1}
	}}
}

// overlap is containment and overlap of arrays.
func (b *binder) overlap(l expr, operator string, r expr, at int) expr {
	l, r = b.matched(l, r, operator, at)
	if elementOf(l.typ) == 0 {
		b.noOperator(l.typ, operator, r.typ, at)
	}
	if operator == "<@" {
		l, r = r, l
	}
	return expr{typ: boolOID, eval: func(f *frame) any {
		a, ok := l.eval(f).(*array)
		z, known := r.eval(f).(*array)
		if !ok || !known {
			return nil
		}
		have := make(map[any]bool, len(a.elements))
		for _, v := range a.elements {
			f.run.step()
			have[keyOf(v)] = v != nil
		}
		for _, v := range z.elements {
			f.run.step()
			if have[keyOf(v)] == (operator == "&&") {
				return operator == "&&"
			}
		}
		return operator != "&&"
	}}
}

func (b *binder) arithmetic(l expr, operator string, r expr, at int) expr {
	switch {
	case l.untyped && r.untyped:
		l, r = b.typed(l, int4OID), b.typed(r, int4OID)
	case l.untyped:
		l = b.typed(l, r.typ)
	case r.untyped:
		r = b.typed(r, l.typ)
	}
	lw, rw := widths[baseOf(l.typ)], widths[baseOf(r.typ)]
	if lw == 0 || rw == 0 {
		b.noOperator(l.typ, operator, r.typ, at)
	}
	t := baseOf(l.typ)
	if rw > lw && operator != "<<" && operator != ">>" {
		t = baseOf(r.typ)
	}
	if t == float4OID && (lw == 6 || rw == 6 || lw != rw) {
		t = float8OID
	}
	if classOf(t) == floats {
		return b.floatArithmetic(l, operator, r, t, at)
	}
	c := b.catalog
	return expr{typ: t, eval: func(f *frame) any {
		x, ok := l.eval(f).(int64)
		y, known := r.eval(f).(int64)
		if !ok || !known {
			return nil
		}
		n, fits := calculate(x, operator, y)
		if !fits {
			fail(sqlerr.New(sqlerr.Invalid, "%s out of range, or a division by zero", c.typeTitle(t)).At(at))
		}
		return c.ranged(n, t)
	}}
}

func calculate(x int64, operator string, y int64) (n int64, ok bool) {
	switch operator {
	case "+":
		n = x + y
		return n, (n > x) == (y > 0)
	case "-":
		n = x - y
		return n, (n < x) == (y > 0)
	case "*":
		if x == 0 || y == 0 {
			return 0, true
		}
		n = x * y
		return n, n/y == x && !(x == math.MinInt64 && y == -1) && !(y == math.MinInt64 && x == -1)
	case "/":
		if y == 0 || x == math.MinInt64 && y == -1 {
			return 0, false
		}
		return x / y, true
	case "%":
		if y == 0 {
			return 0, false
		}
		if y == -1 {
			return 0, true
		}
		return x % y, true
	case "&":
		return x & y, true
	case "|":
		return x | y, true
	case "#":
		return x ^ y, true
	case "<<":
		return x << uint(y&31), true
	}
	return x >> uint(y&31), true
}

func (b *binder) floatArithmetic(l expr, operator string, r expr, t uint32, at int) expr {
	if !strings.Contains("+-*/", operator) {
		b.noOperator(l.typ, operator, r.typ, at)
	}
	l, r = b.converted(l, t, at), b.converted(r, t, at)
	return expr{typ: t, eval: func(f *frame) any {
		x, ok := l.eval(f).(float64)
		y, known := r.eval(f).(float64)
		if !ok || !known {
			return nil
		}
		switch operator {
		case "+":
			return x + y
		case "-":
			return x - y
		case "*":
			return x * y
		}
		if y == 0 {
			fail(sqlerr.New(sqlerr.Invalid, "division by zero").At(at))
		}
		return x / y
	}}
}
