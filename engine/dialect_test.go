package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestDialect runs the reference list of statements over the data it is about:
// each is answered, or refused with its code and a position, and the statements
// of one group give one answer.
func TestDialect(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "pums.db"), engine.Options{}).NewSession()
	if _, err := s.Import(context.Background(), engine.Import{Path: "../testdata/pums/PUMS.csv", Table: "raw_pums"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../testdata/dialect.sql")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]string)
	statements := 0
	for want, text := range listed(string(data)) {
		statements++
		r, err := s.Exec(context.Background(), text, nil)
		verb, argument, _ := strings.Cut(want, " ")
		switch verb {
		case "setup", "ok":
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		case "same":
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if got := fmt.Sprint(r.Rows, r.Answer); answers[argument] == "" {
				answers[argument] = got
			} else if got != answers[argument] {
				t.Errorf("%s: got %s, want %s", text, got, answers[argument])
			}
		case "refused":
			var e *sqlerr.Error
			if !errors.As(err, &e) || string(e.Code) != argument || e.Position < 1 || e.Position > utf8.RuneCountInString(text) {
				t.Errorf("%s: got %v, want %s with a position", text, err, argument)
			}
		default:
			t.Errorf("%s: what is %q?", text, want)
		}
	}
	if statements < 50 || len(answers) != 2 {
		t.Errorf("%d statements and %d groups were found", statements, len(answers))
	}
}

// listed yields the statements of a list with what must happen to each: the
// comment line before it.
func listed(text string) func(yield func(want, statement string) bool) {
	return func(yield func(want, statement string) bool) {
		want, statement := "", ""
		for _, line := range strings.Split(text+"\n-- end", "\n") {
			comment, is := strings.CutPrefix(line, "-- ")
			switch {
			case !is && line != "":
				statement += line + "\n"
				continue
			case strings.TrimSpace(statement) != "":
				if !yield(want, statement) {
					return
				}
			}
			statement = ""
			if is {
				want, _, _ = strings.Cut(comment, "  ")
			}
		}
	}
}
