// Package sqlfront turns text into statements and SELECTs into linear queries.
// It knows syntax, names and types; it reads no data and opens no database.
//
// A SELECT passes through github.com/xwb1989/sqlparser, a MySQL parser, behind
// a lexer of our own: the parser sees identifiers and literals as numbered
// placeholders only, so that none of its MySQL readings (double-quoted
// strings, backslash escapes, its keywords, its integers) can change what a
// statement means. The compiler behind it accepts a closed list of syntax
// nodes and refuses every other. The remaining statements are parsed by
// recursive descent over the same tokens.
//
// Every error is a *sqlerr.Error: Malformed for text that is not SQL,
// Unsupported for SQL outside the dialect, Unknown for a column that is not
// there, Invalid for a value that cannot be accepted. Positions are 1-based
// characters of the text given to Parse.
package sqlfront

import "dpsql/sqlerr"

// Parse parses exactly one statement, with or without its semicolon. It
// refuses a SELECT that is outside the dialect whatever the table; what
// depends on the table is left to Bind. A statement does not change after it is
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
func lexOne(text string) ([]token, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	for len(tokens) > 1 && tokens[0].is(";") {
		tokens = tokens[1:]
	}
	for i := range tokens {
		if tokens[i].kind == kindOperator && tokens[i].text == ";" {
			return cut(tokens, i)
		}
	}
	return tokens, nil
}

// cut ends the tokens at the semicolon with index i, behind which nothing but
// more semicolons may stand.
func cut(tokens []token, i int) ([]token, error) {
	for _, t := range tokens[i:] {
		if !t.is(";") && t.kind != kindEnd {
			return nil, sqlerr.New(sqlerr.Unsupported, "more than one statement at a time is outside the dialect").
				WithHint("send the statements one by one").At(t.position)
		}
	}
	end := token{kind: kindEnd, position: tokens[i].position}
	return append(tokens[:i:i], end), nil
}
