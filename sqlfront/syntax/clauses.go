package syntax

import (
	"slices"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// This file rewrites clauses of other systems: GROUP BY ALL, QUALIFY, generate_series, and
// conditions with regular expressions and arrays.

// selection is a SELECT's list while it is rewritten.
type selection struct {
	list  int      // where the list begins, behind DISTINCT
	items [][2]int // the first and last piece of each entry, with its alias
	from  int      // the FROM, or where the list ends
}

// selecting returns the SELECT that a piece stands in, outside its parentheses.
func (w *rewriter) selecting(i int) (s selection, ok bool) {
	depth := 0
	for i--; i >= 0; i-- {
		switch t := w.at(i); {
		case t.Matches(")"):
			depth++
		case t.Matches("("):
			if depth--; depth < 0 {
				return s, false
			}
		case depth == 0 && t.Matches("SELECT"):
			s.list = i + 1
			if w.at(s.list).Matches("DISTINCT") || w.at(s.list).Matches("ALL") {
				s.list++
			}
			first := s.list
			for s.from = first; s.from < len(w.pieces); s.from++ {
				switch t := w.at(s.from); {
				case t.Matches("("):
					if s.from = w.closing(s.from); s.from < 0 {
						return s, false
					}
				case t.Matches(","):
					s.items, first = append(s.items, [2]int{first, s.from - 1}), s.from+1
				case t.Matches("FROM"), t.Matches(")"), t.Matches(";"):
					return selection{s.list, append(s.items, [2]int{first, s.from - 1}), s.from}, s.from > first
				}
			}
			return s, false
		}
	}
	return s, false
}

// aggregating are names of aggregates, and families the beginnings of others.
var (
	aggregating = words(`SUM TOTAL AVG MIN MAX MARGIN LOW HIGH MEDIAN MODE GROUP_CONCAT STRING_AGG ARRAY_AGG ANY_VALUE`)
	families    = []string{"COUNT", "STDDEV", "STDEV", "VAR", "CORR", "COVAR_", "REGR_", "PERCENTILE_", "QUANTILE", "APPROX_", "BOOL_"}
)

// isAggregate reports whether an aggregate is called at an index. MIN and MAX of several
// values are none.
func (w *rewriter) isAggregate(i int) bool {
	t, end := w.at(i), -1
	if w.at(i + 1).Matches("(") {
		end = w.closing(i + 1)
	}
	if end < 0 || t.Kind != KindWord {
		return false
	}
	if t.Upper == "MIN" || t.Upper == "MAX" {
		return len(w.arguments(i, end)) == 1
	}
	return aggregating[t.Upper] || slices.ContainsFunc(families, func(name string) bool { return strings.HasPrefix(t.Upper, name) })
}

// aggregates reports whether pieces compute something of many rows, or of none.
func (w *rewriter) aggregates(first, last int) bool {
	names := false
	for i := first; i <= last; i++ {
		t := w.at(i)
		names = names || t.isName()
		if t.Matches("OVER") || w.isAggregate(i) {
			return true
		}
	}
	return !names
}

// groupAll turns GROUP BY ALL into the numbers of the entries that aggregate nothing.
func (w *rewriter) groupAll() {
	for i := len(w.pieces) - 1; i > 0 && w.err == nil; i-- {
		if !w.at(i).Matches("ALL") || !w.at(i-1).Matches("BY") || !w.at(i-2).Matches("GROUP") || w.at(i+1).Matches("(") {
			continue
		}
		s, ok := w.selecting(i - 2)
		if !ok {
			continue
		}
		var keys []string
		for n, at := range s.items {
			if w.at(at[1]).Matches("*") {
				ok = false
			}
			if !w.aggregates(at[0], at[1]) {
				keys = append(keys, strconv.Itoa(n+1))
			}
		}
		switch {
		case !ok:
		case len(keys) == 0:
			w.replace(i-2, i)
		default:
			w.replace(i, i, strings.Join(keys, ", "))
		}
	}
}

// title returns the name of an entry of a select list, and its last piece without the alias.
func (w *rewriter) title(at [2]int) (name Token, last int, alias bool) {
	name = w.at(at[1])
	switch before := w.at(at[1] - 1); {
	case at[0] == at[1] && name.isName():
		return name, at[1], false
	case at[0] == at[1] || !name.isName():
		return Token{}, at[1], false
	case before.Matches("."):
		return name, at[1], false
	case before.Matches("AS"):
		return name, at[1] - 2, true
	case before.endsOperand():
		return name, at[1] - 1, true
	}
	return Token{}, at[1], false
}

// qualify puts a SELECT with QUALIFY into FROM, and the condition into WHERE around it. An
// alias in the condition is what it stands for.
func (w *rewriter) qualify() {
	for i := len(w.pieces) - 1; i > 0 && w.err == nil; i-- {
		t := w.at(i)
		if !t.Matches("QUALIFY") || !w.at(i+1).startsOperand() && !w.at(i+1).Matches("NOT") || !w.at(i-1).endsOperand() {
			continue
		}
		s, ok := w.selecting(i)
		if !ok || s.from > i || !w.at(s.from).Matches("FROM") {
			continue
		}
		end := i + 1
		for ; end < len(w.pieces); end++ {
			if t := w.at(end); t.Matches("(") {
				if end = w.closing(end); end < 0 {
					return
				}
			} else if slices.ContainsFunc([]string{"ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT", "EXCEPT", "WINDOW", ")", ";"}, t.Matches) {
				break
			}
		}
		var names []piece
		meant := make(map[string][]piece)
		for n, at := range s.items {
			name, last, alias := w.title(at)
			if name.Text == "" || slices.ContainsFunc(names, func(p piece) bool { return strings.EqualFold(p.Value, name.Value) }) {
				w.fail(t.Unsupported("QUALIFY over entries without names of their own").WithHint("write AS and a name behind each entry of the select list"))
				return
			}
			if n > 0 {
				names = append(names, piece{Token{Kind: KindOperator, Text: ",", Value: ",", Position: name.Position}, -1})
			}
			names = append(names, piece{name, -1})
			if alias {
				meant[strings.ToLower(name.Value)] = w.span(at[0], last)
			}
		}
		parts := []any{}
		for j := i + 1; j < end; j++ {
			t := w.at(j)
			if x, is := meant[strings.ToLower(t.Value)]; is && t.isName() && !w.at(j+1).Matches("(") && !w.at(j+1).Matches(".") && !w.at(j-1).Matches(".") {
				parts = append(parts, "(", x, ")")
			} else {
				parts = append(parts, w.span(j, j))
			}
		}
		head := s.list - 1
		if !w.at(head).Matches("SELECT") {
			head--
		}
		all := slices.Concat([]any{"SELECT ", names, " FROM (", w.span(head, s.from-1), ", ("}, parts, []any{`) AS "qualify" `, w.span(s.from, i-1), `) AS "qualified" WHERE "qualify"`})
		w.replace(head, end-1, all...)
	}
}

// series turns generate_series(a, b, step) in FROM, or as the only entry of a select list,
// into a recursive common table expression in front of the statement.
func (w *rewriter) series() {
	var entries []any
	for i := len(w.pieces) - 1; i > 0 && w.err == nil; i-- {
		t, before := w.at(i), w.at(i-1)
		if !t.Matches("GENERATE_SERIES") || !w.at(i+1).Matches("(") {
			continue
		}
		end := w.closing(i + 1)
		args := [][]piece(nil)
		if end > 0 {
			args = w.arguments(i, end)
		}
		if len(args) < 2 || len(args) > 3 || len(args[0]) == 0 || len(args[1]) == 0 {
			continue
		}
		value, next, within, ok := step(args)
		if !ok {
			w.fail(t.Unsupported("this step of generate_series").WithHint("it is a whole number, or a text such as '1 month' with a number and a unit"))
			return
		}
		name := "generate_series"
		if len(entries) > 0 {
			name += " " + strconv.Itoa(1+len(entries))
		}
		table, column := `"`+name+`"`, []piece{{Token{Kind: KindWord, Text: "generate_series", Value: "generate_series", Upper: "GENERATE_SERIES", Position: t.Position}, -1}}
		switch {
		case before.Matches("SELECT") && (w.at(end+1).Kind == KindEnd || w.at(end+1).Text == "" || w.at(end+1).Matches(";") || w.at(end+1).Matches(")")):
			w.replace(i, end, column, " FROM "+table)
		case before.Matches("FROM"), before.Matches("JOIN"), before.Matches(","):
			last := end
			alias := w.at(end + 1)
			if alias.Matches("AS") {
				last, alias = end+1, w.at(end+2)
			}
			if alias.isName() && !keywords[alias.Upper] {
				last++
				column = w.span(last, last)
				if w.at(last+1).Matches("(") && w.at(last+2).isName() && w.at(last+3).Matches(")") {
					column, last = w.span(last+2, last+2), last+3
				}
				w.replace(i, last, table+" AS ", []piece{{alias, -1}})
			} else {
				w.replace(i, end, table)
			}
		default:
			continue
		}
		from, to, after := value(args[0]), value(args[1]), next(column)
		entry := slices.Concat([]any{table + " (", column, ") AS (SELECT "}, from, []any{" WHERE "}, from, []any{within}, to,
			[]any{" UNION ALL SELECT "}, after, []any{" FROM " + table + " WHERE "}, after, []any{within}, to, []any{")"})
		entries = append(entries, entry)
	}
	if len(entries) == 0 || w.err != nil {
		return
	}
	var all []any
	for n, e := range entries {
		if n > 0 {
			all = append(all, ", ")
		}
		all = append(all, e.([]any)...)
	}
	if first := w.first; w.at(first).Matches("WITH") {
		last := first
		if w.at(first + 1).Matches("RECURSIVE") {
			last++
		}
		w.replace(first, last, slices.Concat([]any{"WITH RECURSIVE "}, all, []any{", "})...)
	} else {
		w.replace(first, first, slices.Concat([]any{"WITH RECURSIVE "}, all, []any{" ", w.span(first, first)})...)
	}
}

// step returns the forms of the ends of a series and of what follows a value, and the comparison
// that ends it. All values are days, if the step has whole days and no end is a moment, or else
// moments.
func step(args [][]piece) (value, next func(x []piece) []any, within string, ok bool) {
	value = func(x []piece) []any { return []any{x} }
	plus := func(n string) func(x []piece) []any { return func(x []piece) []any { return []any{x, " + " + n} } }
	if len(args) == 2 {
		return value, plus("1"), " <= ", true
	}
	by := args[2]
	if len(by) == 0 {
		return nil, nil, "", false
	}
	if by[0].Matches("CAST") && len(by) > 2 { // of '1 day'::interval
		by = by[2:3]
	} else if by[0].Matches("INTERVAL") {
		by = by[1:]
	}
	switch {
	case len(by) == 1 && by[0].Kind == KindInteger && by[0].Text != "0":
		return value, plus(by[0].Text), " <= ", true
	case len(by) == 2 && by[0].Matches("-") && by[1].Kind == KindInteger && by[1].Text != "0":
		return value, func(x []piece) []any { return []any{x, " - " + by[1].Text} }, " >= ", true
	case len(by) != 1 || by[0].Kind != KindString:
		return nil, nil, "", false
	}
	n, word, _ := strings.Cut(strings.TrimSpace(by[0].Value), " ")
	count, err := strconv.Atoi(n)
	unit, known := units[unitOf(strings.TrimSpace(word))]
	if err != nil || !known || count < 1 || count > 1_000_000 {
		return nil, nil, "", false
	}
	function := "datetime("
	if unit.day && !slices.ContainsFunc(slices.Concat(args[0], args[1]), piece.isMoment) {
		function = "date("
	}
	value = func(x []piece) []any { return []any{function, x, ")"} }
	return value, func(x []piece) []any {
		return []any{function, x, ", '+" + strconv.Itoa(count*unit.factor) + " " + unit.word + "')"}
	}, " <= ", true
}

// isMoment reports whether a token makes a value that has a time of day.
func (p piece) isMoment() bool {
	return p.Matches("DATETIME") || p.Matches("CURRENT_TIMESTAMP") || p.Kind == KindString && len(p.Value) > 10 && isoDate(p.Value[:10])
}

// matches turns x ~ '^abc' into x GLOB 'abc*', and x ~* 'abc' into x LIKE '%abc%'.
func (w *rewriter) matches() {
	for i := len(w.pieces) - 2; i > 0 && w.err == nil; i-- {
		if !w.at(i).Matches("~") || !w.at(i-1).endsOperand() {
			continue
		}
		last, operator, any, one := i+1, "GLOB ", "*", "?"
		if w.at(last).Matches("*") {
			last, operator, any, one = i+2, "LIKE ", "%", "_"
		}
		if pattern := w.at(last); pattern.Kind == KindString {
			glob, ok := wildcards(pattern.Value, any, one)
			if !ok {
				w.fail(pattern.Unsupported("this regular expression").WithHint("one of letters, digits, blanks, . and .* is known, with ^ and $ around it; else list the values with IN"))
				return
			}
			w.replace(i, last, operator+"'"+glob+"'")
		}
	}
}

// wildcards writes a regular expression with the wildcards of GLOB or LIKE.
func wildcards(pattern, any, one string) (string, bool) {
	body, begins := strings.CutPrefix(pattern, "^")
	body, ends := strings.CutSuffix(body, "$")
	var out strings.Builder
	if !begins {
		out.WriteString(any)
	}
	for body != "" {
		c := rune(body[0])
		switch {
		case strings.HasPrefix(body, ".*"):
			out.WriteString(any)
			body = body[1:]
		case c == '.':
			out.WriteString(one)
		case isLetter(c) && c != '_' && c < 0x80, isDigit(c), strings.ContainsRune(" -/:,", c):
			out.WriteRune(c)
		default:
			return "", false
		}
		if body = body[1:]; strings.HasPrefix(body, "*") || strings.HasPrefix(body, "+") || strings.HasPrefix(body, "?") || strings.HasPrefix(body, "{") {
			return "", false
		}
	}
	if !ends {
		out.WriteString(any)
	}
	return out.String(), true
}

// anyOf turns x = ANY (ARRAY['a', 'b']) into x IN ('a', 'b'), and x <> ALL (ARRAY[…]) into
// NOT IN. What ARRAY has in its brackets is one token, an identifier of SQL Server's.
func anyOf(w *rewriter, i, end int) {
	array, list := w.at(i+2), w.at(i+3)
	operator, in := "=", "IN ("
	if w.at(i).Matches("ALL") {
		operator, in = "<>", "NOT IN ("
	}
	compared := w.at(i-1).Matches(operator) || operator == "<>" && w.at(i-1).Matches("!=")
	if compared && array.Kind == KindParameter {
		w.fail(array.Unsupported("an array as an argument").WithHint("give each value an argument of its own: x IN ($1, $2)"))
		return
	}
	if !compared || !array.Matches("ARRAY") || list.Kind != KindQuoted || !strings.HasPrefix(list.Text, "[") || end != i+4 {
		return
	}
	tokens, err := Lex(list.Value)
	if err != nil || len(tokens) < 2 || slices.ContainsFunc(tokens, func(t Token) bool { return t.Kind == KindParameter }) {
		w.fail(sqlerr.New(sqlerr.Unsupported, "this array is outside the dialect").WithHint("list the values: x IN ('a', 'b')").At(list.Position))
		return
	}
	w.replace(i-1, end, in+list.Value+")")
}

// ratio turns RATIO_TO_REPORT(x) OVER (…) into 1.0 * x / SUM(x) OVER (…).
func ratio(w *rewriter, i, end int) {
	x := w.arguments(i, end)
	last := end + 2
	if len(x) != 1 || len(x[0]) == 0 || !w.at(end+1).Matches("OVER") {
		return
	}
	if w.at(last).Matches("(") {
		last = w.closing(last)
	} else if !w.at(last).isName() {
		return
	}
	if last > end {
		w.replace(i, last, "(1.0 * (", x[0], ") / SUM(", x[0], ") ", w.span(end+1, last), ")")
	}
}
