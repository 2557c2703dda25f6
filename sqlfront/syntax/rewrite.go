package syntax

import (
	"cmp"
	"errors"
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
// without EXPLAIN, and none that it cannot read: the parser says what is wrong with that one.
//
// The arguments of a statement keep their numbers.
func Rewrite(text string) (Rewritten, error) {
	unchanged := Rewritten{Text: text}
	if !suspect(text) {
		return unchanged, nil
	}
	l := &lexer{text: text, arrays: true}
	if l.run() != nil {
		return unchanged, nil
	}
	l.endsAtText()
	first := 0
	for l.tokens[first].Matches(";") {
		first++
	}
	if l.tokens[first].Matches("EXPLAIN") {
		first++
	}
	t := l.tokens[first]
	if !t.Matches("SELECT") && !t.Matches("WITH") && !t.Matches("VALUES") || numberParameters(l.tokens) != nil {
		return unchanged, nil
	}
	var err error
	for _, h := range l.hints {
		if unchanged.Settings, err = h.settings(unchanged.Settings); err != nil {
			return unchanged, err
		}
	}
	p := &queryParser{tokens: l.tokens[first:], dialect: Native}
	q, err := p.parse()
	switch {
	case p.formed:
		return unchanged, err
	case err != nil:
		return unchanged, nil
	}
	if unchanged.Settings, err = joined(unchanged.Settings, q.Settings); err != nil {
		return unchanged, err
	}
	d := &desugaring{tokens: l.tokens, source: []rune(text), made: make(map[Node]bool)}
	return d.rewrite(q, unchanged)
}

// joined adds the settings of a WITH to those of comments.
func joined(settings, more []Option) ([]Option, error) {
	for _, o := range more {
		if slices.ContainsFunc(settings, func(have Option) bool { return have.Name.Text == o.Name.Text }) {
			return nil, sqlerr.New(sqlerr.Invalid, "setting %s is given twice", o.Name.Text).At(o.Name.Position)
		}
		settings = append(settings, o)
	}
	return settings, nil
}

// rewrite desugars the statement's query.
func (d *desugaring) rewrite(q *Query, unchanged Rewritten) (out Rewritten, err error) {
	defer func() {
		switch stop := recover().(type) {
		case nil:
		case *sqlerr.Error:
			out, err = unchanged, stop
		default:
			panic(stop)
		}
	}()
	d.clauses(q)
	Replace(q, d.expr)
	if d.count == 0 {
		return unchanged, nil
	}
	for _, t := range d.tokens {
		if t.Kind == KindParameter && t.Text == "?" {
			d.edits = append(d.edits, edit{t.Position, t.End, []any{"?" + strconv.Itoa(t.Parameter)}})
		}
	}
	r := &renderer{d: d}
	r.traced, r.splice = true, r.original
	r.between(1, len(d.source)+1, q)
	return Rewritten{Text: r.String(), Settings: unchanged.Settings, origin: r.origin}, nil
}

// renderer writes a desugared statement: what was not touched as it was written.
type renderer struct {
	printer
	d *desugaring
}

// original writes a node as it was written, but for what was made inside it. It returns false for
// a node that was made.
func (r *renderer) original(n Node) bool {
	if r.d.made[n] {
		return false
	}
	at := r.at
	r.between(n.Pos(), n.End(), n)
	r.at = at
	return true
}

// between writes the characters from one position up to another, which have the node n among them.
func (r *renderer) between(from, to int, n Node) {
	var edits []edit
	for _, e := range r.d.edits {
		if e.from >= from && e.to <= to {
			edits = append(edits, e)
		}
	}
	Walk(n, func(c Node) bool {
		if r.d.made[c] {
			edits = append(edits, edit{c.Pos(), c.End(), []any{c}})
		}
		return !r.d.made[c]
	})
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from == b.from && (a.from == a.to) != (b.from == b.to) {
			return cmp.Compare(a.to, b.to) // what is put before goes first
		}
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	for _, e := range edits {
		if e.from < from {
			continue // inside another one
		}
		r.copy(from, e.from)
		for _, part := range e.parts {
			r.from(min(e.from, len(r.d.source)))
			r.part(part)
		}
		from = e.to
	}
	r.copy(from, to)
}

func (r *renderer) part(part any) {
	if r.Len() > 2*maxStatement {
		panic(errTooManyForms(r.at))
	}
	switch part := part.(type) {
	case string:
		r.put(part)
	case Expr:
		r.expr(part)
	case *Expr:
		r.expr(*part)
	}
}

// copy writes characters of the statement.
func (r *renderer) copy(from, to int) {
	if r.Len() > 2*maxStatement {
		panic(errTooManyForms(from))
	}
	for i := from; i < to; i++ {
		r.at = i
		r.put(string(r.d.source[i-1]))
	}
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

// readSettings reads settings that are all of the tokens.
func readSettings(tokens []Token, settings []Option) ([]Option, error) {
	return (&parser{tokens: tokens}).settings(settings)
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
