package syntax_test

import (
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// TestColumnsRoundTrip holds how DESCRIBE shows columns. What it shows declares the same
// column.
func TestColumnsRoundTrip(t *testing.T) {
	t.Parallel()
	declare := func(column string) (query.Column, error) {
		s, err := syntax.Parse("CREATE PRIVATE TABLE t (c " + column + ") FROM r WITH (epsilon = 1)")
		if err != nil {
			return query.Column{}, err
		}
		def := s.(*syntax.CreatePrivate).Columns[0]
		return query.Column{Name: "c", Domain: def.Domain, Form: def.Form}, nil
	}
	for _, c := range []struct{ declared, shown string }{
		{"INT BETWEEN -1 AND 3 OR NULL CLAMP", "INTEGER BETWEEN -1 AND 3 OR NULL CLAMP"},
		{"integer between 0 and 3 clamp", "INTEGER BETWEEN 0 AND 3 CLAMP"},
		{"DATE BETWEEN '2020-01-01' AND '2020-12-31' CLAMP STORED AS unix", "DATE BETWEEN '2020-01-01' AND '2020-12-31' CLAMP STORED AS unix"},
		{"REAL BETWEEN 0 AND 500000 STEP 1000 OR NULL CLAMP", "REAL BETWEEN 0 AND 500000 STEP 1000 OR NULL CLAMP"},
		{"real between -0.50 and 1 step 0.25", "REAL BETWEEN -0.5 AND 1 STEP 0.25"},
		{"DECIMAL(10, 2) BETWEEN 0 AND 100 OR NULL", "NUMERIC(10,2) BETWEEN 0 AND 100 OR NULL"},
		{"NUMERIC(10,2) BETWEEN -1.25 AND 100 CLAMP", "NUMERIC(10,2) BETWEEN -1.25 AND 100 CLAMP"},
		{"NUMERIC(5) BETWEEN 0 AND 100 STEP 10", "NUMERIC(5,0) BETWEEN 0 AND 100 STEP 10"},
	} {
		first, err := declare(c.declared)
		if err != nil {
			t.Errorf("%s: %v", c.declared, err)
			continue
		}
		shown := first.TypeName() + " " + first.DomainText()
		if shown != c.shown {
			t.Errorf("%s is shown as %s", c.declared, shown)
		}
		again, err := declare(shown)
		if err != nil || again.Form != first.Form || again.TypeName()+" "+again.DomainText() != shown || !again.Form.Fits(again.Domain) {
			t.Errorf("%s is declared as %s %s (%v)", shown, again.TypeName(), again.DomainText(), err)
		}
	}
	for _, wrong := range []string{"INTEGER IN (1, 2) CLAMP", "TEXT CLAMP", "TEXT IN ('a') CLAMP", "INTEGER CLAMP", "REAL", "REAL BETWEEN 0 AND 1", "REAL BETWEEN 0 AND 1 STEP 0.3",
		"REAL BETWEEN 1 AND 1 STEP 1", "NUMERIC BETWEEN 0 AND 1", "NUMERIC(10,2)", "NUMERIC(0) BETWEEN 0 AND 1", "NUMERIC(2,3) BETWEEN 0 AND 1", "NUMERIC(3,1) BETWEEN 0 AND 0.25"} {
		if _, err := declare(wrong); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
