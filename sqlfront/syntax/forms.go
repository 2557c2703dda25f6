package syntax

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"dpsql/sqlerr"
)

// calls rewrites functions and operators of other systems, from right to left: the
// arguments of a call before the call.
func (w *rewriter) calls() {
	for i := len(w.pieces) - 1; i >= 0 && w.err == nil; i-- {
		t := w.pieces[i].Token
		if t.Kind != KindWord || w.at(i-1).Matches(".") {
			continue
		}
		if t.Upper == "ILIKE" {
			if before := w.at(i - 1); (before.endsOperand() || before.Matches("NOT")) && w.at(i+1).startsOperand() {
				w.replace(i, i, "LIKE")
			}
			continue
		}
		if next := w.at(i + 1); next.Kind == KindString && w.pieces[i].from >= 0 {
			w.typed(i, t, next)
			continue
		}
		if !w.at(i + 1).Matches("(") {
			if t.Upper == "LOCALTIMESTAMP" && !w.at(i-1).Matches("AS") {
				w.replace(i, i, "datetime('now', 'localtime')")
			}
			continue
		}
		end := w.closing(i + 1)
		if end < 0 {
			return
		}
		if w.at(end+1).Matches("AS") && w.at(end+2).Matches("(") {
			continue // the columns of a common table expression
		}
		if t.Upper == "CAST" {
			w.cast(i)
		} else if form := formOf(t.Upper); form != nil {
			form(w, i, end)
		}
	}
}

// typed rewrites DATE '2024-01-01' and TIMESTAMP '…'.
func (w *rewriter) typed(i int, t, literal Token) {
	before := w.at(i - 1)
	if before.endsOperand() || before.Matches(".") || before.Matches("AS") || !w.at(i+2).endsLiteral() {
		return // a name, and its alias
	}
	switch {
	case t.Upper == "DATE" && isoDate(literal.Value), t.Upper == "TIMESTAMP" && len(literal.Value) >= 10 && isoDate(literal.Value[:10]):
		w.replace(i, i+1, w.span(i+1, i+1))
	case t.Upper == "E":
		w.fail(t.Unsupported("a text with escapes").WithHint("write the text without E: a backslash stands for itself, and '' for a quote"))
	}
}

// endsLiteral reports whether the token can follow a typed literal.
func (t Token) endsLiteral() bool { return t.Kind != KindString && !t.Matches(".") && !t.Matches("(") }

// arguments returns the spans of a call's arguments.
func (w *rewriter) arguments(i, end int) (args [][]piece) {
	depth, from := 0, i+2
	for j := from; j <= end; j++ {
		switch t := w.pieces[j].Token; {
		case t.Matches("("):
			depth++
		case j == end, depth == 0 && t.Matches(","):
			args = append(args, w.span(from, j-1))
			from = j + 1
		case t.Matches(")"):
			depth--
		}
	}
	if len(args) == 1 && len(args[0]) == 0 {
		return nil
	}
	return args
}

// form rewrites the call at an index, whose parenthesis closes at another. A call that is
// not of its form stays as it is.
type form = func(w *rewriter, i, end int)

// forms has the forms by name. Few statements need it.
var forms struct {
	once   sync.Once
	byName map[string]form
}

func formOf(name string) form {
	forms.once.Do(makeForms)
	return forms.byName[name]
}

func makeForms() {
	forms.byName = map[string]form{
		"EXTRACT":    extract,
		"DATE_PART":  func(w *rewriter, i, end int) { w.part(i, end, w.arguments(i, end)) },
		"DATE_TRUNC": func(w *rewriter, i, end int) { w.truncate(i, end, w.arguments(i, end)) },
		"NOW": func(w *rewriter, i, end int) {
			if end == i+2 {
				w.replace(i, end, "datetime('now')")
			}
		},
		"TO_CHAR":          toChar,
		"COUNTIF":          countIf,
		"COUNT_IF":         countIf,
		"SAFE_DIVIDE":      quotient,
		"DIV0NULL":         quotient,
		"GREATEST":         renamed("max", 2),
		"LEAST":            renamed("min", 2),
		"NVL":              renamed("ifnull", 2),
		"ISNULL":           renamed("ifnull", 2),
		"IF":               renamed("iif", 3),
		"IFF":              renamed("iif", 3),
		"COUNT_BIG":        renamed("COUNT", 1),
		"CHAR_LENGTH":      renamed("length", 1),
		"CHARACTER_LENGTH": renamed("length", 1),
		"LEFT":             edge("1, "),
		"RIGHT":            edge("-"),
		"POSITION":         position,
		"SUBSTRING":        substringFrom,
		"NULLIF":           nullIfZero,
		"ANY":              anyOf,
		"ALL":              anyOf,
		"RATIO_TO_REPORT":  ratio,
		"STDEVP":           renamed("STDDEV_POP", 1),
		"STDEV":            renamed("STDDEV", 1),
		"VARP":             renamed("VAR_POP", 1),
		"PERCENTILE_CONT":  within,
		"PERCENTILE_DISC":  within,
		"QUANTILE_CONT":    renamed("PERCENTILE_CONT", 2),
		"QUANTILE_DISC":    renamed("PERCENTILE_DISC", 2),
	}
	for _, unit := range []string{"YEAR", "QUARTER", "MONTH", "DAY"} {
		forms.byName[unit] = func(w *rewriter, i, end int) {
			if args := w.arguments(i, end); len(args) == 1 {
				w.replace(i, end, w.field(unit, args[0])...)
			}
		}
	}
}

// fields are the fields of EXTRACT, as formats of strftime.
var fields = map[string]string{
	"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "DOW": "%w", "DOY": "%j", "EPOCH": "%s",
	"ISODOW": "%u", "WEEK": "%V", "ISOYEAR": "%G", "SECOND": "%S", "DAYOFWEEK": "%w", "DAYOFYEAR": "%j",
}

// field returns the parts of a field of a date, or nil if it is not known.
func (w *rewriter) field(name string, x []piece) []any {
	name = unitOf(name)
	if format, ok := fields[name]; ok {
		return []any{"CAST(strftime('" + format + "', ", x, ") AS INTEGER)"}
	}
	if name == "QUARTER" {
		return []any{"((CAST(strftime('%m', ", x, ") AS INTEGER) + 2) / 3)"}
	}
	return nil
}

func extract(w *rewriter, i, end int) {
	if from := w.outside(i+2, end-1, "FROM"); from == i+3 {
		w.part(i, end, [][]piece{w.span(i+2, i+2), w.span(from+1, end-1)})
	}
}

// part rewrites EXTRACT(field FROM x) and DATE_PART('field', x).
func (w *rewriter) part(i, end int, args [][]piece) {
	if len(args) != 2 || len(args[0]) != 1 || len(args[1]) == 0 {
		return
	}
	parts := w.field(args[0][0].Value, args[1])
	if parts == nil {
		w.fail(args[0][0].Unsupported("the field " + Excerpt(args[0][0].Text, 40) + " of a date").
			WithHint("the fields are year, quarter, month, week, day, hour, minute, second, dow, isodow, doy, isoyear and epoch"))
		return
	}
	w.replace(i, end, parts...)
}

// truncate rewrites DATE_TRUNC('unit', x), and DATE_TRUNC(x, unit) as BigQuery has it. A
// date is the result where the unit is a day or longer.
func (w *rewriter) truncate(i, end int, args [][]piece) {
	if len(args) != 2 || len(args[0]) == 0 || len(args[1]) == 0 {
		return
	}
	unit, x := args[0], args[1]
	if len(unit) != 1 || unit[0].Kind != KindString {
		unit, x = x, unit
	}
	if len(unit) != 1 {
		return
	}
	switch unitOf(unit[0].Value) {
	case "YEAR":
		w.replace(i, end, "date(", x, ", 'start of year')")
	case "QUARTER":
		w.replace(i, end, "date(", x, ", 'start of month', CASE CAST(strftime('%m', ", x, ") AS INTEGER) % 3 WHEN 1 THEN '+0 months' WHEN 2 THEN '-1 months' ELSE '-2 months' END)")
	case "MONTH":
		w.replace(i, end, "date(", x, ", 'start of month')")
	case "WEEK", "ISOWEEK":
		w.replace(i, end, "date(", x, ", 'weekday 0', '-6 days')")
	case "DAY":
		w.replace(i, end, "date(", x, ")")
	case "HOUR":
		w.replace(i, end, "datetime(strftime('%Y-%m-%d %H:00:00', ", x, "))")
	case "MINUTE":
		w.replace(i, end, "datetime(strftime('%Y-%m-%d %H:%M:00', ", x, "))")
	default:
		w.fail(unit[0].Unsupported("DATE_TRUNC to " + Excerpt(unit[0].Text, 40)).
			WithHint("the units are year, quarter, month, week, day, hour and minute"))
	}
}

// patterns are the parts of TO_CHAR's formats that strftime has, longer ones first.
var patterns = []struct{ theirs, ours string }{
	{"YYYY", "%Y"}, {"HH24", "%H"}, {"MM", "%m"}, {"DD", "%d"}, {"MI", "%M"}, {"SS", "%S"}, {"IW", "%V"},
}

// toChar rewrites TO_CHAR(x, 'YYYY-MM').
func toChar(w *rewriter, i, end int) {
	args := w.arguments(i, end)
	if len(args) != 2 || len(args[1]) != 1 || args[1][0].Kind != KindString {
		return
	}
	format := ""
	for rest := args[1][0].Value; rest != ""; {
		found := false
		for _, p := range patterns {
			if found = strings.HasPrefix(rest, p.theirs); found {
				format, rest = format+p.ours, rest[len(p.theirs):]
				break
			}
		}
		if !found && !strings.ContainsRune("-/.: ", rune(rest[0])) {
			w.fail(args[1][0].Unsupported("this format of TO_CHAR").WithHint("it is made of YYYY, MM, DD, HH24, MI, SS, IW and - / . : between them"))
			return
		}
		if !found {
			format, rest = format+rest[:1], rest[1:]
		}
	}
	w.replace(i, end, "strftime('"+format+"', ", args[0], ")")
}

// countIf rewrites COUNTIF(condition).
func countIf(w *rewriter, i, end int) {
	if args := w.arguments(i, end); len(args) == 1 {
		w.replace(i, end, "COUNT(*) FILTER (WHERE ", args[0], ")")
	}
}

// quotient rewrites SAFE_DIVIDE(x, y): a division by 0 is NULL in SQLite.
func quotient(w *rewriter, i, end int) {
	if args := w.arguments(i, end); len(args) == 2 && len(args[0]) > 0 && len(args[1]) > 0 {
		w.replace(i, end, "(1.0 * (", args[0], ") / (", args[1], "))")
	}
}

// nullIfZero takes NULLIF out of x / NULLIF(y, 0). The result is the same, since a
// division by 0 is NULL in SQLite, and has a margin.
func nullIfZero(w *rewriter, i, end int) {
	args := w.arguments(i, end)
	if w.at(i-1).Matches("/") && len(args) == 2 && len(args[0]) > 0 && len(args[1]) == 1 && args[1][0].Text == "0" {
		w.replace(i, end, "(", args[0], ")")
	}
}

// within rewrites PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) to PERCENTILE_CONT(x, q).
func within(w *rewriter, i, end int) {
	if !w.at(end+1).Matches("WITHIN") || !w.at(end+2).Matches("GROUP") || !w.at(end+3).Matches("(") {
		return
	}
	last := w.closing(end + 3)
	args := w.arguments(i, end)
	if last < 0 || len(args) != 1 || !w.at(end+4).Matches("ORDER") || !w.at(end+5).Matches("BY") {
		return
	}
	to := last - 1
	if w.at(to).Matches("ASC") {
		to--
	}
	if t := w.at(to); t.Matches("DESC") {
		w.fail(t.Unsupported("a quantile in descending order").WithHint("order by the column, and write 1 - q for the fraction q"))
		return
	}
	if to < end+6 || w.outside(end+6, to, ",") >= 0 {
		return
	}
	w.replace(i, last, w.span(i, i), "(", w.span(end+6, to), ", ", args[0], ")")
}

// renamed rewrites a call with at least n arguments to a function of another name.
func renamed(name string, n int) func(w *rewriter, i, end int) {
	return func(w *rewriter, i, end int) {
		if len(w.arguments(i, end)) >= n {
			w.replace(i, i, name)
		}
	}
}

// edge rewrites LEFT(x, n) and RIGHT(x, n).
func edge(before string) func(w *rewriter, i, end int) {
	return func(w *rewriter, i, end int) {
		args := w.arguments(i, end)
		if len(args) != 2 || len(args[1]) != 1 || args[1][0].Kind != KindInteger {
			return
		}
		w.replace(i, end, "substr(", args[0], ", "+before, args[1], ")")
	}
}

// position rewrites POSITION(part IN text).
func position(w *rewriter, i, end int) {
	if in := w.outside(i+2, end-1, "IN"); in > i+2 && in < end-1 {
		w.replace(i, end, "instr(", w.span(in+1, end-1), ", ", w.span(i+2, in-1), ")")
	}
}

// substringFrom rewrites SUBSTRING(text FROM n FOR m).
func substringFrom(w *rewriter, i, end int) {
	from, count := w.outside(i+2, end-1, "FROM"), w.outside(i+2, end-1, "FOR")
	switch {
	case from <= i+2 || count >= 0 && count < from:
	case count < 0:
		w.replace(i, end, "substr(", w.span(i+2, from-1), ", ", w.span(from+1, end-1), ")")
	default:
		w.replace(i, end, "substr(", w.span(i+2, from-1), ", ", w.span(from+1, count-1), ", ", w.span(count+1, end-1), ")")
	}
}

// settings takes the clause WITH name value, … off the end of the statement and adds its
// settings.
func (w *rewriter) settings(settings []Option) ([]Option, error) {
	last := len(w.pieces)
	for last > 0 && w.at(last-1).Matches(";") {
		last--
	}
	depth, with := 0, -1
	for i := last - 1; i > w.first && with < 0; i-- {
		switch t := w.at(i); {
		case t.Matches(")"):
			depth++
		case t.Matches("("):
			depth--
		case depth == 0 && t.Matches("WITH"):
			with = i
		}
	}
	// Two others can stand there: GROUP BY … WITH ROLLUP, and a type WITH TIME ZONE.
	if with < 0 || !w.at(with-1).endsOperandOf() && !w.at(with-1).Matches("NULL") || !w.at(with+1).isName() || w.at(with+1).Matches("ROLLUP") || w.at(with+1).Matches("TIME") {
		return settings, nil
	}
	tokens := make([]Token, 0, last-with)
	for _, p := range w.pieces[with+1 : last] {
		tokens = append(tokens, p.Token)
	}
	settings, err := readSettings(append(tokens, Token{Kind: KindEnd, Position: w.at(last - 1).Position}), settings)
	if err == nil {
		w.replace(with, last-1)
	}
	return settings, err
}

// readSettings reads settings that are all of the tokens.
func readSettings(tokens []Token, settings []Option) ([]Option, error) {
	return (&parser{tokens: tokens}).settings(settings)
}

// settings reads name value, or name = value, or name(value), with commas between them or not,
// up to the end of the statement.
func (p *parser) settings(settings []Option) ([]Option, error) {
	for {
		name, err := p.name("a setting")
		if err != nil {
			return nil, err
		}
		name.Text = LowerASCII(name.Text)
		open := p.accept("(")
		if !open && !p.accept("=") {
			p.accept("==")
		}
		o := Option{Name: name, Position: p.peek().Position}
		if err := p.value(&o); err != nil {
			return nil, err
		}
		if open && !p.accept(")") {
			return nil, p.unexpected(")")
		}
		if slices.ContainsFunc(settings, func(have Option) bool { return have.Name.Text == name.Text }) {
			return nil, sqlerr.New(sqlerr.Invalid, "setting %s is given twice", name.Text).At(name.Position)
		}
		if settings = append(settings, o); !p.accept(",") && (p.peek().Kind == KindEnd || p.peek().Matches(";")) {
			return settings, nil
		}
	}
}

// settings reads the settings of a comment.
func (h hint) settings(settings []Option) ([]Option, error) {
	tokens, err := Lex(h.text)
	if err != nil {
		var e *sqlerr.Error
		if errors.As(err, &e) {
			moved := *e
			moved.Position += h.position - 1
			return nil, &moved
		}
		return nil, err
	}
	for i := range tokens {
		tokens[i].Position += h.position - 1
	}
	if len(tokens) == 1 {
		return settings, nil
	}
	return readSettings(tokens, settings)
}
