package definition

import (
	"errors"
	"slices"
	"strings"
)

type tokenKind uint8

const (
	end     tokenKind = iota
	word              // an unquoted name or keyword
	name              // a quoted name
	text              // a string, without quotes
	literal           // a number or blob
	sign              // an operator, or punctuation
)

type token struct {
	kind   tokenKind
	text   string // a name or string without its quotes; else as written
	double bool   // a name in double quotes
}

// errText is returned for a definition that is not understood.
var errText = errors.New("the definition is not understood")

// signs are SQLite's operators. Longer ones come before their prefixes.
var signs = []string{"->>", "->", "<<", "<=", "<>", ">>", ">=", "==", "!=", "||",
	"(", ")", ",", ".", ";", "+", "-", "*", "/", "%", "=", "<", ">", "&", "|", "~"}

// scan cuts a text into tokens as SQLite does.
func scan(s string) ([]token, error) {
	var out []token
	for {
		s = skip(s)
		if s == "" {
			return out, nil
		}
		t, rest, err := next(s)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
		s = rest
	}
}

// byteOrderMark is white space at the beginning of a token, and part of a name
// elsewhere.
const byteOrderMark = "\ufeff"

// skip drops white space and comments.
func skip(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\n\f\r")
		var closing string
		switch {
		case strings.HasPrefix(s, byteOrderMark):
			s = s[len(byteOrderMark):]
			continue
		case strings.HasPrefix(s, "--"):
			closing = "\n"
		case strings.HasPrefix(s, "/*") && len(s) > 2: // SQLite takes a /* at the end of the text for two operators
			closing = "*/"
		default:
			return s
		}
		_, after, found := strings.Cut(s[2:], closing)
		if !found {
			return ""
		}
		s = after
	}
}

func next(s string) (token, string, error) {
	switch c := s[0]; {
	case c == '\'':
		return quoted(s, text, '\'')
	case c == '"', c == '`':
		return quoted(s, name, c)
	case c == '[':
		inner, rest, found := strings.Cut(s[1:], "]")
		if !found {
			return token{}, "", errText
		}
		return token{kind: name, text: inner}, rest, nil
	case (c == 'x' || c == 'X') && strings.HasPrefix(s[1:], "'"):
		t, rest, err := quoted(s[1:], literal, '\'')
		t.text = "x'" + t.text // so that it is not taken for a number
		return t, rest, err
	case digit(c), c == '.' && len(s) > 1 && digit(s[1]):
		n := number(s)
		if n < len(s) && inWord(s[n]) {
			return token{}, "", errText
		}
		return token{kind: literal, text: s[:n]}, s[n:], nil
	case inWord(c) && c != '$':
		n := 1
		for n < len(s) && inWord(s[n]) {
			n++
		}
		return token{kind: word, text: s[:n]}, s[n:], nil
	}
	for _, sign_ := range signs {
		if rest, ok := strings.CutPrefix(s, sign_); ok {
			return token{kind: sign, text: sign_}, rest, nil
		}
	}
	return token{}, "", errText
}

// quoted reads up to the closing quote. Two quotes stand for one.
func quoted(s string, kind tokenKind, quote byte) (token, string, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != quote:
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == quote:
			b.WriteByte(quote)
			i++
		default:
			return token{kind: kind, text: b.String(), double: quote == '"'}, s[i+1:], nil
		}
	}
	return token{}, "", errText
}

// number returns the length of a number.
func number(s string) int {
	i := 0
	digits := func() {
		for i < len(s) && digit(s[i]) {
			i++
		}
	}
	if digits(); i < len(s) && s[i] == '.' {
		i++
		digits()
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if i == len(s) || !digit(s[i]) {
			return j // the letter behind the number makes the caller refuse it
		}
		digits()
	}
	return i
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// inWord reports whether a byte may be part of an unquoted name. All bytes from 0x80 up
// may, because SQLite knows no other letters or blanks there.
func inWord(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// keywords are SQLite's, without those that play no part in a SELECT and that SQLite
// takes for names wherever they are. An unquoted keyword is refused as a name, though
// SQLite allows some, because its meaning would depend on its place.
const keywords = `ADD ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEGIN BETWEEN BY CASE CAST CHECK COLLATE COLUMN COMMIT
	CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DEFAULT DEFERRABLE DEFERRED DELETE DESC DETACH DISTINCT DO
	DROP ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS EXPLAIN FILTER FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP GROUPS HAVING
	IF IN INDEX INDEXED INNER INSERT INTERSECT INTO IS ISNULL JOIN LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NOT NOTHING NOTNULL NULL NULLS
	OFFSET ON OR ORDER OTHERS OUTER OVER PARTITION PRAGMA PRECEDING PRIMARY RAISE RANGE RECURSIVE REFERENCES REGEXP REINDEX RETURNING RIGHT
	ROW ROWS SELECT SET TABLE TEMPORARY THEN TIES TO TRANSACTION UNBOUNDED UNION UNIQUE UPDATE USING VACUUM VALUES WHEN WHERE WINDOW WITH WITHIN WITHOUT`

func isKeyword(word string) bool {
	return slices.Contains(strings.Fields(keywords), strings.ToUpper(word))
}
