package engine_test

import (
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestCaution buys answers until the account is nearly empty: the share that the
// next one takes grows past a tenth, from where on it is announced, in EXPLAIN
// and before it is bought, and never where the answer is stored.
func TestCaution(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 15`)
	warned := func(r *engine.Result) bool {
		return len(r.Warnings) == 1 && strings.HasPrefix(r.Warnings[0], "this takes ")
	}
	var announced, silent int
	for _, age := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		text := `SELECT COUNT(*) FROM admissions WHERE age = ` + age
		explained := must(t, s, `EXPLAIN `+text)
		if last := explained.Rows[len(explained.Rows)-2][6].(string); !strings.HasPrefix(last, "chosen; ") {
			break // it can no longer be afforded
		}
		v, _ := s.DB().Current(t.Context())
		left := v.Accounts[v.Tables[0].Account].Remaining().Rho.Float()
		r := must(t, s, text)
		dear := r.Answer.Cost.Rho > left/10
		if warned(explained) != dear || warned(r) != dear {
			t.Errorf("ρ = %v of %v: EXPLAIN warns %q and the statement %q", r.Answer.Cost.Rho, left, explained.Warnings, r.Warnings)
		}
		if dear {
			announced++
		} else {
			silent++
		}
		if again := must(t, s, text); len(again.Warnings) > 0 {
			t.Errorf("a stored answer: %q", again.Warnings)
		}
	}
	if announced == 0 || silent == 0 {
		t.Errorf("%d statements were announced, %d were not", announced, silent)
	}
}

// TestConfirm has a person say no, and yes: a no charges nothing.
func TestConfirm(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 8`)
	var asked []string
	yes := false
	s.SetConfirm(func(warning string) bool { asked = append(asked, warning); return yes })
	const text = `SELECT sex, COUNT(*) FROM admissions GROUP BY sex`
	before := ledger(t, s)
	refused(t, s, sqlerr.Cancelled, text)
	if len(asked) != 1 || ledger(t, s) != before {
		t.Errorf("asked %q, and the ledger is\n%s", asked, ledger(t, s))
	}
	yes = true
	if r := must(t, s, text); len(asked) != 2 || len(r.Warnings) > 0 || ledger(t, s) == before {
		t.Errorf("asked %q, warned %q", asked, r.Warnings)
	}
	must(t, s, text)
	must(t, s, `EXPLAIN `+text)
	if len(asked) != 2 {
		t.Errorf("asked %q where nothing is spent", asked)
	}
}
