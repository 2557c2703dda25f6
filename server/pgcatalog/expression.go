package pgcatalog

import (
	"fmt"
	"math"
	"strings"

	"dpsql/sqlerr"
)

// fault is what fail throws. The package's own functions catch it: the parser, the binder and
// the program call themselves so deep that an error handed back by each would be most of their
// text.
type fault struct{ err error }

func fail(err error) { panic(fault{err}) }

func unsupported(at int, format string, args ...any) {
	fail(sqlerr.New(sqlerr.Unsupported, "%s is outside the catalog's dialect", fmt.Sprintf(format, args...)).At(at))
}

// caught returns the error of a fault. Any other panic would be a bug: it ends the statement
// and not the server.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case fault:
		*err = p.err
	default:
		*err = sqlerr.New(sqlerr.Internal, "the catalog failed on a statement: %v", p)
	}
}

// expr binds a node.
func (b *binder) expr(s *scope, n node) expr {
	b.nodes++
	switch n := n.(type) {
	case enclosed:
		return b.expr(s, n.node)
	case constant:
		return b.constant(n)
	case argument:
		for len(b.parameters) < n.number {
			b.parameters = append(b.parameters, 0)
		}
		return b.argument(n.number)
	case column:
		return b.column(s, n)
	case call:
		return b.call(s, n)
	case operation:
		return b.operation(s, n)
	case logic:
		return b.logic(s, n)
	case cast:
		return b.cast(s, n)
	case caseOf:
		return b.caseOf(s, n)
	case test:
		return b.test(s, n)
	case between:
		x, hold := b.held(b.expr(s, n.node))
		low := b.operated(x, ">=", b.expr(s, n.low), n.at())
		high := b.operated(x, "<=", b.expr(s, n.high), n.at())
		return negatedIf(n.not, expr{typ: boolOID, eval: hold(both(low.eval, high.eval))})
	case in:
		return negatedIf(n.not, b.in(s, n))
	case quantified:
		return b.quantified(s, n)
	case subquery:
		return b.subquery(s, n)
	case arrayOf:
		return b.arrayOf(s, n)
	case index:
		return b.index(s, n)
	case field:
		return b.field(s, n)
	case rowOf:
		return b.rowOf(s, n)
	case distinctFrom:
		l, r := b.matched(b.expr(s, n.left), b.expr(s, n.right), "=", n.at())
		return expr{typ: boolOID, eval: func(f *frame) any { return (compareNulls(l.eval(f), r.eval(f), false) != 0) != n.not }}
	case star:
		fail(sqlerr.New(sqlerr.Malformed, "syntax error at or near \"*\"").At(n.at()))
	}
	fail(sqlerr.New(sqlerr.Internal, "the catalog cannot bind %T", n))
	return expr{}
}

func (b *binder) constant(n constant) expr {
	switch v := n.value.(type) {
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
	return always(numericOID, n.value)
}

func (b *binder) logic(s *scope, n logic) expr {
	evals := make([]func(*frame) any, len(n.operands))
	for i, o := range n.operands {
		evals[i] = b.condition(s, o, strings.ToUpper(n.operator))
	}
	switch n.operator {
	case "not":
		return expr{typ: boolOID, eval: not(evals[0])}
	case "and":
		return expr{typ: boolOID, eval: both(evals...)}
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

// both is AND.
func both(evals ...func(*frame) any) func(*frame) any {
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

func not(eval func(*frame) any) func(*frame) any {
	return func(f *frame) any {
		if v, ok := eval(f).(bool); ok {
			return !v
		}
		return nil
	}
}

func negatedIf(yes bool, e expr) expr {
	if yes {
		e.eval = not(e.eval)
	}
	return e
}

func (b *binder) cast(s *scope, n cast) expr {
	t := n.target.resolve()
	e := b.expr(s, n.node)
	if a, ok := n.node.(arrayOf); ok && len(a.items) == 0 {
		return always(t, &array{lower: 1})
	}
	e = b.converted(e, t, n.at())
	if len(n.target.modifiers) == 1 && (t == varcharOID || t == bpcharOID) {
		if c, ok := n.target.modifiers[0].(constant); ok {
			if length, ok := c.value.(int64); ok && length > 0 {
				eval := e.eval
				e.eval = func(f *frame) any {
					v := eval(f)
					if s, ok := v.(string); ok && int64(len(s)) > length {
						if r := []rune(s); int64(len(r)) > length {
							return string(r[:length])
						}
					}
					return v
				}
			}
		}
	}
	e.isColumn = false
	return e
}

func (b *binder) caseOf(s *scope, n caseOf) expr {
	when := make([]func(*frame) any, len(n.when))
	var x expr
	hold := func(eval func(*frame) any) func(*frame) any { return eval }
	if n.operand != nil {
		x, hold = b.held(b.expr(s, n.operand))
	}
	for i, w := range n.when {
		if n.operand == nil {
			when[i] = b.condition(s, w, "CASE/WHEN")
		} else {
			when[i] = b.operated(x, "=", b.expr(s, w), w.at()).eval
		}
	}
	results := make([]expr, 0, len(n.then)+1)
	if n.otherwise != nil { // PostgreSQL takes the type of ELSE first
		results = append(results, b.expr(s, n.otherwise))
	} else {
		results = append(results, b.constant(constant{}))
	}
	for _, t := range n.then {
		results = append(results, b.expr(s, t))
	}
	t := b.alike(results, "CASE", n.at())
	return expr{typ: t, fields: results[len(results)-1].fields, eval: hold(func(f *frame) any {
		for i, w := range when {
			if w(f) == true {
				return results[i+1].eval(f)
			}
		}
		return results[0].eval(f)
	})}
}

func (b *binder) test(s *scope, n test) expr {
	e := b.expr(s, n.node)
	if n.is == "null" {
		e = b.settled(e)
		return expr{typ: boolOID, eval: func(f *frame) any { return (e.eval(f) == nil) != n.not }}
	}
	eval := b.boolean(e, "IS "+strings.ToUpper(n.is), n.at())
	return expr{typ: boolOID, eval: func(f *frame) any {
		v := eval(f)
		switch n.is {
		case "true":
			return (v == true) != n.not
		case "false":
			return (v == false) != n.not
		}
		return (v == nil) != n.not
	}}
}

func (b *binder) in(s *scope, n in) expr {
	if n.query != nil {
		return b.anyOf(s, n.node, "=", n.query, false, n.at())
	}
	x, hold := b.held(b.expr(s, n.node))
	evals := make([]func(*frame) any, len(n.list))
	for i, item := range n.list {
		evals[i] = not(b.operated(x, "=", b.expr(s, item), item.at()).eval)
	}
	return expr{typ: boolOID, eval: hold(not(both(evals...)))}
}

func (b *binder) quantified(s *scope, n quantified) expr {
	if n.query != nil {
		return b.anyOf(s, n.node, n.operator, n.query, n.all, n.at())
	}
	left, list := b.expr(s, n.node), b.expr(s, n.array)
	if list.untyped {
		if left.untyped {
			left = b.settled(left)
		}
		list = b.typed(list, arrayOfType(baseOf(left.typ)))
	}
	element := elementOf(list.typ)
	if element == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "op ANY/ALL (array) requires array on right side").At(n.at()))
	}
	return b.anyOfValues(left, n.operator, element, n.all, n.at(), func(f *frame) ([]any, bool) {
		a, ok := list.eval(f).(*array)
		if !ok {
			return nil, false
		}
		return a.elements, true
	})
}

// anyOf is x operator ANY (SELECT …).
func (b *binder) anyOf(s *scope, left node, operator string, q *query, all bool, at int) expr {
	p := b.nested(s, q)
	var row expr
	element := uint32(recordOID)
	if r, ok := unwrapped(left).(rowOf); ok {
		if len(p.columns) != len(r.items) {
			fail(sqlerr.New(sqlerr.Invalid, "subquery has %d columns, and the row before it %d", len(p.columns), len(r.items)).At(at))
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

func unwrapped(n node) node {
	for {
		e, ok := n.(enclosed)
		if !ok {
			return n
		}
		n = e.node
	}
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

// slot returns a place of a run for a value.
func (b *binder) slot() int {
	b.slots++
	return b.slots - 1
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

func (b *binder) subquery(s *scope, n subquery) expr {
	p := b.nested(s, n.query)
	if n.kind == "exists" {
		return expr{typ: boolOID, eval: func(f *frame) any {
			if !p.correlated {
				return len(p.collect(f)) > 0
			}
			found := false
			p.each(f, func([]any) bool { found = true; return false })
			return found
		}}
	}
	if len(p.columns) != 1 {
		fail(sqlerr.New(sqlerr.Invalid, "subquery must return only one column").At(n.at()))
	}
	col := p.columns[0]
	if n.kind == "array" {
		t := arrayOfType(col.typ)
		if t == 0 {
			unsupported(n.at(), "an array of %s", b.catalog.typeTitle(col.typ))
		}
		return expr{typ: t, eval: func(f *frame) any {
			a := &array{lower: 1}
			for _, row := range p.collect(f) {
				a.elements = append(a.elements, row[0])
			}
			return a
		}}
	}
	return expr{typ: col.typ, fields: col.fields, eval: func(f *frame) any {
		rows := p.collect(f)
		switch len(rows) {
		case 0:
			return nil
		case 1:
			return rows[0][0]
		}
		fail(sqlerr.New(sqlerr.Invalid, "more than one row returned by a subquery used as an expression").At(n.at()))
		return nil
	}}
}

func (b *binder) arrayOf(s *scope, n arrayOf) expr {
	items := make([]expr, len(n.items))
	for i, item := range n.items {
		items[i] = b.expr(s, item)
	}
	if len(items) == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "cannot determine type of empty array").WithHint("write ARRAY[]::text[]").At(n.at()))
	}
	t := arrayOfType(b.alike(items, "ARRAY", n.at()))
	if t == 0 {
		unsupported(n.at(), "an array of %s", b.catalog.typeTitle(items[0].typ))
	}
	return expr{typ: t, eval: func(f *frame) any {
		a := &array{make([]any, len(items)), 1}
		for i, e := range items {
			a.elements[i] = e.eval(f)
		}
		return a
	}}
}

func (b *binder) index(s *scope, n index) expr {
	list, by := b.expr(s, n.node), b.implied(b.expr(s, n.by), int4OID, n.at())
	element := elementOf(list.typ)
	if element == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "cannot subscript type %s because it does not support subscripting", b.catalog.typeTitle(list.typ)).At(n.at()))
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

func (b *binder) field(s *scope, n field) expr {
	e := b.expr(s, n.node)
	if e.fields == nil {
		fail(sqlerr.New(sqlerr.Invalid, "column notation .%s applied to type %s, which is not a composite type", n.name, b.catalog.typeTitle(e.typ)).At(n.at()))
	}
	for i, f := range e.fields {
		if f.name == n.name {
			return expr{typ: f.typ, fields: f.fields, eval: func(fr *frame) any {
				if r, ok := e.eval(fr).(record); ok {
					return r[i]
				}
				return nil
			}}
		}
	}
	fail(sqlerr.New(sqlerr.Unknown, "column %q not found in data type %s", n.name, b.catalog.typeTitle(e.typ)).At(n.at()))
	return expr{}
}

func (b *binder) rowOf(s *scope, n rowOf) expr {
	items := make([]expr, len(n.items))
	fields := make([]outColumn, len(items))
	for i, item := range n.items {
		items[i] = b.settled(b.expr(s, item))
		fields[i] = outColumn{name: "f" + itoa(i+1), typ: items[i].typ, fields: items[i].fields}
	}
	return expr{typ: recordOID, fields: fields, eval: func(f *frame) any {
		r := make(record, len(items))
		for i, e := range items {
			r[i] = e.eval(f)
		}
		return r
	}}
}

func (b *binder) operation(s *scope, n operation) expr {
	right := b.expr(s, n.right)
	if n.left == nil {
		if n.operator == "-" {
			if right.untyped {
				right = b.typed(right, int4OID)
			}
			return b.operated(always(right.typ, zero(right.typ)), "-", right, n.at())
		}
		unsupported(n.at(), "the prefix operator %s", n.operator)
	}
	return b.operated(b.expr(s, n.left), n.operator, right, n.at())
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
	fail(sqlerr.New(sqlerr.Unknown, "operator does not exist: %s %s %s", b.catalog.typeTitle(l), operator, b.catalog.typeTitle(r)).
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
