package server

import (
	"strings"
	"unicode/utf8"
)

// verbParser reads a statement to its end, also after an error: the first one counts.
type verbParser struct {
	*tokens
	text string
	err  error
}

func (p *verbParser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// unexpected refuses the next token.
func (p *verbParser) unexpected() {
	if p.next.kind == kindEnd {
		p.fail(failure("42601", "syntax error at the end of the statement").at(utf8.RuneCountInString(p.text) + 1))
		return
	}
	p.fail(failure("42601", "syntax error at %q", p.text[p.next.start:p.next.end]).at(p.characters(p.next.start) + 1))
}

// characters returns the number of characters before a byte of the text.
func (p *verbParser) characters(before int) int { return utf8.RuneCountInString(p.text[:before]) }

// expect passes a word that must be next.
func (p *verbParser) expect(words ...string) {
	if !p.accept(words...) {
		p.unexpected()
	}
}

// identifier reads a name.
func (p *verbParser) identifier() string {
	if !p.next.named() {
		p.unexpected()
		return ""
	}
	if len(p.next.value) > longestName {
		p.fail(tooLong())
	}
	return strings.Clone(p.take().value) // the text is let go
}

// rest takes what follows as a statement of its own.
func (p *verbParser) rest(v *verb) {
	if p.next.kind == kindEnd || p.next.is(";") {
		p.unexpected()
		return
	}
	v.inner, v.innerAt = p.text[p.next.start:], p.characters(p.next.start)
}

func parseName(p *verbParser, v *verb) bool {
	v.name = p.identifier()
	return true
}

func parseRefused(p *verbParser, v *verb) bool {
	p.fail(failure("0A000", "%s is not supported", v.word).at(1).withHint("this server answers SELECT under differential privacy; it has no rows to change"))
	return true
}

// parseVerb parses a statement, and returns nil if it is not one of this package.
func parseVerb(text string) (*verb, error) {
	t := tokenize(text)
	first := t.next
	if first.kind != kindWord {
		return nil, nil
	}
	p := &verbParser{tokens: t, text: text}
	parse := verbParsers()[first.value]
	if parse == nil {
		return nil, nil
	}
	t.take()
	v := &verb{word: strings.ToUpper(first.value)}
	ours := parse(p, v)
	if ours && v.inner == "" && !t.ended() {
		p.unexpected()
	}
	if p.err != nil || !ours {
		return nil, p.err
	}
	return v, nil
}
