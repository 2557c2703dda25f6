package syntax_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// refusal is a text that is refused at the mark ‸ in it.
type refusal struct {
	text    string
	code    sqlerr.Code
	message string // part of it
	hint    string // part of it
}

func marked(text string) (string, int) {
	before, after, _ := strings.Cut(text, "‸")
	return before + after, utf8.RuneCountInString(before) + 1
}

func failure(t *testing.T, text string) *sqlerr.Error {
	t.Helper()
	_, err := syntax.Parse(text)
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %v (%T), want a *sqlerr.Error", text, err, err)
	}
	return e
}

func checkRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		text, position := marked(c.text)
		e := failure(t, text)
		if e.Code != c.code || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) || e.Position != position {
			t.Errorf("%s:\n got %s: %s (hint: %s) at %d\nwant %s: %s (hint: %s) at %d", text, e.Code, e.Message, e.Hint, e.Position, c.code, c.message, c.hint, position)
		}
	}
}
