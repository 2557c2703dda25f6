// Package syntax parses the dialect: text into statements, and scripts into
// texts. It looks up no name and knows no table; sqlfront binds what it parsed.
//
// A SELECT passes through github.com/xwb1989/sqlparser, a MySQL parser, behind
// a lexer of our own. That parser sees identifiers and literals as numbered
// placeholders only, so none of its MySQL readings (double-quoted strings,
// backslash escapes, its keywords, its integers) can change what a statement
// means. A Select has the parser's tree, and the Tokens that its placeholders
// stand for. The other statements are parsed by recursive descent over the same
// tokens.
//
// Every error is a *sqlerr.Error: Malformed for text that is not SQL,
// Unsupported for SQL outside the dialect, Invalid for a value that cannot be
// accepted. Positions are 1-based characters of the text given to Parse.
package syntax

import "dpsql/sqlerr"

// Parse parses exactly one statement, with or without its semicolon. It
// refuses a SELECT that is outside the dialect whatever the table; what
// depends on the table is left to sqlfront.Bind. A statement does not change after it is
// parsed: a Select may be bound by several goroutines at once.
func Parse(text string) (Statement, error) {
	s, _, err := ParseWithParameters(text)
	return s, err
}

// ParseWithParameters parses a statement as Parse does, and returns what
// Parameters returns for it.
func ParseWithParameters(text string) (Statement, []string, error) {
	tokens, err := lexOne(text)
	if err != nil {
		return nil, nil, err
	}
	p := &parser{tokens: tokens}
	s, err := p.statement()
	if err != nil {
		return nil, nil, err
	}
	return s, parameterNames(tokens), nil
}

// lexOne returns the tokens of the one statement in the text, without its
// semicolon.
func lexOne(text string) ([]Token, error) {
	tokens, err := Lex(text)
	if err != nil {
		return nil, err
	}
	for len(tokens) > 1 && tokens[0].Is(";") {
		tokens = tokens[1:]
	}
	for i := range tokens {
		if tokens[i].Kind == KindOperator && tokens[i].Text == ";" {
			return cut(tokens, i)
		}
	}
	return tokens, nil
}

// cut ends the tokens at the semicolon with index i, behind which nothing but
// more semicolons may stand.
func cut(tokens []Token, i int) ([]Token, error) {
	for _, t := range tokens[i:] {
		if !t.Is(";") && t.Kind != KindEnd {
			return nil, sqlerr.New(sqlerr.Unsupported, "more than one statement at a time is outside the dialect").
				WithHint("send the statements one by one").At(t.Position)
		}
	}
	end := Token{Kind: KindEnd, Position: tokens[i].Position}
	return append(tokens[:i:i], end), nil
}
