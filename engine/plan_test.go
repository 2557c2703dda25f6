package engine_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// TestPlanningSpendsNothing plans releases that need the number of rows before it is
// bought. The ledger does not change.
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
		if err != nil || p.Outlined().Open == "" {
			t.Fatalf("the plan of %s does not ask for the number of rows: %v", text, err)
		}
		if after := ledger(t, s); after != before {
			t.Errorf("planning %s\nwrote into the ledger, which is now\n%s", text, after)
		}
	}
}

func TestSupportRanges(t *testing.T) {
	t.Parallel()
	infinite, huge := released.SupportSize{Infinite: true}, released.SupportSize{M: new(big.Int).Lsh(big.NewInt(1), 70)}
	for _, c := range []struct {
		sizes []released.SupportSize
		want  string
	}{
		{nil, ""}, {[]released.SupportSize{{}}, ""}, {[]released.SupportSize{released.FiniteSupport(7)}, "7"}, {[]released.SupportSize{released.FiniteSupport(7), released.FiniteSupport(7)}, "7"},
		{[]released.SupportSize{released.FiniteSupport(10), released.FiniteSupport(9), {}}, "9 to 10"}, {[]released.SupportSize{infinite}, "infinite"},
		{[]released.SupportSize{infinite, infinite}, "infinite"}, {[]released.SupportSize{infinite, released.FiniteSupport(0)}, "0 to infinite"},
		{[]released.SupportSize{released.FiniteSupport(3), infinite, huge}, "3 to infinite"}, {[]released.SupportSize{huge, released.FiniteSupport(99)}, "99 to 1180591620717411303424"},
	} {
		var r released.SupportRange
		for _, s := range c.sizes {
			r.Add(s)
		}
		if got := r.String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.sizes, got, c.want)
		}
	}
}

// The price follows from where an answer comes from, and not from its note in EXPLAIN.
// With any other note the same candidate is chosen for the same price.
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
			var names, kinds []string
			for i := range st.Asks {
				names, kinds = st.Asks[i].Best.Named(names, kinds)
			}
			return view.Amount(amounts), fmt.Sprint(names, kinds)
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

// TestUsedUpMechanismsAreReplanned asks two mechanisms, good for five comparisons each,
// from many sessions at once. A plan that promised a margin is made again when the
// comparisons are used up, and no session fails as busy.
func TestUsedUpMechanismsAreReplanned(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	for _, name := range []string{"m1", "m2"} {
		must(t, s, `CREATE MECHANISM `+name+` ON admissions (sex, age) USING SMW WITH (epsilon = 0.5, queries = 5)`)
	}
	for _, unverified := range []string{"on", "off"} {
		var all sync.WaitGroup
		var mu sync.Mutex
		verified, without, refusals := 0, 0, 0
		for g := range 8 {
			all.Go(func() {
				own := s.DB().NewSession()
				own.Set("unverified", unverified)
				for i := range 5 {
					r, err := own.Exec(context.Background(), fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age BETWEEN %d AND %d`, g, 10+i), nil)
					mu.Lock()
					switch {
					case err == nil && r.Answer.Verified:
						verified++
					case err == nil:
						without++
					case sqlerr.CodeOf(err) == sqlerr.Uncovered:
						refusals++
					default:
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if verified < 10 || unverified == "on" && refusals > 0 || unverified == "off" && without > 0 {
			t.Errorf("unverified = %s: %d verified, %d not, %d refused", unverified, verified, without, refusals)
		}
	}
}

// TestCaution buys answers until the account is nearly empty. Once the next answer takes
// more than a tenth of the rest, EXPLAIN and the purchase announce it. A stored answer is
// never announced.
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
			break // the account cannot pay for it any more
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

// TestConfirm answers no, and then yes. After a no nothing is charged.
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
