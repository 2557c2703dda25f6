package server

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsql/sqlfront/syntax"
)

// lexText returns the tokens of a text, the last of them the end: in PostgreSQL's dialect or, where
// it is a statement of the engine within a verb, in ours. It has none if no dialect has such tokens;
// then the engine says why.
func lexText(text string) (tokens []syntax.Token, dialect syntax.Dialect) {
	for _, dialect = range []syntax.Dialect{syntax.Postgres, syntax.Native} {
		if tokens, err := dialect.Lex(text); err == nil {
			return tokens, dialect
		}
	}
	return nil, dialect
}

// firstWords returns up to n words that a statement begins with, in upper case.
func firstWords(tokens []syntax.Token, n int) (words []string) {
	for _, t := range tokens[:min(n, len(tokens))] {
		if t.Kind != syntax.KindWord {
			break
		}
		words = append(words, strings.Clone(t.Upper)) // the text is let go
	}
	return words
}

// verbParser reads a statement to its end, also after an error: the first one counts.
type verbParser struct {
	text   string
	tokens []syntax.Token // those behind next
	next   syntax.Token
	left   bool // the statement is one of the engine
	err    error
}

// parseVerb parses a statement, and returns nil if none of the verbs is meant.
func parseVerb(verbs map[string]*verbForm, text string, tokens []syntax.Token) (*verb, error) {
	if len(tokens) == 0 || verbs[tokens[0].Upper] == nil {
		return nil, nil
	}
	p := &verbParser{text: text, next: tokens[0], tokens: tokens[1:]}
	first := p.take().Upper
	v := &verb{verbForm: verbs[first]}
	v.word = cmp.Or(v.verbForm.word, strings.Clone(first))
	v.parse(p, v)
	switch {
	case p.left:
		return nil, nil
	case v.inner == "" && !p.ended():
		p.unexpected()
	}
	return v, p.err
}

// take returns the next token and passes it. The end is never passed.
func (p *verbParser) take() syntax.Token {
	now := p.next
	if len(p.tokens) > 0 {
		p.next, p.tokens = p.tokens[0], p.tokens[1:]
	}
	return now
}

// at reports whether the next token is one of some keywords, in upper case, or signs.
func (p *verbParser) at(words ...string) bool { return slices.ContainsFunc(words, p.next.Matches) }

// accept passes the next token if it is one of some words.
func (p *verbParser) accept(words ...string) bool {
	ok := p.at(words...)
	if ok {
		p.take()
	}
	return ok
}

// ended reports whether nothing follows but a semicolon.
func (p *verbParser) ended() bool {
	p.accept(";")
	return p.next.Kind == syntax.KindEnd
}

func (p *verbParser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// unexpected refuses the next token.
func (p *verbParser) unexpected() {
	if p.next.Kind == syntax.KindEnd {
		p.fail(failure("42601", "syntax error at the end of the statement").at(p.next.Position))
		return
	}
	p.fail(failure("42601", "syntax error at %q", p.next.Text).at(p.next.Position))
}

// expect passes a word that must be next.
func (p *verbParser) expect(words ...string) {
	if !p.accept(words...) {
		p.unexpected()
	}
}

// valueOf returns what a token stands for: a word in lower case, and what is in quotes.
func valueOf(t syntax.Token) string {
	if t.Kind == syntax.KindWord {
		return syntax.LowerASCII(t.Text)
	}
	return t.Value
}

// isName reports whether a token can be a name.
func isName(t syntax.Token) bool { return t.Kind == syntax.KindWord || t.Kind == syntax.KindQuoted }

// identifier reads a name.
func (p *verbParser) identifier() string {
	if !isName(p.next) {
		p.unexpected()
		return ""
	}
	if len(p.next.Value) > longestName {
		p.fail(tooLong())
	}
	return strings.Clone(valueOf(p.take())) // the text is let go
}

// within takes the text between two characters as a statement of its own.
func (p *verbParser) within(v *verb, from, to int) {
	start := byteAt(p.text, from)
	v.inner, v.innerAt = p.text[start:start+byteAt(p.text[start:], to-from+1)], from-1
}

// byteAt returns the byte at which a character of a text is, which is counted from 1.
func byteAt(text string, position int) (at int) {
	for ; position > 1; position-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// rest takes what follows as a statement of its own.
func (p *verbParser) rest(v *verb) {
	if p.next.Kind == syntax.KindEnd || p.at(";") {
		p.unexpected()
		return
	}
	p.within(v, p.next.Position, utf8.RuneCountInString(p.text)+1)
}

func parseName(p *verbParser, v *verb) { v.name = p.identifier() }

func parseRefused(p *verbParser, v *verb) {
	p.fail(failure("0A000", "%s is not supported", v.word).at(1).
		withHint("this server answers SELECT under differential privacy; it has no rows to change"))
}

func parseAllOrName(p *verbParser, v *verb) {
	if !p.accept("ALL") {
		parseName(p, v)
	}
}
