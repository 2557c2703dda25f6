package syntax

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// parser walks the tokens of one statement, which end with a KindEnd.
type parser struct {
	tokens []Token
	at     int
}

func (p *parser) peek() Token { return p.tokens[p.at] }

// after returns the token n places ahead.
func (p *parser) after(n int) Token {
	return p.tokens[min(p.at+n, len(p.tokens)-1)]
}

// next consumes a token; the end is never passed.
func (p *parser) next() Token {
	t := p.tokens[p.at]
	if t.Kind != KindEnd {
		p.at++
	}
	return t
}

// accept consumes the given keywords or operators when they come next.
func (p *parser) accept(sequence ...string) bool {
	for i, s := range sequence {
		if !p.after(i).Is(s) {
			return false
		}
	}
	p.at += len(sequence)
	return true
}

// expect consumes the given keywords or operators, or fails at the first
// that is missing.
func (p *parser) expect(sequence ...string) error {
	for _, s := range sequence {
		if !p.accept(s) {
			return p.unexpected(s)
		}
	}
	return nil
}

// unexpected returns the syntax error for a next token that is not what is
// wanted.
func (p *parser) unexpected(wanted string) error {
	t := p.peek()
	return t.Malformed("expected %s, found %s", wanted, t.describe())
}

// maxName is the largest length of a name in bytes.
const maxName = 256

// name consumes an identifier.
func (p *parser) name(what string) (Name, error) {
	t := p.peek()
	switch {
	case t.Kind == KindWord && reserved[t.Upper]:
		return Name{}, t.Malformed("expected %s, found the keyword %s", what, t.Upper).
			WithHint("a name that is a keyword is quoted: \"%s\"", t.Text)
	case t.Kind == KindString:
		return Name{}, t.Malformed("expected %s, found a string", what).
			WithHint("names are quoted with \"")
	case !t.isName():
		return Name{}, p.unexpected(what)
	case t.Value == "":
		return Name{}, t.Malformed("expected %s, found an empty name", what)
	case len(t.Value) > maxName:
		return Name{}, sqlerr.New(sqlerr.Invalid, "a name has at most %d bytes", maxName).At(t.Position)
	}
	p.at++
	return Name{t.Value, t.Position}, nil
}

// names consumes a parenthesised list of different identifiers.
func (p *parser) names(what string) ([]Name, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var names []Name
	seen := make(map[string]bool)
	for {
		n, err := p.name(what)
		if err != nil {
			return nil, err
		}
		if seen[UpperASCII(n.Text)] {
			return nil, sqlerr.New(sqlerr.Invalid, "column %s is listed twice", n.Text).At(n.Position)
		}
		seen[UpperASCII(n.Text)] = true
		if names = append(names, n); p.accept(",") {
			continue
		}
		return names, p.expectClose()
	}
}

// expectClose consumes the parenthesis that ends a list.
func (p *parser) expectClose() error {
	if !p.accept(")") {
		return p.unexpected(", or )")
	}
	return nil
}

// end refuses anything after the statement.
func (p *parser) end() error {
	if t := p.peek(); t.Kind != KindEnd {
		return t.Malformed("unexpected %s after the end of the statement", t.describe())
	}
	return nil
}

// noParameters refuses parameters in a statement that takes none.
func (p *parser) noParameters() error {
	for _, t := range p.tokens {
		if t.Kind == KindParameter {
			return t.Unsupported("a parameter in this statement").
				WithHint("parameters stand for values in the WHERE clause of a SELECT")
		}
	}
	return nil
}

// statement parses the statement by its first word.
func (p *parser) statement() (Statement, error) {
	t := p.next()
	switch t.Upper {
	case "SELECT", "WITH":
		p.at--
		return p.selectStatement()
	case "EXPLAIN":
		return p.explain()
	}
	if err := p.noParameters(); err != nil {
		return nil, err
	}
	s, err := p.command(t)
	if err != nil {
		return nil, err
	}
	return s, p.end()
}

// command parses a statement other than a query, whose first token is passed.
func (p *parser) command(first Token) (Statement, error) {
	switch first.Upper {
	case "CREATE":
		return p.create()
	case "ALTER":
		if p.accept("PRIVATE", "TABLE") {
			return p.alter()
		}
	case "DROP":
		return p.drop()
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC":
		table, err := p.name("a table")
		return &Describe{table}, err
	case "SET":
		o, err := p.option("a setting")
		return &Set{o}, err
	case "EXPORT":
		return p.export()
	}
	return nil, noStatement(first)
}

// noStatement returns the error for a first token that starts no statement.
func noStatement(t Token) error {
	if t.Kind == KindEnd {
		return t.Malformed("the statement is empty")
	}
	if hint, ok := foreign[t.Upper]; ok {
		return t.Unsupported(t.Upper).WithHint("%s", hint)
	}
	err := t.Malformed("no statement starts with %s", t.describe())
	if near := sqlerr.Closest(t.Upper, slices.Values(native)); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("the statements are %s", strings.Join(native, ", "))
}
