package sqlfront

import (
	"sort"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/sqlerr"
)

// Evaluator is a Table that has SQLite compute functions of public values: those of a column's
// domain. A row meets the results alone, so its database need not have the function.
type Evaluator interface {
	// Evaluate returns what a function makes of each row of arguments. These are int64, float64,
	// string or nil, and so are the results. The function is one of types.Evaluated. The error is
	// for the user.
	Evaluate(function string, rows [][]any) ([]any, error)
}

// maxEvaluated bounds the values of a column of which SQLite computes a function.
const maxEvaluated = 1_000_000

// evaluated compiles a call of a function that SQLite computes: for all values of the one column
// that its arguments name. Of a column without a domain these are the values that it is pinned to.
func (b *binder) evaluated(name string, e *sqlparser.FuncExpr, args []*expr) (*expr, error) {
	at, _ := b.g.Token(e.Name.String())
	what := called(name)
	columns := make(map[int]bool)
	for _, x := range args {
		x.addColumns(columns)
	}
	column := -1
	for column = range columns {
	}
	x, err := (*expr)(nil), error(nil)
	switch {
	case len(columns) > 1:
		return nil, at.Unsupported(what + " of several columns").
			WithHint("it takes one column, and constants; groups by several need no joined text: GROUP BY x, y; || is no OR")
	case column < 0 || !b.domain(column).Finite():
		x = apply(valueOperation(what, constantBounds(anything), func(values []scalar) scalar { return b.evaluatedAt(name, values) }), args...)
	case b.domain(column).Size() > maxEvaluated:
		return nil, at.Unsupported(what + " of a column with more than 1000000 values").
			WithHint("FLOOR, CEIL, ROUND, TRUNC, / and date_trunc take columns of any length: bin it first")
	default:
		t, err := b.tabulated(name, column, args)
		if err != nil {
			return nil, b.placedAt(err, e)
		}
		x = apply(valueOperation(what, t.between, t.at), b.columnExpr(column))
	}
	x.derived, x.others = !x.isConstant() && !x.full.isNumber(), nil
	return x, err
}

func called(name string) string {
	if name == "||" {
		return "the operator ||"
	}
	return "the function " + name + "()"
}

// addColumns adds the columns that an expression depends on.
func (x *expr) addColumns(to map[int]bool) {
	if x.column >= 0 {
		to[x.column] = true
	}
	for _, a := range x.args {
		a.addColumns(to)
	}
	for _, t := range x.terms {
		t.x.addColumns(to)
	}
}

// evaluate has SQLite compute a function.
func (b *binder) evaluate(name string, rows [][]any) ([]any, error) {
	t, ok := b.table.(Evaluator)
	if !ok {
		return nil, sqlerr.New(sqlerr.Unsupported, "%s is outside the dialect", called(name)).WithHint(binHint)
	}
	return t.Evaluate(name, rows)
}

// evaluatedAt returns a function of values.
func (b *binder) evaluatedAt(name string, values []scalar) scalar {
	row := make([]any, len(values))
	for i, v := range values {
		row[i] = v.value.Any()
	}
	out, err := b.evaluate(name, [][]any{row})
	if err != nil {
		return refused(called(name) + " of this value")
	}
	return scalar{value: sqlvalue.FromAny(out[0])}
}

// tabulated is a function of a column, by the runs of values with one result. NULL has a run of its own.
type tabulated struct {
	from []scalar // the first value of each run, ascending
	to   []scalar // its result
	all  bounds   // of the results
}

// tabulated computes a function of each value of a column.
func (b *binder) tabulated(name string, column int, args []*expr) (*tabulated, error) {
	c := b.u.Columns()[column]
	programs := make([]*program, len(args))
	for i, x := range args {
		programs[i] = b.program(x)
	}
	t, rows, starts := new(tabulated), [][]any(nil), []uint64(nil)
	for o := range c.Domain.Size() {
		if err := b.countSteps(1 + len(args)); err != nil {
			return nil, err
		}
		v := boundsOf(c, o, o)
		row, same := make([]any, len(args)), len(rows) > 0 && o > 1 // 0 may be NULL
		for i, p := range programs {
			x := p.now[p.result]
			if len(p.levels) > 0 {
				p.now[p.levels[0].step] = v
				x = p.evaluate(&p.levels[0])
			}
			if x.undefined() {
				return nil, b.undefined(x.lo)
			}
			row[i] = x.lo.value.Any()
			same = same && row[i] == rows[len(rows)-1][i]
		}
		if !same {
			rows, starts = append(rows, row), append(starts, o)
		}
	}
	results, err := b.evaluate(name, rows)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		y := scalar{value: sqlvalue.FromAny(r)}
		switch n := len(t.to); {
		case n == 0:
			t.all = exactly(y)
		case n > 1 && t.to[n-1] == y:
			continue
		default:
			t.all = t.all.hull(exactly(y))
		}
		t.from, t.to = append(t.from, boundsOf(c, starts[i], starts[i]).lo), append(t.to, y)
	}
	return t, nil
}

// run returns the run of a value.
func (t *tabulated) run(x scalar) int {
	return sort.Search(len(t.from), func(i int) bool { return t.from[i].compare(x) > 0 }) - 1
}

func (t *tabulated) at(values []scalar) scalar { return t.to[t.run(values[0])] }

// between bounds the results for a range of values.
func (t *tabulated) between(args []bounds) bounds {
	x := args[0]
	if i := t.run(x.lo); !x.null && i >= 0 && i == t.run(x.hi) {
		return exactly(t.to[i])
	}
	return t.all
}
