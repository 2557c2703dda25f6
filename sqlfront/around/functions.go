package around

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"dpsql/internal/calendar"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// functions are the functions that a statement may call, in lower case. None reads anything but its
// arguments and the clock, and none makes a text that is longer than SQLite's own limit. Those of
// types.Shared are among them. Not here,
// among others: random and randomblob, so that a statement has one result; zeroblob;
// load_extension; and everything about the connection, its files, or the compiled library.
var functions = sync.OnceValue(func() types.Functions {
	all := types.Shared()
	text, integer, real := []types.Type{query.SQLText}, []types.Type{query.SQLInt8}, []types.Type{query.SQLFloat8}
	all.Add(types.Function{Args: text, Value: query.SQLText}, "current_time strftime timediff group_concat string_agg")
	all.Add(types.Function{Args: text, Value: query.SQLInt8}, "unixepoch count dense_rank ntile rank row_number")
	all.Add(types.Function{Args: text, Value: query.SQLTime}, "time")
	all.Add(types.Function{Args: text, Value: query.SQLDate}, "current_date date")
	all.Add(types.Function{Args: text, Value: query.SQLTimestamp}, "current_timestamp datetime")
	all.Add(types.Function{Args: text, Value: query.SQLFloat8}, "julianday")
	all.Add(types.Function{Args: real, Value: query.SQLFloat8}, "avg total cume_dist percent_rank")
	all.Add(types.Function{Args: integer, Result: sum}, "sum")
	all.Add(types.Function{Args: []types.Type{query.SQLText, query.SQLInt8}, Result: types.First}, "lag lead nth_value")
	all.Add(types.Function{Args: text, Result: types.First}, "first_value last_value")
	return all
})

var ofRows = sync.OnceValue(types.OfRows)

// sum returns the type of a SUM. That of NULLs alone is not known.
func sum(args []types.Type) types.Type {
	if t := types.First(args); t == types.Null {
		return types.Unknown
	}
	return types.Number(args)
}

// check refuses what SQLite would compute otherwise than people mean it, and what does not run.
func (w *walker) check(e syntax.Expr, operands ...types.Type) {
	switch e := e.(type) {
	case *syntax.Unary:
		if e.Op == "-" || e.Op == "~" {
			w.refuseMoments(e.Pos(), operands)
		}
	case *syntax.Binary:
		w.checkBinary(e, operands)
	case *syntax.Between:
		w.checkCompared(e.Operator, e.X, operands)
	case *syntax.In:
	case *syntax.Call:
		w.checkCall(e, operands)
	default:
		w.refuse(w.statement.first().Unsupported("this form of expression"))
	}
}

func (w *walker) checkBinary(e *syntax.Binary, operands []types.Type) {
	switch _, listed := types.SQLite[e.Op]; {
	case e.Op == "->" || e.Op == "->>":
		w.refuse(syntax.Token{Position: e.Operator}.Unsupported("an operator on JSON"))
	case slices.Contains([]string{"+", "-", "*", "/", "%"}, e.Op):
		if isMoment(e.X) || isMoment(e.Y) {
			operands = []types.Type{query.SQLTimestamp}
		}
		w.refuseMoments(e.Operator, operands)
	case !listed && e.Op != "IS" && e.Op != "IS DISTINCT FROM":
		w.checkCompared(e.Operator, e.X, operands)
	}
}

// isMoment reports whether an expression is a date or a moment that is written out.
func isMoment(e syntax.Expr) bool {
	l, ok := syntax.Inside(e).(*syntax.Literal)
	if !ok || !types.IsText(l) {
		return false
	}
	_, _, ok = calendar.ReadMoment(l.Value)
	return ok
}

// checkCompared refuses to compare the first of several values, which is x, with another, a date with a
// number. A text that is written out may be either, and so is what it is compared with first.
func (w *walker) checkCompared(operator int, x syntax.Expr, operands []types.Type) {
	first := operands[0]
	if types.IsText(x) {
		first = types.Unknown
	}
	for _, t := range operands[1:] {
		if types.IsTime(first) && types.IsNumber(t) || types.IsTime(t) && types.IsNumber(first) {
			w.refuse(sqlerr.New(sqlerr.Invalid, "a date is compared with a number").
				WithHint("write the date in single quotes: '2024-12-31'").At(operator))
		}
		if types.IsTime(first) && types.IsTime(t) && (first == query.SQLTime) != (t == query.SQLTime) {
			w.refuse(sqlerr.New(sqlerr.Invalid, "a time of day is compared with a date, which is never equal").
				WithHint("compare it with a time, as '09:27'").At(operator))
		}
		if !types.Known(first) {
			first = t
		}
	}
}

func (w *walker) checkCall(e *syntax.Call, args []types.Type) {
	name := types.Name(e)
	if _, ok := functions()[name]; !ok {
		w.refuse(refusedFunction(lastOf(e.Path), w.statement.about()))
	}
	switch name {
	case "sum", "avg", "total", "abs", "round", "sign":
		w.refuseMoments(e.Pos(), args)
	case "date", "datetime", "julianday", "strftime", "time", "unixepoch":
		if slices.Contains(args, query.SQLTime) && !e.OfClock() {
			w.refuse(syntax.ErrClock(syntax.Token{Position: e.Pos()}))
		}
	}
}

// refuseMoments refuses to compute with dates, at a place. To SQLite they are the numbers that
// their texts begin with: a day after 2024-03-01 would be 2025.
func (w *walker) refuseMoments(position int, operands []types.Type) {
	if slices.ContainsFunc(operands, types.MayBeTime) {
		w.refuse(syntax.Token{Position: position}.Unsupported("computing with a date, which is a text around aggregates,").
			WithHint("write date(x, '+1 day') for a later date, and julianday(x) - julianday(y) for the days between two"))
	}
}

// refusedFunction returns the error for a function that is not on the list.
func refusedFunction(name syntax.Ident, about string) *sqlerr.Error {
	err := at(name).Unsupported("the function " + syntax.Excerpt(name.Text, 40) + " in " + about)
	if upper := strings.ToUpper(name.Text); upper == "MARGIN" || upper == "LOW" || upper == "HIGH" {
		return err.WithHint("it stands where its aggregate does: SELECT COUNT(*) AS n, %s(n) AS m FROM …", upper)
	}
	if near := sqlerr.Closest(name.Text, maps.Keys(functions())); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("docs/sql/public.md lists the functions")
}
