package sqlfront

import "slices"

// expression is a common table expression.
type expression struct {
	name Name
	body *Select
}

// maxExpressions bounds the common table expressions of a statement.
const maxExpressions = 100

// parseWith parses the WITH clause that the tokens may start with, and returns
// what follows it. An expression sees those before it.
func parseWith(tokens []token, outer []expression) ([]token, []expression, error) {
	if !tokens[0].is("WITH") {
		return tokens, outer, nil
	}
	with := slices.Clone(outer)
	p := &parser{tokens: tokens, at: 1}
	if t := p.peek(); t.is("RECURSIVE") && p.after(1).isName() {
		return nil, nil, t.unsupported("WITH RECURSIVE")
	}
	for {
		e, err := p.expression(with)
		if err != nil {
			return nil, nil, err
		}
		if with = append(with, e); len(with) > maxExpressions {
			return nil, nil, tokens[0].unsupported("a WITH of this many expressions")
		}
		if !p.accept(",") {
			break
		}
	}
	if t := p.peek(); !t.is("SELECT") {
		if isForeign(t) && t.kind == kindWord {
			return nil, nil, t.unsupported(t.upper).WithHint("%s", foreign[t.upper])
		}
		return nil, nil, p.unexpected("SELECT")
	}
	return p.tokens[p.at:], with, nil
}

// expression parses name [(columns)] AS (SELECT …).
func (p *parser) expression(with []expression) (expression, error) {
	name, err := p.name("a name")
	if err != nil {
		return expression{}, err
	}
	var columns []Name
	if p.peek().is("(") {
		if columns, err = p.names("a column"); err != nil {
			return expression{}, err
		}
	}
	if err := p.expect("AS"); err != nil {
		return expression{}, err
	}
	if t := p.peek(); t.is("MATERIALIZED") || t.is("NOT") {
		return expression{}, t.unsupported("MATERIALIZED")
	}
	if !p.peek().is("(") {
		return expression{}, p.unexpected("(")
	}
	inner, end, err := inParentheses(p.tokens, p.at)
	if err != nil {
		return expression{}, err
	}
	body, err := parseSelect(inner, with)
	if err != nil {
		return expression{}, err
	}
	body.columns = columns
	p.at = end + 1
	return expression{name, body}, nil
}

// inParentheses returns the tokens inside the parenthesis that opens at an
// index, which must be a SELECT, and the index of the one that closes it.
func inParentheses(tokens []token, open int) (inner []token, end int, err error) {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch {
		case tokens[i].is("("):
			depth++
		case tokens[i].is(")"):
			depth--
		}
		if depth == 0 {
			inner = append(slices.Clone(tokens[open+1:i]), token{kind: kindEnd, text: ")", position: tokens[i].position})
			if first := inner[0]; !first.is("SELECT") && !first.is("WITH") {
				return nil, 0, first.malformed("expected SELECT, found %s", first.describe())
			}
			return inner, i, nil
		}
	}
	last := tokens[len(tokens)-1]
	return nil, 0, last.malformed("the statement ends too early").WithHint("a parenthesis is not closed")
}

// openFrom parses the sub-selects in FROM and puts one name in the place of
// each, so that the SELECT itself has none. The sub-selects are returned by the
// position of their names.
func openFrom(tokens []token, with []expression) ([]token, map[int]*Select, error) {
	nested := false
	for i := 1; i < len(tokens) && !nested; i++ {
		nested = tokens[i].selects()
	}
	if !nested {
		return tokens, nil, nil
	}
	subs := make(map[int]*Select)
	out := make([]token, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if next := i + 1; t.is("(") && next < len(tokens) && tokens[next].selects() && inFrom(out) {
			inner, end, err := inParentheses(tokens, i)
			if err != nil {
				return nil, nil, err
			}
			if subs[t.position], err = parseSelect(inner, with); err != nil {
				return nil, nil, err
			}
			t = token{kind: kindQuoted, text: "(…)", position: t.position}
			i = end
		}
		out = append(out, t)
	}
	return out, subs, nil
}

// selects reports whether a SELECT can start with the token.
func (t *token) selects() bool {
	return t.kind == kindWord && (t.upper == "SELECT" || t.upper == "WITH")
}

// inFrom reports whether a table can stand behind the tokens.
func inFrom(before []token) bool {
	i := len(before) - 1
	for i >= 0 && before[i].is("(") {
		i--
	}
	return i >= 0 && (before[i].is("FROM") && !(i > 0 && before[i-1].is("DISTINCT")) || before[i].is("JOIN"))
}
