package syntax

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
func parseWith(tokens []Token, outer []expression) ([]Token, []expression, error) {
	if !tokens[0].Is("WITH") {
		return tokens, outer, nil
	}
	with := slices.Clone(outer)
	p := &parser{tokens: tokens, at: 1}
	if t := p.peek(); t.Is("RECURSIVE") && p.after(1).isName() {
		return nil, nil, t.Unsupported("WITH RECURSIVE")
	}
	for {
		e, err := p.expression(with)
		if err != nil {
			return nil, nil, err
		}
		if with = append(with, e); len(with) > maxExpressions {
			return nil, nil, tokens[0].Unsupported("a WITH of this many expressions")
		}
		if !p.accept(",") {
			break
		}
	}
	if t := p.peek(); !t.Is("SELECT") {
		if isForeign(t) && t.Kind == KindWord {
			return nil, nil, t.Unsupported(t.Upper).WithHint("%s", foreign[t.Upper])
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
	if p.peek().Is("(") {
		if columns, err = p.names("a column"); err != nil {
			return expression{}, err
		}
	}
	if err := p.expect("AS"); err != nil {
		return expression{}, err
	}
	if t := p.peek(); t.Is("MATERIALIZED") || t.Is("NOT") {
		return expression{}, t.Unsupported("MATERIALIZED")
	}
	if !p.peek().Is("(") {
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
	body.Columns = columns
	p.at = end + 1
	return expression{name, body}, nil
}

// inParentheses returns the tokens inside the parenthesis that opens at an
// index, which must be a SELECT, and the index of the one that closes it.
func inParentheses(tokens []Token, open int) (inner []Token, end int, err error) {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch {
		case tokens[i].Is("("):
			depth++
		case tokens[i].Is(")"):
			depth--
		}
		if depth == 0 {
			inner = append(slices.Clone(tokens[open+1:i]), Token{Kind: KindEnd, Text: ")", Position: tokens[i].Position})
			if first := inner[0]; !first.Is("SELECT") && !first.Is("WITH") {
				return nil, 0, first.Malformed("expected SELECT, found %s", first.describe())
			}
			return inner, i, nil
		}
	}
	last := tokens[len(tokens)-1]
	return nil, 0, last.Malformed("the statement ends too early").WithHint("a parenthesis is not closed")
}

// openFrom parses the sub-selects in FROM and puts one name in the place of
// each, so that the SELECT itself has none. The sub-selects are returned by the
// position of their names.
func openFrom(tokens []Token, with []expression) ([]Token, map[int]*Select, error) {
	nested := false
	for i := 1; i < len(tokens) && !nested; i++ {
		nested = tokens[i].selects()
	}
	if !nested {
		return tokens, nil, nil
	}
	subs := make(map[int]*Select)
	out := make([]Token, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if next := i + 1; t.Is("(") && next < len(tokens) && tokens[next].selects() && inFrom(out) {
			inner, end, err := inParentheses(tokens, i)
			if err != nil {
				return nil, nil, err
			}
			if subs[t.Position], err = parseSelect(inner, with); err != nil {
				return nil, nil, err
			}
			t = Token{Kind: KindQuoted, Text: "(…)", Position: t.Position}
			i = end
		}
		out = append(out, t)
	}
	return out, subs, nil
}

// selects reports whether a SELECT can start with the token.
func (t *Token) selects() bool {
	return t.Kind == KindWord && (t.Upper == "SELECT" || t.Upper == "WITH")
}

// inFrom reports whether a table can stand behind the tokens.
func inFrom(before []Token) bool {
	i := len(before) - 1
	for i >= 0 && before[i].Is("(") {
		i--
	}
	return i >= 0 && (before[i].Is("FROM") && !(i > 0 && before[i-1].Is("DISTINCT")) || before[i].Is("JOIN"))
}
