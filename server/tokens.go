package server

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind int

const (
	kindEnd    kind = iota
	kindWord        // a name or keyword; value is in lower case
	kindQuoted      // a name in double quotes
	kindText        // a text in quotes
	kindNumber
	kindSign // any other character
)

// token is a token of PostgreSQL's syntax, as far as the statements of this package need it.
type token struct {
	kind       kind
	value      string
	start, end int // bytes of the text
}

// is reports whether the token is one of some keywords, in lower case, or signs.
func (t token) is(words ...string) bool {
	if t.kind != kindWord && t.kind != kindSign {
		return false
	}
	for _, w := range words {
		if t.value == w {
			return true
		}
	}
	return false
}

// named reports whether the token can be a name.
func (t token) named() bool { return t.kind == kindWord || t.kind == kindQuoted }

// tokens reads tokens from a text, one when it is wanted, and accepts any text: each statement of a client is
// looked at, most of them not beyond the first word, and what is not for this package is left to others. The
// lexer of package pgcatalog reads all of a statement at once, and refuses what PostgreSQL would.
type tokens struct {
	text string
	at   int
	next token
}

func tokenize(text string) *tokens {
	t := &tokens{text: text}
	t.advance()
	return t
}

// take returns the next token and passes it.
func (t *tokens) take() token {
	now := t.next
	t.advance()
	return now
}

// accept passes the next token if it is one of some words.
func (t *tokens) accept(words ...string) bool {
	if t.next.is(words...) {
		t.advance()
		return true
	}
	return false
}

// ended reports whether nothing follows but a semicolon.
func (t *tokens) ended() bool {
	t.accept(";")
	return t.next.kind == kindEnd
}

func (t *tokens) advance() {
	t.skip()
	rest := t.text[t.at:]
	start := t.at
	if rest == "" {
		t.next = token{kindEnd, "", start, start}
		return
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first == '\'':
		value, n := quoted(rest, '\'')
		t.at += n
		t.next = token{kindText, value, start, t.at}
	case first == '"':
		value, n := quoted(rest, '"')
		t.at += n
		t.next = token{kindQuoted, value, start, t.at}
	case first == '_' || unicode.IsLetter(first):
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(rest)
		}
		t.at += n
		t.next = token{kindWord, strings.ToLower(rest[:n]), start, t.at}
	case first >= '0' && first <= '9' || first == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(rest)
		}
		t.at += n
		t.next = token{kindNumber, rest[:n], start, t.at}
	default:
		t.at += size
		t.next = token{kindSign, rest[:size], start, t.at}
	}
}

// skip passes blanks and comments.
func (t *tokens) skip() {
	for {
		t.at += len(t.text[t.at:]) - len(strings.TrimLeftFunc(t.text[t.at:], unicode.IsSpace))
		switch rest := t.text[t.at:]; {
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			t.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				t.at = len(t.text)
			} else {
				t.at += end + 4
			}
		default:
			return
		}
	}
}

// quoted reads what is in quotes at the beginning of a text; a doubled quote is one. n is the
// number of bytes read: all, if the quote is not closed.
func quoted(text string, quote byte) (value string, n int) {
	var b strings.Builder
	for n = 1; n < len(text); n++ {
		if text[n] == quote {
			if n+1 == len(text) || text[n+1] != quote {
				return b.String(), n + 1
			}
			n++
		}
		b.WriteByte(text[n])
	}
	return b.String(), n
}

// firstWords returns up to n words at the beginning of a text, in upper case.
func firstWords(text string, n int) (words []string) {
	for t := tokenize(text); len(words) < n && t.next.kind == kindWord; {
		words = append(words, strings.ToUpper(t.take().value))
	}
	return words
}
