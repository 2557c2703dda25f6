package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/internal/admissions"
	"dpsql/internal/seeds"
)

// TestOffice runs the office's script on 1,000 raw admissions, or 10,000 with -long, and compares each answer with what
// SQLite says of the rows. A true value may lie beyond its interval by 7 times its length. Of
// noise whose tails fall as exp(−x) or faster, which has its share beyond 1 length at most 5 %, it does so with a
// probability of at most 0.05⁸ = 4e-11 for each of about 110 values.
func TestOffice(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	dir := t.TempDir()
	var raw bytes.Buffer
	admitted, least := 1000, 40
	if *long {
		admitted, least = 10_000, 60
	}
	if err := admissions.Write(&raw, admitted, seed); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "admissions.csv"), raw.String())
	script := strings.Replace(admissions.Questions, ".mode table", ".mode json", 1)
	path := write(t, filepath.Join(dir, "questions.sql"), script)
	database := filepath.Join(dir, "office.db")
	private, err := engine.Open(database, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer private.Close()
	var out, errs bytes.Buffer
	r := &runner{session: private.NewSession(), role: engine.Curator, console: testConsole(&out, &errs, render.CSV), args: make(arguments)}
	if err := r.scriptFile(t.Context(), path); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	within, values := 0, 0
	answers := answersByQuestion(t, out.String())
	parts := regexp.MustCompile(`(?m)^\.print (\d+)\. .*$`).FindAllStringSubmatchIndex(script, -1)
	if len(parts) != 20 || len(answers) != 20 {
		t.Fatalf("%d questions and %d answers", len(parts), len(answers))
	}
	for i, p := range parts {
		number, end := script[p[2]:p[3]], len(script)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		answer := answers[number]
		if len(answer.Rows) == 0 {
			t.Errorf("question %s has no answer", number)
		}
		truth := regexp.MustCompile(`(?m)^-- truth ?(.*?): (.*)$`).FindStringSubmatch(script[p[1]:end])
		if truth == nil {
			continue
		}
		rounding, _ := strconv.ParseFloat(truth[1], 64)
		rows := rowsOf(t, db, truth[2])
		if len(rows) != len(answer.Rows) {
			t.Errorf("question %s has %d rows, and the truth %d", number, len(answer.Rows), len(rows))
			continue
		}
		for r, row := range rows {
			for c, v := range row {
				key, isKey := answer.Rows[r][c].(string)
				switch interval := answer.Intervals[r][c]; {
				case len(interval) == 2:
					low, high := interval[0]-rounding, interval[1]+rounding
					x, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
					if values++; x >= low && x <= high {
						within++
					}
					if far := math.Max(low-x, x-high); far > 7*(high-low) {
						t.Errorf("question %s, row %d: %v is far from %v … %v", number, r+1, x, low, high)
					}
				case isKey && key != fmt.Sprint(v):
					t.Errorf("question %s, row %d is about %v, and the truth about %v", number, r+1, answer.Rows[r][c], v)
				}
			}
		}
	}
	t.Logf("%d of %d true values are within the intervals of 95 %%", within, values)
	if values < least {
		t.Errorf("only %d values have intervals", values)
	}
}

// jsonResult is a result as the shell writes it in JSON.
type jsonResult struct {
	Rows      [][]any
	Intervals [][][]float64
}

// answersByQuestion returns the result behind each title.
func answersByQuestion(t *testing.T, out string) map[string]jsonResult {
	t.Helper()
	answers := make(map[string]jsonResult)
	number := ""
	for line := range strings.Lines(out) {
		if title, _, ok := strings.Cut(line, ". "); ok && !strings.HasPrefix(line, "{") {
			number = title
		} else if _, done := answers[number]; strings.HasPrefix(line, "{") && number != "" && !done {
			var r jsonResult
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			answers[number] = r
		}
	}
	return answers
}

// rowsOf runs a query.
func rowsOf(t *testing.T, db *sql.DB, text string) (all [][]any) {
	t.Helper()
	found, err := db.Query(text)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
