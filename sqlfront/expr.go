package sqlfront

import (
	"cmp"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// expr is an expression over the columns of a table, with what can be said of
// its values for all records. A sum has terms instead of operands.
type expr struct {
	of       operation // nil for a column, a constant and a sum
	args     []*expr
	terms    []term
	modulus  int64    // of a sum that matters only up to multiples of it, else 0
	mentions []string // texts that it compares a text with
	column   int      // of a column, else -1
	literal  *constant
	affinity query.Type // of a column, which converts what it is compared with, else 0
	derived  bool       // can be a text that neither the statement nor a domain lists
	size     uint64     // of a sum: no part of it is larger in magnitude
	full     bounds     // what it can be
	last     int        // the last column it depends on, -1 for none
	cost     int        // of the operation beyond that of others, in steps
}

// maxParts bounds the names, literals and operators of a statement's expressions
// that compute.
const maxParts = 5_000

// columnExpr returns a column as an expression.
func (b *binder) columnExpr(column int) *expr {
	d := b.domain(column)
	x := &expr{column: column, affinity: d.Type(), last: column, full: anyText}
	if d.Finite() {
		x.full = boundsOf(d, 0, d.Size()-1)
	}
	return x
}

// constantExpr returns a literal or an argument as an expression.
func constantExpr(k constant) *expr {
	return &expr{column: -1, literal: &k, last: -1, full: known(k.scalar())}
}

// numberExpr returns an integer as an expression.
func numberExpr(n int64) *expr { return constantExpr(constant{value: query.Int(n)}) }

// apply returns an operation on expressions. One whose result is the same for
// all records becomes a constant.
func apply(of operation, args ...*expr) *expr {
	x := &expr{of: of, args: args, column: -1, last: -1}
	full := make([]bounds, len(args))
	for i, a := range args {
		full[i] = a.full
		x.last = max(x.last, a.last)
		x.derived = x.derived || a.derived
	}
	x.full = of(full)
	if x.full.known {
		return fixed(x.full)
	}
	return x
}

// folded applies an operation on two operands to several, one after the other:
// then one value is all that has to be remembered of those passed.
func folded(of operation, args []*expr) *expr {
	x := args[0]
	for _, y := range args[1:] {
		x = apply(of, x, y)
	}
	return x
}

// junctionOf returns the AND, or the OR, of conditions, in the order of their
// columns.
func junctionOf(args []*expr, and bool) *expr {
	args = slices.Clone(args)
	slices.SortStableFunc(args, func(x, y *expr) int { return cmp.Compare(x.last, y.last) })
	if and {
		return folded(all, args)
	}
	return folded(either, args)
}

// fixed returns the expression of a known value.
func fixed(full bounds) *expr { return &expr{column: -1, last: -1, full: full} }

// isConstant reports whether the value is the same for all records.
func (x *expr) isConstant() bool { return x.last < 0 }

// effort is what compiling a statement, its sub-selects included, took so far.
type effort struct {
	parts int        // see maxParts
	steps int        // see maxSteps
	work  query.Work // of combining diagrams
}

// part notes that a part of an expression is compiled, and refuses too many.
func (b *binder) part() error {
	if b.spent.parts++; b.spent.parts > maxParts {
		return sqlerr.New(sqlerr.Unsupported, "the expressions of the statement are too long: they have more than %d parts", maxParts).
			WithHint(binHint)
	}
	return nil
}
