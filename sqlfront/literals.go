package sqlfront

import (
	"strings"

	"dpsql/sqlerr"
)

// quoted reads a token in quotes. The quote sign is doubled inside, except in
// brackets; a backslash is an ordinary character. prefix is the number of
// bytes before the opening quote.
func (l *lexer) quoted(k kind, prefix int, end byte) (token, error) {
	rest := l.text[l.at:]
	n := prefix + 1
	for {
		i := strings.IndexByte(rest[n:], end)
		if i < 0 {
			return token{}, l.unterminated(k)
		}
		n += i + 1
		if end == ']' || n == len(rest) || rest[n] != end {
			break
		}
		n++
	}
	inner := rest[prefix+1 : n-1]
	t := l.take(k, n)
	t.value = inner
	if end != ']' {
		t.value = strings.ReplaceAll(inner, string([]byte{end, end}), string(end))
	}
	return t, nil
}

func (l *lexer) unterminated(k kind) error {
	what, hint := "string", "a quote inside a string is doubled: ''"
	if k == kindQuoted {
		what, hint = "quoted name", "close it with the same sign"
	}
	return sqlerr.New(sqlerr.Malformed, "unterminated %s", what).WithHint("%s", hint).At(l.position)
}

// number reads an integer or a decimal.
func (l *lexer) number() (token, error) {
	rest := l.text[l.at:]
	n := spanOf(rest, isDigit)
	k := kindInteger
	if n < len(rest) && rest[n] == '.' {
		k = kindDecimal
		n++
		n += spanOf(rest[n:], isDigit)
	}
	if e := exponent(rest[n:]); e > 0 {
		k = kindDecimal
		n += e
	}
	if tail := spanOf(rest[n:], isNamePart); tail > 0 {
		return token{}, l.badNumber(rest[:n], rest[n:n+tail])
	}
	return l.take(k, n), nil
}

// exponent returns the length of an exponent at the start of the text, or 0.
func exponent(text string) int {
	if text == "" || text[0] != 'e' && text[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(text) && (text[n] == '+' || text[n] == '-') {
		n++
	}
	digits := spanOf(text[n:], isDigit)
	if digits == 0 {
		return 0
	}
	return n + digits
}

// badNumber refuses a number with a name character directly after it.
func (l *lexer) badNumber(digits, tail string) error {
	switch {
	case digits == "0" && (tail[0] == 'x' || tail[0] == 'X'):
		return sqlerr.New(sqlerr.Unsupported, "a hexadecimal number is outside the dialect").
			WithHint("write it in decimal digits").At(l.position)
	case tail[0] == '_' && len(tail) > 1 && isDigit(rune(tail[1])):
		return sqlerr.New(sqlerr.Unsupported, "a digit separator is outside the dialect").
			WithHint("write the number without _").At(l.position)
	}
	return sqlerr.New(sqlerr.Malformed, "unexpected %s", excerpt(digits+tail, 40)).
		WithHint("a name that starts with a digit is quoted: \"%s\"", excerpt(digits+tail, 40)).At(l.position)
}
