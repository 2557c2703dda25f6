package engine_test

import (
	"testing"

	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/view"
	"dpsql/sqlfront/syntax"
)

// What is paid for follows from where an answer comes from, and not from what
// EXPLAIN says of it: with any other note the same is chosen for the same price.
func TestNotesDecideNothing(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4)`)
	must(t, s, `SET accuracy = 60`)
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE zip = '15210'`) // stored
	must(t, s, `SET accuracy = 50`)
	for _, text := range []string{
		`SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
		`SELECT COUNT(*) FROM admissions WHERE zip = '15211'`,
		`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age = 3`,
		`SELECT COUNT(*) FROM admissions WHERE age = 999`,
		`SELECT sex, COUNT(*), AVG(age) FROM admissions GROUP BY sex`,
	} {
		statement, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		st, err := s.Plan(t.Context(), statement.(*syntax.Select), nil, answer.Planning{Explaining: true})
		if err != nil {
			t.Fatal(err)
		}
		price := func() (cost, paid string) {
			if err := st.Choose(); err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			amounts, _ := answer.Total(st.Purchases())
			via, kind := st.Origin()
			return view.Amount(amounts), via + " " + kind
		}
		cost, paid := price()
		for _, note := range []string{"", "stored", "direct", "chosen", "not: stored"} {
			for i := range st.Asks {
				for j := range st.Asks[i].Candidates {
					st.Asks[i].Candidates[j].Note = note
				}
			}
			if c, p := price(); c != cost || p != paid {
				t.Errorf("%s\nwith the note %q %s by %s, before %s by %s", text, note, c, p, cost, paid)
			}
		}
	}
}
