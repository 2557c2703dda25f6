package syntax

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// This file has what PostgreSQL's dialect reads in a way of its own: tokens and reserved words.

// postgresToken reads one token, which begins with r, as PostgreSQL does.
func (l *lexer) postgresToken(r rune) (Token, error) {
	rest := l.text[l.offset:]
	next := byte(0)
	if len(rest) > 1 {
		next = rest[1]
	}
	switch {
	case (r == 'e' || r == 'E') && next == '\'':
		return l.escaped()
	case (r == 'n' || r == 'N') && next == '\'':
		return l.quoted(KindString, 1, '\'')
	case strings.ContainsRune("bBxX", r) && next == '\'', (r == 'u' || r == 'U') && next == '&':
		return Token{}, l.outside("a constant that begins with " + rest[:2])
	case isLetter(r), r >= utf8.RuneSelf:
		t := l.take(KindWord, spanOf(rest, func(r rune) bool { return isNamePart(r) || r >= utf8.RuneSelf }))
		t.Upper = UpperASCII(t.Text)
		return t, nil
	case isDigit(r), r == '.' && isDigit(rune(next)):
		return l.postgresNumber(), nil
	case r == '\'':
		return l.quoted(KindString, 0, '\'')
	case r == '"':
		return l.quoted(KindQuoted, 0, '"')
	case r == '$' && isDigit(rune(next)):
		t := l.take(KindParameter, 1+spanOf(rest[1:], isDigit))
		if n, err := strconv.Atoi(t.Text[1:]); err == nil && n <= math.MaxInt16 {
			t.Parameter = n
		}
		return t, nil
	case r == '$':
		return l.dollars()
	case strings.HasPrefix(rest, "::"):
		return l.take(KindOperator, 2), nil
	case strings.ContainsRune("()[],;.:", r):
		return l.take(KindOperator, 1), nil
	case isSign(r):
		return l.take(KindOperator, signs(rest)), nil
	}
	return Token{}, sqlerr.New(sqlerr.Malformed, "syntax error at %s", strconv.Quote(string(r))).At(l.position)
}

// outside refuses what PostgreSQL has and its dialect here has not.
func (l *lexer) outside(what string) error { return outsideCatalog(what, l.position) }

func outsideCatalog(what string, position int) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "%s is outside the catalog's dialect", what).At(position)
}

// nestedComment returns the length of the comment that a text begins with, in which others may be
// nested, or -1 if it does not end.
func nestedComment(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// escapes are what a backslash and a letter stand for in E'…'.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// escaped reads E'…', in which a backslash escapes.
func (l *lexer) escaped() (Token, error) {
	rest := l.text[l.offset:]
	var value strings.Builder
	for i := 2; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\'' && i+1 < len(rest) && rest[i+1] == '\'':
			value.WriteByte(c)
			i++
		case c == '\'':
			t := l.take(KindString, i+1)
			t.Value = value.String()
			return t, nil
		case c == '\\' && i+1 < len(rest):
			i++
			if strings.IndexByte("uUx01234567", rest[i]) >= 0 {
				return Token{}, l.outside(`the escape \` + rest[i:i+1])
			}
			if stands, ok := escapes[rest[i]]; ok {
				value.WriteByte(stands)
			} else {
				value.WriteByte(rest[i])
			}
		default:
			value.WriteByte(c)
		}
	}
	return Token{}, l.unterminated(KindString)
}

// dollars reads $tag$…$tag$.
func (l *lexer) dollars() (Token, error) {
	rest := l.text[l.offset:]
	if n := strings.IndexByte(rest[1:], '$'); n >= 0 {
		tag := rest[:n+2]
		if end := strings.Index(rest[len(tag):], tag); end >= 0 && !strings.ContainsAny(tag, " \t\n'\"(),;") {
			t := l.take(KindString, 2*len(tag)+end)
			t.Value = t.Text[len(tag) : len(tag)+end]
			return t, nil
		}
	}
	return Token{}, sqlerr.New(sqlerr.Malformed, `syntax error at "$"`).At(l.position)
}

func (l *lexer) postgresNumber() Token {
	rest := l.text[l.offset:]
	n := spanOf(rest, func(r rune) bool { return isDigit(r) || r == '.' })
	n += exponent(rest[n:])
	if spanOf(rest[:n], isDigit) < n {
		return l.take(KindDecimal, n)
	}
	return l.take(KindInteger, n)
}

func isSign(r rune) bool { return strings.ContainsRune("+-*/<>=~!@#%^&|`?", r) }

// signs returns the length of the operator that a text begins with: the longest, but that a
// comment ends it, and that one of several characters ends with + or - only if it has a character
// that standard SQL has not.
func signs(text string) int {
	n := spanOf(text, isSign)
	for _, mark := range []string{"--", "/*"} {
		if i := strings.Index(text[:n], mark); i > 0 {
			n = i
		}
	}
	for n > 1 && (text[n-1] == '+' || text[n-1] == '-') && !strings.ContainsAny(text[:n], "~!@#%^&|`?") {
		n--
	}
	return n
}

// reservedByPostgres are the words that are no names without quotes in PostgreSQL. They are put
// into sets when they are first looked up: a process that serves nobody does not pay for them.
var reservedByPostgres = wordsOnce(`ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC BOTH CASE CAST CHECK COLLATE COLUMN
	CONSTRAINT CREATE CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT
	DEFERRABLE DESC DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FROM GRANT GROUP HAVING IN INITIALLY INTERSECT
	INTO LATERAL LEADING LIMIT LOCALTIME LOCALTIMESTAMP NOT NULL OFFSET ON ONLY OR ORDER PLACING PRIMARY REFERENCES
	RETURNING SELECT SESSION_USER SOME SYMMETRIC TABLE THEN TO TRAILING TRUE UNION UNIQUE USER USING VARIADIC WHEN
	WHERE WINDOW WITH AUTHORIZATION BINARY COLLATION CONCURRENTLY CROSS CURRENT_SCHEMA FREEZE FULL ILIKE INNER IS ISNULL
	JOIN LEFT LIKE NATURAL NOTNULL OUTER OVERLAPS RIGHT SIMILAR TABLESAMPLE VERBOSE`)

// unaliased are the words that PostgreSQL takes as an alias of a select list behind AS only, beside
// those that are reserved.
var unaliased = wordsOnce(`OVER FILTER WITHIN PRECISION YEAR MONTH DAY HOUR MINUTE SECOND ARRAY`)

// niladic are the functions that PostgreSQL calls without parentheses.
var niladic = wordsOnce(`CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP
	CURRENT_USER LOCALTIME LOCALTIMESTAMP SESSION_USER USER`)

// IsNiladic reports whether a word in upper case is a function that PostgreSQL calls without
// parentheses, such as CURRENT_USER.
func IsNiladic(word string) bool { return niladic()[word] }

// ReservedByPostgres reports whether a word is no name without quotes in PostgreSQL.
func ReservedByPostgres(word string) bool { return reservedByPostgres()[UpperASCII(word)] }
