package engine_test

import (
	"context"
	"testing"

	"dpsql/sqlfront/syntax"
)

// TestPlanningSpendsNothing plans releases that need the number of rows, which
// nobody has bought: the ledger stays as it is.
func TestPlanningSpendsNothing(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	before := ledger(t, s)
	for _, text := range []string{
		`CREATE RELEASE zips ON admissions (age, zip) USING PROJECTION WITH (epsilon = 0.3)`,
		`CREATE RELEASE dense ON admissions (age) USING PROJECTION WITH (epsilon = 0.25, transform = dense)`,
	} {
		statement, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		st := statement.(*syntax.CreateRelease)
		v, err := s.DB().View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Declaration().PlanRelease(context.Background(), st, v)
		if err != nil || p.Open == "" {
			t.Fatalf("the plan of %s does not ask for the number of rows: %v", text, err)
		}
		if after := ledger(t, s); after != before {
			t.Errorf("planning %s\nwrote into the ledger, which is now\n%s", text, after)
		}
	}
}
