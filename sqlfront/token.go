package sqlfront

import (
	"unicode/utf8"

	"dpsql/sqlerr"
)

// kind classifies a token.
type kind uint8

const (
	kindEnd       kind = iota // the end of the statement
	kindWord                  // an unquoted identifier or keyword
	kindQuoted                // an identifier in "…", `…` or […]
	kindString                // '…'
	kindInteger               // decimal digits
	kindDecimal               // a number with a point or an exponent
	kindBlob                  // x'…'
	kindParameter             // ?, ?N, $N, :name, @name, $name
	kindOperator              // operators and punctuation
)

// token is one token of a statement.
type token struct {
	kind      kind
	text      string // as written
	value     string // a string's or identifier's value; else text
	upper     string // a word in ASCII upper case, to compare with keywords
	position  int    // 1-based character in the statement
	parameter int    // 1-based number of a parameter
}

// is reports whether the token is the given keyword or operator.
func (t token) is(s string) bool {
	return t.kind == kindWord && t.upper == s || t.kind == kindOperator && t.text == s
}

// isName reports whether the token can be an identifier.
func (t token) isName() bool {
	return t.kind == kindQuoted || t.kind == kindWord && !reserved[t.upper]
}

// startsOperand reports whether an expression can start with the token.
func (t token) startsOperand() bool {
	switch t.kind {
	case kindEnd:
		return false
	case kindOperator:
		return t.text == "(" || t.text == "-" || t.text == "+" || t.text == "~"
	case kindWord:
		return !reserved[t.upper] || t.upper == "NULL" || t.upper == "CASE"
	}
	return true
}

// endsOperand reports whether an expression can end with the token.
func (t token) endsOperand() bool {
	switch t.kind {
	case kindEnd:
		return false
	case kindOperator:
		return t.text == ")"
	case kindWord:
		return !keywords[t.upper] && !reserved[t.upper] || t.upper == "NULL" || t.upper == "END"
	}
	return true
}

// describe names the token in an error message.
func (t token) describe() string {
	if t.kind == kindEnd {
		return "the end of the statement"
	}
	return excerpt(t.text, 40)
}

// malformed returns a syntax error at the token.
func (t token) malformed(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.Malformed, format, args...).At(t.position)
}

// unsupported returns a refusal of the named construct at the token.
func (t token) unsupported(construct string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "%s is outside the dialect", construct).At(t.position)
}

// excerpt shortens a text to n characters.
func excerpt(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	at := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at] + "…"
}

// upperASCII folds as SQLite does: ASCII letters only.
func upperASCII(s string) string {
	i := 0
	for i < len(s) && upper(s[i]) == s[i] {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		b[i] = upper(b[i])
	}
	return string(b)
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
