package syntax

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// Rewritten is a statement in the forms that the parsers of this house know.
type Rewritten struct {
	Text     string
	Settings []Option // those that the statement has for itself, in the order of the text
	origin   []int    // for each character of Text, its position in what was written; nil if nothing changed
}

// At returns the position in the statement as it was written of a position in Text.
func (r *Rewritten) At(position int) int {
	if r.origin == nil || position < 1 || len(r.origin) == 0 {
		return position
	}
	return r.origin[min(position, len(r.origin))-1]
}

// Rewrite turns forms of other systems into SQLite's, and takes the settings out of a
// statement. It changes no statement but SELECT, VALUES and WITH … SELECT, with or
// without EXPLAIN, and none that it cannot cut into tokens: the parser says what is wrong
// with that one. What a form turns into has SQLite's meaning: docs/sql/forms.md
// lists them.
//
// The arguments of a statement keep their numbers.
func Rewrite(text string) (Rewritten, error) {
	unchanged := Rewritten{Text: text}
	if !suspect(text) {
		return unchanged, nil
	}
	tokens, hints, err := lex(text)
	if err != nil {
		return unchanged, nil
	}
	first := 0
	for tokens[first].Matches(";") {
		first++
	}
	if tokens[first].Matches("EXPLAIN") {
		first++
	}
	if t := tokens[first]; !t.Matches("SELECT") && !t.Matches("WITH") && !t.Matches("VALUES") {
		return unchanged, nil
	}
	w := &rewriter{first: first}
	for i, t := range tokens[:len(tokens)-1] {
		w.pieces = append(w.pieces, piece{Token: t, from: i})
	}
	var settings []Option
	for _, h := range hints {
		if settings, err = h.settings(settings); err != nil {
			return unchanged, err
		}
	}
	if settings, err = w.settings(settings); err != nil {
		return unchanged, err
	}
	w.casts()
	w.intervals()
	w.schemas()
	w.calls()
	w.matches()
	w.limits()
	w.groupAll()
	w.qualify()
	w.series()
	if w.err != nil {
		return unchanged, w.err
	}
	if !w.changed {
		unchanged.Settings = settings
		return unchanged, nil
	}
	out := w.render(text)
	out.Settings = settings
	return out, nil
}

// suspects are the words that a form begins with, or that is one.
var suspects = words(`CAST EXTRACT DATE_TRUNC DATE_PART ILIKE INTERVAL DATE TIMESTAMP NOW FETCH OFFSET ALL TOP LOCALTIMESTAMP PUBLIC GREATEST LEAST COUNTIF
	COUNT_IF SAFE_DIVIDE DIV0NULL IF IFF ISNULL COUNT_BIG NVL LEFT RIGHT POSITION SUBSTRING TO_CHAR CHAR_LENGTH CHARACTER_LENGTH YEAR MONTH DAY QUARTER ACCURACY
	CONFIDENCE MECHANISM MARGINS CLAMP UNVERIFIED NULLIF WITHIN QUANTILE_CONT QUANTILE_DISC WITH E ANY QUALIFY GENERATE_SERIES RATIO_TO_REPORT STDEV STDEVP VARP`)

// suspect reports whether a text has to be looked at. It is quick, and mistakes the
// inside of a text or comment for SQL.
func suspect(text string) bool {
	var folded [24]byte
	for i := 0; i < len(text); {
		c := upper(text[i])
		switch {
		case 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf:
			n := spanOf(text[i:], isNamePart)
			if n == 0 {
				n = 1
			}
			if n <= len(folded) {
				for j := range n {
					folded[j] = upper(text[i+j])
				}
				if suspects[string(folded[:n])] && (i > 0 || folded[0] != 'W') && (n > 1 || i+1 < len(text) && text[i+1] == '\'') { // WITH may begin a statement
					return true
				}
			}
			i += n
		case c == ':' && strings.HasPrefix(text[i:], "::"), c == '/' && strings.HasPrefix(text[i:], hintMark), c == '~':
			return true
		default:
			i++
		}
	}
	return false
}

// piece is a token of the rewritten statement.
type piece struct {
	Token
	from int // its index in the statement as written; -1 if it is made
}

// rewriter rewrites one statement.
type rewriter struct {
	pieces  []piece
	first   int // the SELECT, WITH or VALUES
	changed bool
	count   int // of the replacements
	err     error
}

// Limits on what rewriting may make of a statement.
const (
	maxRewrites = 1000
	maxPieces   = 100_000
)

func (w *rewriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// at returns the token with an index, or an end.
func (w *rewriter) at(i int) Token {
	if i < 0 || i >= len(w.pieces) {
		return Token{}
	}
	return w.pieces[i].Token
}

// span returns pieces first to last, as far as there are any. It is to be inserted elsewhere,
// so that a parameter without a number gets it.
func (w *rewriter) span(first, last int) []piece {
	if last = min(last, len(w.pieces)-1); last < first {
		return nil
	}
	return slices.Clone(w.pieces[first : last+1])
}

// replace puts texts and spans into the place of pieces first to last, as far as there are any.
func (w *rewriter) replace(first, last int, parts ...any) {
	if w.err != nil {
		return
	}
	last = min(last, len(w.pieces)-1)
	position := w.at(first).Position
	if last < first {
		position = w.at(first - 1).Position
	}
	var made []piece
	for _, p := range parts {
		switch p := p.(type) {
		case []piece:
			made = append(made, p...)
		case string:
			tokens, err := Lex(p)
			if err != nil {
				w.fail(sqlerr.New(sqlerr.Internal, "a form cannot be rewritten").At(position))
				return
			}
			for _, t := range tokens[:len(tokens)-1] {
				t.Position = position
				made = append(made, piece{Token: t, from: -1})
			}
		}
	}
	w.count++
	if w.count > maxRewrites || len(w.pieces)+len(made) > maxPieces {
		w.fail(sqlerr.New(sqlerr.Unsupported, "a statement with this many forms of other systems is outside the dialect").
			WithHint("write them as SQLite has them").At(position))
		return
	}
	w.pieces = slices.Replace(w.pieces, first, last+1, made...)
	w.changed = true
}

// render writes the pieces. Neighbours in the statement as written keep what stands
// between them.
func (w *rewriter) render(text string) Rewritten {
	source := []rune(text)
	var out Rewritten
	var b strings.Builder
	write := func(s string, position int, each bool) {
		b.WriteString(s)
		for range s {
			out.origin = append(out.origin, position)
			if each {
				position++
			}
		}
	}
	end := func(t Token) int { return t.Position + utf8.RuneCountInString(t.Text) }
	for i, p := range w.pieces {
		if i > 0 {
			before := w.pieces[i-1]
			if p.from >= 0 && before.from+1 == p.from && before.from >= 0 {
				write(string(source[end(before.Token)-1:p.Position-1]), end(before.Token), true)
			} else if sign := before.Matches("-") && !w.at(i-2).endsOperand(); !sign && !p.Matches(";") && !tight(before.Token, p.Token) {
				write(" ", p.Position, false)
			}
		}
		if p.Kind == KindParameter && p.Text == "?" {
			write("?"+strconv.Itoa(p.Parameter), p.Position, false)
		} else {
			write(p.Text, p.Position, p.from >= 0)
		}
	}
	out.Text = b.String()
	return out
}

// closing returns the index of the parenthesis that closes the one at an index, or -1.
func (w *rewriter) closing(open int) int {
	depth := 0
	for i := open; i < len(w.pieces); i++ {
		switch t := w.pieces[i].Token; {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// outside returns the index of the first token between two, outside parentheses, that is
// a word, or -1.
func (w *rewriter) outside(from, to int, word string) int {
	depth := 0
	for i := from; i <= to; i++ {
		switch t := w.pieces[i].Token; {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			depth--
		case depth == 0 && t.Matches(word):
			return i
		}
	}
	return -1
}

// operand returns the index at which the operand starts that ends at an index: a name, a
// literal, a call with its FILTER and OVER, CASE … END, or what parentheses hold. It is
// -1 if there is none.
func (w *rewriter) operand(last int) int {
	t := w.at(last)
	switch {
	case t.Matches(")"):
		depth, i := 0, last
		for ; i >= 0; i-- {
			if w.at(i).Matches(")") {
				depth++
			} else if w.at(i).Matches("(") {
				if depth--; depth == 0 {
					break
				}
			}
		}
		name := w.at(i - 1)
		switch {
		case i < 0:
			return -1
		case (name.Matches("FILTER") || name.Matches("OVER")) && w.at(i-2).Matches(")"):
			return w.operand(i - 2)
		case name.Matches("CAST") || name.isName() && !(name.Kind == KindWord && keywords[name.Upper]):
			return w.qualified(i - 1)
		}
		return i
	case t.Matches("END"):
		for depth, i := 0, last; i >= 0; i-- {
			if w.at(i).Matches("END") {
				depth++
			} else if w.at(i).Matches("CASE") {
				if depth--; depth == 0 {
					return i
				}
			}
		}
		return -1
	case !t.endsOperand():
		return -1
	case t.isName():
		return w.qualified(last)
	}
	return last
}

// qualified returns the index of the first part of a name.
func (w *rewriter) qualified(i int) int {
	for w.at(i-1).Matches(".") && w.at(i-2).isName() {
		i -= 2
	}
	return i
}

// casts turns x::type into CAST(x AS type), from left to right.
func (w *rewriter) casts() {
	for i := 0; i < len(w.pieces) && w.err == nil; i++ {
		if !w.at(i).Matches("::") {
			continue
		}
		start, last := w.operand(i-1), w.typeEnd(i+1)
		if start < 0 || last < i+1 {
			w.fail(w.at(i).Malformed("a value stands before :: and a type behind it").WithHint("CAST(value AS type) is the same"))
			return
		}
		x, name := w.span(start, i-1), w.span(i+1, last)
		w.replace(start, last, "CAST(", x, " AS ", name, ")")
		i = start + len(x) + len(name) + 3 // behind the closing parenthesis
	}
}

// typeEnd returns the index of the last token of the type that starts at an index, or a
// smaller one if none does.
func (w *rewriter) typeEnd(i int) int {
	if !w.at(i).isName() {
		return i - 1
	}
	if w.at(i+1).Matches(".") && w.at(i+2).isName() {
		i += 2
	}
	switch t := w.at(i); {
	case t.Matches("DOUBLE") && w.at(i+1).Matches("PRECISION"), t.Matches("CHARACTER") && w.at(i+1).Matches("VARYING"):
		i++
	}
	if w.at(i + 1).Matches("(") {
		if end := w.closing(i + 1); end > 0 && end <= i+5 {
			i = end
		}
	}
	if with := w.at(i + 1); (with.Matches("WITH") || with.Matches("WITHOUT")) && w.at(i+2).Matches("TIME") && w.at(i+3).Matches("ZONE") {
		i += 3
	}
	return i
}

// types are the types that CAST knows, and what it makes of them.
var types = map[string]string{
	"INT": "INTEGER", "INTEGER": "INTEGER", "INT2": "INTEGER", "INT4": "INTEGER", "INT8": "INTEGER", "INT64": "INTEGER", "BIGINT": "INTEGER",
	"SMALLINT": "INTEGER", "TINYINT": "INTEGER", "REAL": "REAL", "FLOAT": "REAL", "FLOAT4": "REAL", "FLOAT8": "REAL", "FLOAT64": "REAL",
	"DOUBLE": "REAL", "NUMERIC": "REAL", "DECIMAL": "REAL", "NUMBER": "REAL", "TEXT": "TEXT", "STRING": "TEXT", "VARCHAR": "TEXT",
	"CHARACTER": "TEXT", "CHAR": "TEXT", "BPCHAR": "TEXT", "DATE": "DATE", "TIMESTAMP": "DATETIME", "TIMESTAMPTZ": "DATETIME",
	"DATETIME": "DATETIME", "TIME": "TIME", "BOOL": "BOOL", "BOOLEAN": "BOOL",
}

// cast rewrites the CAST at an index by its type. A REAL is made by a product, which has
// a margin where its operand has one.
func (w *rewriter) cast(i int) {
	end := w.closing(i + 1)
	if end < 0 {
		return
	}
	as := w.outside(i+2, end-1, "AS")
	if as < 0 || w.typeEnd(as+1) != end-1 {
		return
	}
	x, name := w.span(i+2, as-1), w.at(as+1)
	if w.at(as + 2).Matches(".") {
		name = w.at(as + 3)
	}
	literal := len(x) == 1 && x[0].Kind == KindString
	switch types[UpperASCII(name.Value)] {
	case "INTEGER":
		if end != as+2 || !name.Matches("INTEGER") {
			w.replace(i, end, "CAST(", x, " AS INTEGER)")
		}
	case "TEXT":
		if end != as+2 || !name.Matches("TEXT") {
			w.replace(i, end, "CAST(", x, " AS TEXT)")
		}
	case "REAL":
		if places := w.at(end - 2); w.at(end-1).Matches(")") && w.at(end-3).Matches(",") && places.Kind == KindInteger {
			w.replace(i, end, "ROUND(1.0 * (", x, "), "+places.Text+")")
			return
		}
		w.replace(i, end, "(1.0 * (", x, "))")
	case "DATE":
		if literal && isoDate(x[0].Value) {
			w.replace(i, end, x)
			return
		}
		w.replace(i, end, "date(", x, ")")
	case "DATETIME":
		if literal && isoDate(x[0].Value) {
			w.replace(i, end, "'"+x[0].Value+" 00:00:00'")
			return
		}
		if literal && len(x[0].Value) > len("2024-01-01") && isoDate(x[0].Value[:10]) {
			w.replace(i, end, x)
			return
		}
		w.replace(i, end, "datetime(", x, ")")
	case "TIME":
		w.replace(i, end, "time(", x, ")")
	case "BOOL":
		switch {
		case literal && slices.Contains([]string{"T", "TRUE"}, UpperASCII(x[0].Value)):
			w.replace(i, end, "TRUE")
		case literal && slices.Contains([]string{"F", "FALSE"}, UpperASCII(x[0].Value)):
			w.replace(i, end, "FALSE")
		case len(x) == 1 && x[0].Kind == KindParameter:
			w.replace(i, end, "(", x, " <> FALSE)") // so that its type is BOOLEAN
		default:
			w.replace(i, end, "((", x, ") <> 0)")
		}
	}
}

// isoDate reports whether a text is a date such as 2024-02-29, as far as its form goes.
func isoDate(s string) bool {
	for i, c := range []byte(s) {
		if i == 4 || i == 7 {
			if c != '-' {
				return false
			}
		} else if !isDigit(rune(c)) {
			return false
		}
	}
	return len(s) == len("2024-02-29")
}

// units are the units of intervals and of date_trunc in SQLite's words, with a factor.
var units = map[string]struct {
	word   string
	factor int
	day    bool // the unit is a day or longer
}{
	"SECOND": {"seconds", 1, false}, "MINUTE": {"minutes", 1, false}, "HOUR": {"hours", 1, false}, "DAY": {"days", 1, true},
	"WEEK": {"days", 7, true}, "MONTH": {"months", 1, true}, "QUARTER": {"months", 3, true}, "YEAR": {"years", 1, true},
}

// unitOf returns the singular of a unit in upper case.
func unitOf(s string) string { return strings.TrimSuffix(UpperASCII(s), "S") }

// intervals turns x + INTERVAL '1 month' into datetime(x, '+1 months'), or date(…) where x
// is a date and the interval is of days.
func (w *rewriter) intervals() {
	for i := 1; i < len(w.pieces) && w.err == nil; i++ {
		sign := w.at(i - 1)
		if !w.at(i).Matches("INTERVAL") || !sign.Matches("+") && !sign.Matches("-") {
			continue
		}
		t, last := w.at(i+1), i+1
		n, word, ok := strings.Cut(strings.TrimSpace(t.Value), " ")
		switch {
		case t.Kind == KindInteger || t.Kind == KindString && !ok:
			word, last = w.at(i+2).Value, i+2
		case t.Kind != KindString:
			continue
		}
		count, err := strconv.Atoi(n)
		unit, known := units[unitOf(strings.TrimSpace(word))]
		start := w.operand(i - 2)
		if err != nil || !known || start < 0 || count > 1_000_000 || count < -1_000_000 {
			w.fail(w.at(i).Unsupported("this interval").WithHint("write it as INTERVAL '3 days': a number and one unit, from seconds to years"))
			return
		}
		if sign.Matches("-") {
			count = -count
		}
		function := "datetime("
		if unit.day && w.isDate(start, i-2) {
			function = "date("
		}
		x := w.span(start, i-2)
		if typed := w.at(start - 1); len(x) == 1 && x[0].Kind == KindString && (typed.Matches("DATE") || typed.Matches("TIMESTAMP")) {
			start-- // of DATE '2024-01-01' + INTERVAL '1 day'
		}
		amount := strconv.Itoa(count * unit.factor)
		if count >= 0 {
			amount = "+" + amount
		}
		w.replace(start, last, function, x, ", '"+amount+" "+unit.word+"')")
		i = start + len(x) + 4
	}
}

// isDate reports whether an operand has no time of day.
func (w *rewriter) isDate(start, last int) bool {
	t := w.at(start)
	switch {
	case start == last:
		return t.Matches("CURRENT_DATE") || t.Kind == KindString && isoDate(t.Value)
	case t.Matches("DATE"):
		return true
	case t.Matches("CAST"):
		return w.at(last - 1).Matches("DATE")
	case t.Matches("DATE_TRUNC"):
		for i := start + 2; i < last; i++ {
			if u, ok := units[unitOf(w.at(i).Value)]; ok {
				return u.day
			}
		}
	}
	return false
}

// schemas takes PostgreSQL's usual schema away: "public"."t" is t. It does nothing if the
// statement uses the name for something else.
func (w *rewriter) schemas() {
	var found []int
	for i, p := range w.pieces {
		if !p.isName() || UpperASCII(p.Value) != "PUBLIC" || w.at(i-1).Matches(".") {
			continue
		}
		if !w.at(i+1).Matches(".") || !w.at(i+2).isName() {
			return
		}
		found = append(found, i)
	}
	for _, i := range slices.Backward(found) {
		w.replace(i, i+1)
	}
}

// limits turns FETCH FIRST n ROWS ONLY, OFFSET n ROWS, LIMIT ALL and SELECT TOP n into
// LIMIT n OFFSET m.
func (w *rewriter) limits() {
	for i := len(w.pieces) - 1; i >= 0 && w.err == nil; i-- {
		t := w.at(i)
		switch {
		case t.Matches("LIMIT") && w.at(i+1).Matches("ALL") && !w.at(i+2).Matches("."):
			w.replace(i, i+1, "LIMIT -1")
		case t.Matches("OFFSET") && w.at(i-2).Matches("LIMIT"), t.Matches("OFFSET") && w.at(i-3).Matches("LIMIT"):
		case t.Matches("OFFSET") && (w.at(i+1).Kind == KindInteger || w.at(i+1).Kind == KindParameter) && w.at(i-1).endsOperandOf():
			w.offset(i)
		case t.Matches("FETCH") && (w.at(i+1).Matches("FIRST") || w.at(i+1).Matches("NEXT")):
			if n, last, ok := w.fetch(i); ok && !w.at(i-1).Matches("ROWS") && !w.at(i-1).Matches("ROW") {
				w.replace(i, last, "LIMIT ", n)
			}
		case t.Matches("TOP") && w.at(i-1).Matches("SELECT"):
			w.top(i)
		}
	}
}

// endsOperandOf reports whether OFFSET can follow the token.
func (t Token) endsOperandOf() bool { return t.endsOperand() || t.Matches("ASC") || t.Matches("DESC") }

// fetch returns the number of FETCH FIRST n ROWS ONLY and the index of its last token.
func (w *rewriter) fetch(i int) (n []piece, last int, ok bool) {
	one, at := w.at(i+2), i+3
	if one.Matches("ROW") || one.Matches("ROWS") {
		return []piece{{Token{Kind: KindInteger, Text: "1", Value: "1", Position: one.Position}, -1}}, i + 3, w.at(i + 3).Matches("ONLY")
	}
	rows := w.at(at).Matches("ROW") || w.at(at).Matches("ROWS")
	return w.span(i+2, i+2), at + 1, rows && w.at(at+1).Matches("ONLY")
}

// offset rewrites OFFSET n [ROWS], with a LIMIT or a FETCH behind it or none.
func (w *rewriter) offset(i int) {
	n, last := w.span(i+1, i+1), i+1
	rows := w.at(i+2).Matches("ROW") || w.at(i+2).Matches("ROWS")
	if rows {
		last++
	}
	switch next := w.at(last + 1); {
	case next.Matches("LIMIT"):
		w.replace(i, last+2, "LIMIT ", w.span(last+2, last+2), " OFFSET ", n)
	case next.Matches("FETCH"):
		if most, end, ok := w.fetch(last + 1); ok {
			w.replace(i, end, "LIMIT ", most, " OFFSET ", n)
		}
	default:
		w.replace(i, last, "LIMIT -1 OFFSET ", n)
	}
}

// top moves the number of SELECT TOP n to the end of its SELECT.
func (w *rewriter) top(i int) {
	n, last := w.at(i+1), i+1
	if n.Matches("(") && w.at(i+3).Matches(")") {
		n, last = w.at(i+2), i+3
	}
	if n.Kind != KindInteger && n.Kind != KindParameter {
		return
	}
	depth, end := 0, len(w.pieces)
	for j := last + 1; j < len(w.pieces) && end == len(w.pieces); j++ {
		switch t := w.at(j); {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			if depth--; depth < 0 {
				end = j
			}
		case t.Matches(";"):
			end = j
		}
	}
	w.replace(end, end-1, "LIMIT ", []piece{{n, -1}})
	w.replace(i, last)
}
