package syntax

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Reading is a statement as it was read, once: by this package if it is one of the dialect's own, and
// as a tree if it is a query. It never changes, and several goroutines may use it at once.
type Reading struct {
	Text       string
	Statement  Statement // nil for a query that is no private aggregate whatever its tables are, see Why; and before Literal
	Why        error     // nil if there is a Statement
	Parameters []string  // the names of the arguments in order, "" for one that is known by its number

	Tokens []Token // of a query, and of what Literal reads

	// Of SELECT, VALUES and WITH … SELECT, with or without EXPLAIN:
	Query         *Query // desugared; nil for other statements
	Explain, Full bool
	Settings      []Option // those that the statement has for itself, in the order of the text
	Shapes        []Shape  // of the parameters; nil if all are values

	given     bool     // the arguments, by Give
	intervals []bool   // by Intervals
	literals  []placed // by Literal
}

// Read reads exactly one statement, with or without its semicolon. Forms of other systems are turned
// into SQLite's. What has no place in any query is refused; a query that is outside the dialect of
// private aggregates is not: the SQL around them may take it.
func Read(text string) (*Reading, error) { return read(text, nil, nil) }

// read is Read, given the arguments and which parameters are intervals, or without them.
func read(text string, given []Given, intervals []bool) (*Reading, error) {
	tokens, hints, err := lexOne(text)
	if err != nil {
		return nil, err
	}
	r := &Reading{Text: text, Parameters: parameterNames(tokens), intervals: intervals}
	if slices.ContainsFunc(tokens, isIdentifier) { // what the statement is depends on the arguments
		r.Tokens = tokens
		return r, nil
	}
	first := 0
	if tokens[0].Matches("EXPLAIN") {
		first = 1
		if tokens[1].Matches("FULL") {
			first = 2
		}
	}
	if t := tokens[first]; t.Matches("SELECT") || t.Matches("WITH") || t.Matches("VALUES") {
		r.Explain, r.Full, r.Tokens = first > 0, first > 1, tokens[first:]
		for _, h := range hints {
			if r.Settings, err = h.settings(r.Settings); err != nil {
				return nil, err
			}
		}
		return r, r.query(given)
	}
	if len(r.Parameters) > 0 && hasLiterals[tokens[first].Upper] {
		r.Tokens = tokens
		return r, nil
	}
	r.Statement, err = (&parser{text: text, tokens: tokens}).statement()
	return r, err
}

// Literal reads a statement that is no query again, with its arguments written as literals where its parameters stand.
// So each takes an argument wherever it takes a literal, CREATE VIEW too, whose SELECT is not parsed here. A literal has one
// type and an argument may have another: one that the statement refuses is written as a text, or as the number that it
// is the text of. Positions in its errors are those of r; see Place for errors of the statement that it returns.
func (r *Reading) Literal(args []query.Value) (*Reading, error) {
	if len(args) != len(r.Parameters) {
		return nil, sqlerr.New(sqlerr.Invalid, "the statement has %d parameters, and %d arguments are given", len(r.Parameters), len(args))
	}
	other := make(map[int]error) // the errors of arguments that are written in their other type, by their parameter's position
	for {
		out, err := r.written(args, other)
		if err == nil {
			return out, nil
		}
		var e *sqlerr.Error
		if err = sqlerr.Move(err, out.Place); !errors.As(err, &e) {
			return nil, err
		}
		i, ok := indexAt(r.Tokens, e.Position)
		if !ok || r.Tokens[i].Kind != KindParameter {
			return nil, err
		}
		t := r.Tokens[i]
		if _, tried := other[t.Position]; tried || len(other) == maxOptions {
			if err = other[t.Position]; sqlerr.CodeOf(err) == sqlerr.Malformed {
				return nil, t.Malformed("the parameter %s cannot stand here", Excerpt(t.Text, 40)).
					WithHint("a parameter stands for a value, as a literal does, and never for a name or a keyword")
			}
			return nil, err
		}
		other[t.Position] = err
	}
}

// written is Literal with some arguments in their other type.
func (r *Reading) written(args []query.Value, other map[int]error) (*Reading, error) {
	var b strings.Builder
	text, from, n := []rune(r.Text), 0, 0
	out := &Reading{}
	for i, t := range r.Tokens {
		if t.Kind != KindParameter {
			continue
		}
		v := args[t.Parameter-1]
		_, changed := other[t.Position]
		if v.IsText() && isOption(r.Tokens, i) { // most options are numbers
			changed = !changed
		}
		literal := " " + literalOf(v, changed) + " " // - and -3 would be a comment
		if isIdentifier(t) {
			literal = `"` + strings.ReplaceAll(cmp.Or(v.Str(), v.String()), `"`, `""`) + `"`
		}
		b.WriteString(string(text[from : t.Position-1]))
		n += t.Position - 1 - from
		b.WriteString(literal)
		end := n + utf8.RuneCountInString(literal)
		out.literals = append(out.literals, placed{t.Position, t.End, n + 1, end + 1})
		from, n = t.End-1, end
	}
	b.WriteString(string(text[from:]))
	read, err := Read(b.String())
	if err != nil {
		return out, err
	}
	read.literals = out.literals
	return read, nil
}

// literalOf returns an argument as a literal: as the number that it is the text of, or as the text of a number, if it is to
// be changed.
func literalOf(v query.Value, changed bool) string {
	switch text := v.Str(); {
	case !changed:
	case v.IsText() && IsNumber(text):
		return text
	case v.IsInt() || v.IsNumber():
		return query.Text(v.String()).String()
	}
	return v.String()
}

// isIdentifier reports whether a token is a parameter that stands for an identifier.
func isIdentifier(t Token) bool { return t.Kind == KindParameter && strings.HasPrefix(t.Text, `:"`) }

// isOption reports whether a token is the value of an option: in SET, or in the parentheses behind WITH or SET.
func isOption(tokens []Token, i int) bool {
	if i < 2 || !tokens[i-1].Matches("=") {
		return false
	}
	for depth := 0; i > 1; i-- {
		switch t := tokens[i-1]; {
		case t.Matches(")"):
			depth++
		case t.Matches("(") && depth == 0:
			return tokens[i-2].Matches("WITH") || tokens[i-2].Matches("SET")
		case t.Matches("("):
			depth--
		}
	}
	return tokens[0].Matches("SET")
}

// placed is a literal in the place of a parameter: both from their first character to the one behind.
type placed struct{ from, to, now, end int }

// Place returns the position in the text before Literal of one in the text behind it.
func (r *Reading) Place(position int) int {
	at := position
	for _, l := range r.literals {
		switch {
		case position >= l.end:
			at = position - l.end + l.to
		case position >= l.now:
			at = l.from
		}
	}
	return at
}

// hasLiterals are the first words of the statements that have literals and are no queries.
var hasLiterals = map[string]bool{"CREATE": true, "ALTER": true, "SET": true, "EXPORT": true, "GRANT": true, "REFRESH": true, "RETIRE": true, "DROP": true, "ADVISE": true}

// Parse is Read of a statement that is one of the dialect's own, or a query that may be a private
// aggregate; sqlfront.Bind refuses others of these. A parsed statement never changes: several
// goroutines may bind a Select at once.
func Parse(text string) (Statement, error) {
	r, err := Read(text)
	if err != nil {
		return nil, err
	}
	if r.Statement == nil && r.Query == nil {
		return nil, (&parser{tokens: r.Tokens}).noParameters()
	}
	return r.Statement, r.Why
}

// query reads the query that the tokens are.
func (r *Reading) query(given []Given) (err error) {
	p := &queryParser{tokens: r.Tokens, dialect: Native}
	if r.Query, err = p.parse(); err != nil {
		if p.certain || p.formed || r.Tokens[0].Matches("VALUES") {
			return err
		}
		return unreadable(r.Tokens, err)
	}
	if r.Settings, err = joined(r.Settings, r.Query.Settings); err != nil {
		return err
	}
	if q := r.Query; q.Settings != nil {
		i, _ := indexAt(r.Tokens, q.settingsAt)
		q.Settings, q.to = nil, r.Tokens[i-1].End
	}
	if formed(r.Tokens) || p.renamed || given != nil {
		if err = r.desugar(given); err != nil {
			return err
		}
		switch depth := nesting(r.Query); {
		case depth > maxDepth:
			return errTooDeep(r.Tokens[0])
		case depth > maxNesting:
			r.Why = errTooDeep(r.Tokens[0])
			return nil
		}
	}
	r.Statement, r.Why = r.aggregate()
	return nil
}

// desugar turns the forms in the query into SQLite's, given the arguments of its parameters or not.
func (r *Reading) desugar(given []Given) error {
	n := len(r.Parameters)
	d := &desugaring{tokens: r.Tokens, text: r.Text, shapes: shapesOf(n, given, r.intervals)}
	if err := d.desugar(r.Query); err != nil {
		return err
	}
	if slices.ContainsFunc(d.of, func(s Shape) bool { return s.Kind != ValueShape }) {
		r.Shapes, r.given = d.of, given != nil
	}
	for _, g := range given {
		r.Parameters = append(r.Parameters, make([]string, max(g.Length-1, 0))...)
	}
	return nil
}

// Shape is what a parameter stands for, if that is more than a value. Its argument decides what the statement is, and is
// known only when it runs: the statement is read again then, see Give, and has in the parameter's place what a literal
// would have made.
type Shape struct {
	Kind     ShapeKind
	Position int // of the parameter where it first stands so
}

// ShapeKind says which arguments a parameter takes.
type ShapeKind int

// The kinds. One of ArrayShape is behind ANY or ALL, or a list in IN (…), one of UnitShape is the unit of DATE_TRUNC or the field of DATE_PART, and
// one of IntervalShape is $1::interval, or has this type from the client.
const (
	ValueShape ShapeKind = iota
	ArrayShape
	UnitShape
	IntervalShape
)

// Given is what must be known of an argument: the number of values of a list, or the text of a unit or an interval. The values
// of a list are arguments: the first stands in the place of the list, the others behind all arguments, list by list.
type Given struct {
	List   bool
	Length int
	Text   string
}

// Give reads the statement again, given its arguments.
func (r *Reading) Give(given []Given) (*Reading, error) { return read(r.Text, given, r.intervals) }

// Intervals reads the statement again, given which of its parameters are intervals where the text does not say so.
func (r *Reading) Intervals(intervals []bool) (*Reading, error) { return read(r.Text, nil, intervals) }

// Open returns an error if the statement must be given its arguments first.
func (r *Reading) Open() error {
	for _, s := range r.Shapes {
		switch {
		case r.given:
		case s.Kind == ArrayShape:
			return Token{Position: s.Position}.Unsupported("an array as an argument").
				WithHint("give each value an argument of its own: x IN ($1, $2)")
		case s.Kind == UnitShape:
			return Token{Position: s.Position}.Unsupported("a unit as an argument").WithHint("write the unit: date_trunc('month', x)")
		case s.Kind == IntervalShape:
			return Token{Position: s.Position}.Unsupported("an interval as an argument").WithHint("write the interval: x - INTERVAL '3 days'")
		}
	}
	return nil
}

// formWords are the words that the forms of other systems begin with, or have in them.
var formWords = words(`CAST EXTRACT DATE_TRUNC DATE_PART ILIKE INTERVAL DATE TIMESTAMP NOW FETCH OFFSET ALL TOP LOCALTIMESTAMP
	PUBLIC GREATEST LEAST COUNTIF COUNT_IF SAFE_DIVIDE DIV0NULL IF IFF ISNULL COUNT_BIG NVL LEFT RIGHT POSITION SUBSTRING TO_CHAR
	CHAR_LENGTH CHARACTER_LENGTH YEAR MONTH DAY QUARTER HOUR MINUTE SECOND NULLIF WITHIN QUANTILE_CONT QUANTILE_DISC E ANY SOME QUALIFY GENERATE_SERIES
	RATIO_TO_REPORT TRIM MAKE_INTERVAL UNNEST STDEV STDEVP VAR VARP STRPOS BTRIM TIMESTAMPTZ AT TIMEZONE TO_TIMESTAMP TO_DATE TIME
	ASCII CHR STARTS_WITH DIV WIDTH_BUCKET SYMMETRIC ASYMMETRIC`)

// formed reports whether a query may have a form of another system. Most have none.
func formed(tokens []Token) bool {
	return slices.ContainsFunc(tokens, func(t Token) bool {
		switch t.Kind {
		case KindWord:
			return formWords[t.Upper]
		case KindQuoted:
			return formWords[UpperASCII(t.Value)]
		}
		return t.Matches("::") || t.Matches("~")
	})
}

// unreadable returns the error for tokens that are no query, for the reason why: a word that no query
// has says more.
func unreadable(tokens []Token, why error) error {
	if err := checkDepth(tokens); err != nil {
		return err
	}
	if err := (&Tokens{tokens: tokens}).refused(); err != nil {
		return err
	}
	return why
}

// aggregate returns the statement that the query is if it may be a private aggregate, or says why not.
func (r *Reading) aggregate() (Statement, error) {
	if err := checkDepth(r.Tokens); err != nil {
		return nil, err
	}
	if t := r.Tokens[0]; t.Matches("VALUES") {
		return nil, noStatement(t)
	}
	s, err := aggregate(r.Query, r.Tokens, len(r.Parameters))
	if err != nil {
		return nil, err
	}
	if r.Explain {
		return &Explain{s, r.Full}, nil
	}
	return s, nil
}

// Aggregate returns a query as a Select of the restricted dialect, or refuses it. The query has its
// places among the tokens of a statement, and takes a number of arguments.
func Aggregate(q *Query, tokens []Token, parameters int) (*Select, error) {
	if nesting(q) > maxNesting {
		return nil, errTooDeep(Token{Position: q.Pos()})
	}
	return aggregate(q, tokens, parameters)
}

// aggregate is Aggregate of a query that is not nested too deeply.
func aggregate(q *Query, tokens []Token, parameters int) (*Select, error) {
	s, err := lowered(q, tokens)
	if err != nil {
		return nil, err
	}
	s.Parameters = parameters
	s.Tables = s.tables()
	s.Table = s.Tables[0]
	return s, nil
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
		if tokens[i].Position += h.position - 1; tokens[i].Kind == KindParameter {
			return nil, tokens[i].Malformed("a parameter cannot stand in a comment").WithHint("write WITH %s behind the query", strings.TrimSpace(h.text))
		}
	}
	if len(tokens) == 1 {
		return settings, nil
	}
	return readSettings(tokens, settings)
}
