package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlvalue"
)

// inExpr compiles x IN (list). Of the elements' affinities none counts, only
// that of x.
func (b *binder) inExpr(e *sqlparser.ComparisonExpr) (*expr, error) {
	list, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return nil, b.unsupported(e.Right.(sqlparser.Expr))
	}
	x, err := b.expr(e.Left)
	if err != nil {
		return nil, err
	}
	var equal, constants []*expr
	for _, element := range list {
		y, err := b.element(x, element)
		switch {
		case err != nil:
			return nil, err
		case y.isConstant() && !y.full.undefined():
			constants = append(constants, y)
		default:
			equal = append(equal, compared(comparison(sqlvalue.Equal), x, y))
		}
	}
	if len(constants) > 0 {
		equal = append(equal, x.in(constants))
	}
	return junctionOf(equal, false), nil
}

// element compiles an element of a list that x is looked up in.
func (b *binder) element(x *expr, e sqlparser.Expr) (*expr, error) {
	y, err := b.expr(e)
	if err != nil {
		return nil, err
	}
	plain := *y
	plain.affinity = 0
	_, y, err = b.affine(x, &plain, e)
	return y, err
}

// in compiles x IN (constants).
func (x *expr) in(constants []*expr) *expr {
	l := &list{in: make(map[scalar]bool)}
	var mentions []string
	for _, y := range constants {
		v := y.full.lo.canonical()
		switch {
		case v.isNull():
			l.null = true
		case !l.in[v]:
			l.in[v] = true
			l.sorted = append(l.sorted, v)
			if v.isText() {
				mentions = append(mentions, v.value.Str())
			}
		}
	}
	slices.SortFunc(l.sorted, scalar.compare)
	in := apply(l.contains, x)
	in.mentions = mentions
	return in
}

// list is a list of constants.
type list struct {
	in     map[scalar]bool
	sorted []scalar
	null   bool // NULL is listed
}

// contains is IN.
func (l *list) contains(args []bounds) bounds {
	x := args[0]
	switch {
	case x.undefined() || x.isNull():
		return x
	case x.known && l.in[x.lo.canonical()]:
		return truthOf(true)
	case x.known:
		return l.missed().bounds()
	}
	t := l.missed()
	if i, _ := slices.BinarySearchFunc(l.sorted, x.lo, scalar.compare); i < len(l.sorted) && l.sorted[i].compare(x.hi) <= 0 {
		t |= canBeTrue
	}
	if x.null {
		t |= canBeUnknown
	}
	return t.bounds()
}

// missed returns what IN is for a value that is not listed.
func (l *list) missed() truths {
	if l.null {
		return canBeUnknown
	}
	return canBeFalse
}
