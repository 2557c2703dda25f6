package engine_test

import (
	"bytes"
	"context"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpsql/engine"
)

// served are statements that are charged, each by one way to answer, so that no
// output decides who answers.
var served = []string{
	`CREATE RELEASE a ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.1)`, `SET mechanism = a`,
	`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age = 3`, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE zip = '15211'`,
	`CREATE RELEASE b ON admissions (diagnosis, zip) USING PROJECTION WITH (epsilon = 0.1, rows = 512)`, `SET mechanism = b`,
	`SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E10' AND zip = '15211'`, `SELECT COUNT(*) FROM admissions WHERE zip IN ('1', NULL)`,
	`CREATE RELEASE c ON admissions (sex) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`, `SET mechanism = c`,
	`SELECT COUNT(*) FROM admissions`, `SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions WHERE sex IS NULL`,
	`CREATE MECHANISM m ON admissions (age) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 5)`, `SET mechanism = m`,
	`SELECT COUNT(*) FROM admissions WHERE age = 5`, `SELECT COUNT(*) FROM admissions WHERE age = 5 OR age = 5`,
	`CREATE RELEASE d ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 0.5, free_columns = 1, max_updates = 2)`, `SET mechanism = d`,
	`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND diagnosis = 'E10'`,
	`SET mechanism = direct`, `SET accuracy = 70`, `SELECT COUNT(*) FROM admissions WHERE zip <> 'x' OR age = 4`, `SELECT COUNT(*) FROM admissions`,
	`SELECT COUNT(*) FROM admissions WHERE age = 500`, `SELECT COUNT(*) FROM admissions WHERE zip`, `SHOW BUDGET`, `SHOW LEDGER`, `SHOW RELEASES`,
}

// TestEmptyTableAnswersLikeAnyOther charges a table without rows, and the clinic,
// with the same random bits. What is shown is the same but for outputs: columns,
// who answers, cost, warnings, refusals, the ledger.
func TestEmptyTableAnswersLikeAnyOther(t *testing.T) {
	t.Parallel()
	d := clinicAt(t, t.TempDir()+"/clinic.db")
	path := d.DB().Store().Path()
	if err := d.DB().Close(); err != nil {
		t.Fatal(err)
	}
	want := outlines(t, neighbour(t, path, change{text: `SELECT 1`}))
	for i, got := range outlines(t, neighbour(t, path, change{text: `DELETE FROM raw_admissions`})) {
		if got != want[i] {
			t.Errorf("without rows\n%s\nis\n%s", want[i], got)
		}
	}
	if n := strings.Count(strings.Join(want, ""), "Via:"); n != 11 {
		t.Errorf("%d queries were answered, want 11:\n%s", n, strings.Join(want, "\n"))
	}
}

// outlines returns what is shown of the statements without outputs: estimates,
// margins, how many cells a release published, and whether a hypothesis learned
// enough to state one.
func outlines(t *testing.T, path string) (shown []string) {
	t.Helper()
	s := open(t, path, engine.Options{}).NewSession()
	fixed(s.DB(), 6000)
	for _, text := range served {
		r, err := s.Exec(context.Background(), text, nil)
		if err == nil && r.Answer != nil {
			a := *r.Answer
			a.Margins, a.Verified = nil, false
			r = &engine.Result{Columns: r.Columns, Answer: &a, Warnings: r.Warnings}
		}
		line := written(r, err, []string{"at", "hash", "created", "bytes", "margin"})
		line = regexp.MustCompile(`, \d+ updates, (in)?complete|\d+ heavy cells`).ReplaceAllString(line, "")
		shown = append(shown, text+"\n"+regexp.MustCompile(`"the runs ended before [^"]*"`).ReplaceAllString(line, ""))
	}
	return shown
}

// TestNothingIsLogged runs statements of every kind, those that fail among them,
// on rows that belong to no domain, and finds nothing written to the standard
// streams or the standard logger.
func TestNothingIsLogged(t *testing.T) {
	d := vault(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "streams"))
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	log.SetOutput(&logged)
	defer func() {
		os.Stdout, os.Stderr = out, errs
		log.SetOutput(os.Stderr)
	}()
	shown := confess(t, neighbour(t, d, odd("one")))
	os.Stdout, os.Stderr = out, errs
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file.Name())
	if err != nil || len(written)+logged.Len() > 0 || len(shown) < 20 {
		t.Errorf("%d statements wrote %q and logged %q (%v)", len(shown), written, logged.String(), err)
	}
}
