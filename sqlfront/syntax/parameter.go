package syntax

import (
	"strconv"

	"dpsql/sqlerr"
)

// Parameters returns the names of the arguments that the statement takes, in
// their order, without the sign before them: age for :age, @age and $age, and ""
// for those that are known by their number alone.
func Parameters(text string) ([]string, error) {
	tokens, err := lexOne(text)
	return parameterNames(tokens), err
}

func parameterNames(tokens []Token) []string {
	names := make([]string, countParameters(tokens))
	for _, t := range tokens {
		if t.Parameter > 0 && len(t.Text) > 1 && spanOf(t.Text[1:], isDigit) < len(t.Text)-1 {
			names[t.Parameter-1] = t.Text[1:]
		}
	}
	return names
}

func countParameters(tokens []Token) int {
	n := 0
	for i := range tokens {
		n = max(n, tokens[i].Parameter)
	}
	return n
}

// parameter reads ?, ?N, $N, :name, @name or $name.
func (l *lexer) parameter() (Token, error) {
	rest := l.text[l.at:]
	n := spanOf(rest[1:], isNamePart)
	if rest[0] == '?' {
		n = spanOf(rest[1:], isDigit)
	} else if n == 0 {
		return Token{}, sqlerr.New(sqlerr.Malformed, "unexpected character %c", rest[0]).
			WithHint("a named parameter is written :name").At(l.position)
	}
	return l.take(KindParameter, 1+n), nil
}

// maxParameter is the largest number a parameter can have.
const maxParameter = 1 << 18

// numberParameters gives each parameter its number as SQLite does: ?N is N
// (and so is $N, as in PostgreSQL), a name used before has its number, and
// anything else is one more than the largest so far.
func numberParameters(tokens []Token) error {
	largest := 0
	var named map[string]int
	for i := range tokens {
		t := &tokens[i]
		if t.Kind != KindParameter {
			continue
		}
		n, err := parameterNumber(*t, named)
		if err != nil {
			return err
		}
		if n == 0 {
			n = largest + 1
			if len(t.Text) > 1 {
				if named == nil {
					named = make(map[string]int)
				}
				named[t.Text] = n
			}
		}
		t.Parameter = n
		largest = max(largest, n)
	}
	return nil
}

// parameterNumber returns the number that the token states or that its name
// already has, and 0 where it has none yet.
func parameterNumber(t Token, named map[string]int) (int, error) {
	digits := t.Text[1:]
	if digits == "" || t.Text[0] != '?' && (t.Text[0] != '$' || spanOf(digits, isDigit) < len(digits)) {
		return named[t.Text], nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > maxParameter {
		return 0, sqlerr.New(sqlerr.Invalid, "a parameter's number lies between 1 and %d", maxParameter).At(t.Position)
	}
	return n, nil
}
