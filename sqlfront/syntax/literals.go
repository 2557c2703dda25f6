package syntax

import (
	"math/big"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// quoted reads a token in quotes. The quote sign is doubled inside, except in
// brackets; a backslash is an ordinary character. prefix is the number of
// bytes before the opening quote.
func (l *lexer) quoted(k Kind, prefix int, end byte) (Token, error) {
	rest := l.text[l.at:]
	n := prefix + 1
	for {
		i := strings.IndexByte(rest[n:], end)
		if i < 0 {
			return Token{}, l.unterminated(k)
		}
		n += i + 1
		if end == ']' || n == len(rest) || rest[n] != end {
			break
		}
		n++
	}
	inner := rest[prefix+1 : n-1]
	t := l.take(k, n)
	t.Value = inner
	if end != ']' {
		t.Value = strings.ReplaceAll(inner, string([]byte{end, end}), string(end))
	}
	return t, nil
}

func (l *lexer) unterminated(k Kind) error {
	what, hint := "string", "a quote inside a string is doubled: ''"
	if k == KindQuoted {
		what, hint = "quoted name", "close it with the same sign"
	}
	return sqlerr.New(sqlerr.Malformed, "unterminated %s", what).WithHint("%s", hint).At(l.position)
}

// number reads an integer or a decimal.
func (l *lexer) number() (Token, error) {
	rest := l.text[l.at:]
	n := spanOf(rest, isDigit)
	k := KindInteger
	if n < len(rest) && rest[n] == '.' {
		k = KindDecimal
		n++
		n += spanOf(rest[n:], isDigit)
	}
	if e := exponent(rest[n:]); e > 0 {
		k = KindDecimal
		n += e
	}
	if tail := spanOf(rest[n:], isNamePart); tail > 0 {
		return Token{}, l.badNumber(rest[:n], rest[n:n+tail])
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
	return sqlerr.New(sqlerr.Malformed, "unexpected %s", Excerpt(digits+tail, 40)).
		WithHint("a name that starts with a digit is quoted: \"%s\"", Excerpt(digits+tail, 40)).At(l.position)
}

// maxExponent bounds a number's exponent: what lies beyond has thousands of
// digits and is infinite or 0 to SQLite.
const maxExponent = 1000

// rational returns the number that a text is, exactly.
func Rational(text string) (*big.Rat, *sqlerr.Error) {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if e, err := strconv.Atoi(text[i+1:]); err != nil || e < -maxExponent || e > maxExponent {
			return nil, sqlerr.New(sqlerr.Unsupported, "a number with an exponent beyond %d is outside the dialect", maxExponent)
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, sqlerr.New(sqlerr.Malformed, "%s is not a number", Excerpt(text, 40))
	}
	return r, nil
}

// isNumber reports whether a text is a number with or without a sign.
func IsNumber(text string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	n := spanOf(digits, isDigit)
	some := n > 0
	if n < len(digits) && digits[n] == '.' {
		fraction := spanOf(digits[n+1:], isDigit)
		some = some || fraction > 0
		n += 1 + fraction
	}
	n += exponent(digits[n:])
	return some && n == len(digits) && len(text)-len(digits) <= 1
}
