package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/view"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// bought are statements that charge and then read rows, each in a new database.
var bought = []string{
	`CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`,
	`CREATE RELEASE r ON admissions (age, zip) USING PROJECTION WITH (epsilon = 0.5, delta = 1e-8, max_support = 64, memory = '64 KiB')`,
	`CREATE RELEASE r ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 0.4, max_updates = 3, free_columns = 1)`,
	`CREATE MECHANISM m ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4, prior = classes)`,
	`SELECT COUNT(*) FROM admissions WHERE age = 3`,
	`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`,
}

// TestCancelledStatementsTellTheBill cancels statements at each of their reads in
// turn, and before the first: the error says what the ledger says, and whether
// what it paid for is there.
func TestCancelledStatementsTellTheBill(t *testing.T) {
	for _, text := range bought {
		for at := 0; ; at++ {
			f := newFar(t)
			s := outsideClinic(t, f)
			must(t, s, `SET accuracy = 200`)
			before := lines(t, s)
			ctx, cancel := context.WithCancel(context.Background())
			if at == 0 {
				cancel()
			}
			reads := 0
			f.wait = func(reading context.Context) error {
				if reads++; reads == at {
					cancel()
					<-reading.Done()
				}
				return reading.Err()
			}
			_, err := s.Exec(ctx, text, nil)
			cancel()
			if err == nil {
				if at < 2 {
					t.Errorf("%s: it was not cancelled", text)
				}
				break
			}
			e := err.(*sqlerr.Error)
			if want := cancelledBill(t, s, before); e.Code != sqlerr.Cancelled || e.Message != want {
				t.Errorf("%s, cancelled at read %d: got %v, want %s", text, at, err, want)
			}
			if gone := strings.Contains(e.Message, "gone"); gone != strings.Contains(e.Hint, "SHOW LEDGER") {
				t.Errorf("%s: %s has the hint %q", text, e.Message, e.Hint)
			}
		}
	}
}

// cancelledBill is what a cancelled statement is to say of the lines that the
// ledger has since. All it may have left behind is the number of rows.
func cancelledBill(t *testing.T, s *engine.Session, before int) string {
	t.Helper()
	bill := "the statement was cancelled"
	var gone accounting.Amount
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		entries, err := tx.Ledger()
		if err != nil {
			return err
		}
		table, err := tx.Table("admissions")
		if err != nil {
			return err
		}
		for _, e := range entries[before:] {
			if e.Action == "number of rows" && table.NHat != nil {
				bill += "; " + view.Amount(e.Amount) + " was charged for the number of rows, which is kept"
			} else {
				gone, _ = gone.Add(e.Amount)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case gone != accounting.Amount{}:
		bill += "; " + view.Amount(gone) + " was charged for it and is gone"
	case bill == "the statement was cancelled":
		bill += "; nothing was charged"
	}
	return bill
}

// TestPaidStatementsAreFinished cancels statements once all rows are read that
// they paid for: what is left takes no time worth a budget, so they end well.
func TestPaidStatementsAreFinished(t *testing.T) {
	t.Parallel()
	for _, text := range bought {
		t.Run(text, func(t *testing.T) {
			s := clinic(t)
			must(t, s, `SET accuracy = 200`)
			must(t, s, `CREATE RELEASE first ON admissions (diagnosis) USING PROJECTION WITH (epsilon = 0.1, transform = sparse, rows = 64)`) // has N̂
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			began := lines(t, s)
			switch {
			case strings.Contains(text, "PROJECTION"):
				s.SetProgress(func(done, all int64) {
					if done == all-2 {
						cancel()
					}
				})
			default:
				random := s.DB().Random()
				s.DB().SetRandom(func() *noise.Source {
					if !strings.Contains(text, "RELEASE") {
						cancel() // to draw is what comes after the rows
					}
					return random()
				})
			}
			if _, err := s.Exec(ctx, text, nil); err != nil {
				t.Error(err)
			}
			if n := lines(t, s) - began; n == 0 {
				t.Error("nothing was charged")
			}
		})
	}
}

// TestFailuresTellTheBill lets the server fail at the read that was paid for.
func TestFailuresTellTheBill(t *testing.T) {
	f := newFar(t)
	s := outsideClinic(t, f)
	must(t, s, `SET accuracy = 200`)
	f.wait = func(context.Context) error {
		return sqlerr.New(sqlerr.IO, "the server is away").WithHint("look for it")
	}
	_, err := s.Exec(context.Background(), bought[4], nil)
	e, ok := err.(*sqlerr.Error)
	if want := "the server is away; ρ 4.8e-05 was charged for it and is gone"; !ok || e.Message != want || e.Hint != "look for it" {
		t.Errorf("got %v, %v, want %s", err, fmt.Sprint(e.Hint), want)
	}
}
