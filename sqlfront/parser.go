package sqlfront

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// parser walks the tokens of one statement, which end with a kindEnd.
type parser struct {
	tokens []token
	at     int
}

func (p *parser) peek() token { return p.tokens[p.at] }

// after returns the token n places ahead.
func (p *parser) after(n int) token {
	return p.tokens[min(p.at+n, len(p.tokens)-1)]
}

// next consumes a token; the end is never passed.
func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != kindEnd {
		p.at++
	}
	return t
}

// accept consumes the given keywords or operators when they come next.
func (p *parser) accept(sequence ...string) bool {
	for i, s := range sequence {
		if !p.after(i).is(s) {
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
	return t.malformed("expected %s, found %s", wanted, t.describe())
}

// maxName is the largest length of a name in bytes.
const maxName = 256

// name consumes an identifier.
func (p *parser) name(what string) (Name, error) {
	t := p.peek()
	switch {
	case t.kind == kindWord && reserved[t.upper]:
		return Name{}, t.malformed("expected %s, found the keyword %s", what, t.upper).
			WithHint("a name that is a keyword is quoted: \"%s\"", t.text)
	case t.kind == kindString:
		return Name{}, t.malformed("expected %s, found a string", what).
			WithHint("names are quoted with \"")
	case !t.isName():
		return Name{}, p.unexpected(what)
	case t.value == "":
		return Name{}, t.malformed("expected %s, found an empty name", what)
	case len(t.value) > maxName:
		return Name{}, sqlerr.New(sqlerr.Invalid, "a name has at most %d bytes", maxName).At(t.position)
	}
	p.at++
	return Name{t.value, t.position}, nil
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
		if seen[upperASCII(n.Text)] {
			return nil, sqlerr.New(sqlerr.Invalid, "column %s is listed twice", n.Text).At(n.Position)
		}
		seen[upperASCII(n.Text)] = true
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
	if t := p.peek(); t.kind != kindEnd {
		return t.malformed("unexpected %s after the end of the statement", t.describe())
	}
	return nil
}

// noParameters refuses parameters in a statement that takes none.
func (p *parser) noParameters() error {
	for _, t := range p.tokens {
		if t.kind == kindParameter {
			return t.unsupported("a parameter in this statement").
				WithHint("parameters stand for values in the WHERE clause of a SELECT")
		}
	}
	return nil
}

// statement parses the statement by its first word.
func (p *parser) statement() (Statement, error) {
	t := p.next()
	switch t.upper {
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
func (p *parser) command(first token) (Statement, error) {
	switch first.upper {
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
func noStatement(t token) error {
	if t.kind == kindEnd {
		return t.malformed("the statement is empty")
	}
	if hint, ok := foreign[t.upper]; ok {
		return t.unsupported(t.upper).WithHint("%s", hint)
	}
	err := t.malformed("no statement starts with %s", t.describe())
	if near := sqlerr.Closest(t.upper, slices.Values(native)); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("the statements are %s", strings.Join(native, ", "))
}
