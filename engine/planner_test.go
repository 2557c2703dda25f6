package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/noise/law"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// The planner is tested on the Adult table, with a mechanism and with releases over
// several column lists and of every transform. A measured margin is the quantile of
// |answer − truth| at the confidence, over many queries and several databases with fresh
// noise. The noise comes from fixed seeds, so the tests always find the same figures.
var plannerReleases = []string{
	`CREATE RELEASE everything ON adult USING PROJECTION WITH (epsilon = 0.5, estimate = unbiased)`,
	`CREATE RELEASE person ON adult (sex, race, "education-num") USING PROJECTION WITH (epsilon = 0.2)`,
	`CREATE RELEASE family ON adult ("marital-status", relationship, "income>50K") USING PROJECTION WITH (epsilon = 0.1)`,
	`CREATE RELEASE pair ON adult (sex, "income>50K") USING PROJECTION WITH (epsilon = 0.05)`,
	`CREATE RELEASE sketch ON adult USING PROJECTION WITH (epsilon = 1, transform = sparse, heavy = none, rows = 4096, max_support = 512)`,
	`CREATE RELEASE wide ON adult (race, "education-num", relationship) USING PROJECTION WITH (epsilon = 0.3, transform = sparse, heavy = none, rows = 65536)`,
	`CREATE RELEASE clipped ON adult USING PROJECTION WITH (epsilon = 0.45, transform = sparse, rows = 1048576, max_support = 1024)`,
	`CREATE RELEASE dense ON adult (sex, race) USING PROJECTION WITH (epsilon = 0.2, transform = dense, rows = 512)`,
	`CREATE MECHANISM live ON adult (sex, "marital-status", "income>50K") USING SMW WITH (epsilon = 2, max_updates = 20, max_support = 84)`,
}

// mixture draws a query that fixes one to six columns to some of their values.
func mixture(d data, random *rand.Rand) string {
	var where []string
	for _, i := range random.Perm(len(d.columns))[:1+random.IntN(len(d.columns))] {
		c := d.columns[i]
		size := int(c.hi - c.lo + 1)
		var values []string
		for _, v := range random.Perm(size)[:1+random.IntN(min(3, size-1))] {
			values = append(values, fmt.Sprint(c.lo+int64(v)))
		}
		where = append(where, fmt.Sprintf("%q IN (%s)", c.name, strings.Join(values, ", ")))
	}
	return `SELECT COUNT(*) FROM ` + d.name + ` WHERE ` + strings.Join(where, " AND ")
}

// forecast is one query asked of one candidate in one database.
type forecast struct {
	query, database int
	name            string
	bound           bool // the margin is for many answers at once
	margin, error   float64
	chosen          bool
}

// forecasts asks all candidates a mixed workload in several databases, at each of the
// confidences.
func forecasts(t *testing.T, databases, queries int, confidences ...float64) (all [][]forecast) {
	t.Helper()
	all = make([][]forecast, len(confidences))
	first := adultData.declare(t, `epsilon = 20, delta = 1e-6`)
	path := first.DB().Store().Path()
	random := rand.New(rand.NewPCG(1, 2))
	var texts []string
	var truths []float64
	raw := plain(t, first)
	for range queries {
		texts = append(texts, mixture(adultData, random))
		truths = append(truths, float64(truth(t, raw, texts[len(texts)-1])))
	}
	raw.Close()
	if err := first.DB().Close(); err != nil {
		t.Fatal(err)
	}
	for d := range databases {
		s := open(t, neighbour(t, path, change{text: `SELECT 1`}), engine.Options{}).NewSession()
		fixed(s.DB(), uint64(1+d)<<32)
		for _, text := range plannerReleases {
			must(t, s, text)
		}
		for q, text := range texts {
			for i, confidence := range confidences {
				must(t, s, fmt.Sprintf(`SET confidence = %v`, confidence))
				all[i] = append(all[i], ask1(t, s, text, truths[q], q, d)...)
			}
		}
	}
	return all
}

// ask1 asks one query of every candidate that is free and has a margin.
func ask1(t *testing.T, s *engine.Session, text string, truth float64, q, d int) (all []forecast) {
	t.Helper()
	statement, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Plan(context.Background(), statement.(*syntax.Select), nil, answer.Planning{Explaining: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Choose(); err != nil {
		t.Fatal(err)
	}
	best := st.Asks[0].Best
	for i := range st.Asks[0].Candidates {
		c := &st.Asks[0].Candidates[i]
		if c.Refusal != "" || !c.Known || !c.Free() {
			continue
		}
		e, err := c.Answer(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !e.Verified {
			continue
		}
		all = append(all, forecast{query: q, database: d, name: c.Name, bound: c.Kind == "smw", margin: c.Margin,
			error: math.Abs(float64(e.Value) - truth), chosen: c == best})
	}
	return all
}

// kindOf groups forecasts whose errors have the same distribution: those of one candidate
// with about the same predicted margin.
func (f forecast) kindOf() string {
	return fmt.Sprintf("%s ±%.0f", f.name, math.Exp2(math.Floor(math.Log2(f.margin))))
}

// quantile returns the smallest value that is at least a share of the values.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	return values[max(0, int(math.Ceil(share*float64(len(values))))-1)]
}

// TestPlannerOnAdult uses the same mixed workload, in eight databases, for two
// comparisons. All random numbers have fixed seeds, so a correct program never fails it by
// chance.
func TestPlannerOnAdult(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("takes some seconds: -long")
	}
	all := forecasts(t, 8, 250, 0.95, 0.5)
	t.Run("predicted margins are measured", func(t *testing.T) {
		marginsAreMeasured(t, all[0], 0.95, forecast.kindOf, 300)
		// Most margins are below 20 counts at 0.5.
		marginsAreMeasured(t, all[1], 0.5, func(f forecast) string { return f.name }, 1000)
	})
	t.Run("the chosen candidate is the best", func(t *testing.T) { chosenIsBest(t, all[0]) })
}

// marginsAreMeasured compares predicted with measured margins, for each frequent kind of
// forecast. They agree within 10 % from 20 counts on. Below that the rounding of
// half-widths to integers is too coarse.
func marginsAreMeasured(t *testing.T, all []forecast, confidence float64, kindOf func(forecast) string, enough int) {
	ratios := make(map[string][]float64)
	for _, f := range all {
		if f.bound && f.error > f.margin {
			t.Errorf("%s is off by %.0f, its bound is %.0f", f.name, f.error, f.margin)
		}
		if !f.bound && f.margin >= 20 {
			ratios[kindOf(f)] = append(ratios[kindOf(f)], f.error/f.margin)
		}
	}
	judged := 0
	for kind, r := range ratios {
		n := len(r)
		if n < enough {
			continue
		}
		judged++
		ratio := quantile(r, confidence)
		t.Logf("at %v, %s: measured over predicted margin %.3f, of %d answers", confidence, kind, ratio, n)
		if ratio < 0.9 || ratio > 1.1 {
			t.Errorf("at %v, %s: measured over predicted margin %.3f", confidence, kind, ratio)
		}
	}
	if judged < 2 {
		t.Errorf("at %v: only %d kinds have %d answers", confidence, judged, enough)
	}
}

// chosenIsBest replaces the predicted margins by the measured ones. On at least 95 % of
// the workload the chosen candidate's margin is the smallest or within 5 % of it. Bounds,
// which hold for many answers at once, are not replaced.
func chosenIsBest(t *testing.T, all []forecast) {
	ratios := make(map[string][]float64)
	for _, f := range all {
		ratios[f.kindOf()] = append(ratios[f.kindOf()], f.error/f.margin)
	}
	measured := make(map[string]float64)
	for kind, r := range ratios {
		measured[kind] = 1
		if len(r) >= 100 {
			measured[kind] = quantile(r, 0.95)
		}
	}
	best, chosen, by := make(map[[2]int]float64), make(map[[2]int]float64), make(map[string]int)
	for _, f := range all {
		width := f.margin
		if !f.bound {
			width *= measured[f.kindOf()]
		}
		k := [2]int{f.query, f.database}
		if b, ok := best[k]; !ok || width < b {
			best[k] = width
		}
		if f.chosen {
			chosen[k] = width
			by[f.name]++
		}
	}
	good := 0
	for k, width := range chosen {
		if width <= 1.05*best[k] {
			good++
		}
	}
	t.Logf("the best or within 5 %% of it: %d of %d; chosen: %v", good, len(chosen), by)
	if good < len(chosen)*95/100 || len(by) < 4 {
		t.Errorf("only %d of %d choices are the best or within 5 %% of it; chosen: %v", good, len(chosen), by)
	}
}

// TestDirectMarginsAreMeasured draws many direct answers of a count. The stated half-width
// is the quantile of their errors, and the smallest integer that is.
func TestDirectMarginsAreMeasured(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	src := stream(1)
	for _, r := range []direct.Request{{Accuracy: 50, Confidence: 0.95, Sensitivity: 1, Answers: 1}, {Accuracy: 20, Confidence: 0.5, Sensitivity: 3, Answers: 1}} {
		p := s.DB().Answers().Price(r)
		errors := make([]float64, 40_000) // of a fixed seed
		for i := range errors {
			v, err := p.Answer(1000, src)
			if err != nil {
				t.Fatal(err)
			}
			errors[i] = math.Abs(float64(v - 1000))
		}
		got := quantile(errors, r.Confidence)
		if math.Abs(got-float64(p.Width)) > max(1, 0.02*got) || float64(p.Width) > r.Accuracy {
			t.Errorf("%+v: measured ±%.0f, stated ±%d", r, got, p.Width)
		}
		l, err := law.Parse(p.Law.String())
		if err != nil || float64(law.HalfWidth(l, r.Confidence)) != float64(p.Width) {
			t.Errorf("%+v: a stored answer states ±%d, a new one ±%d", r, law.HalfWidth(l, r.Confidence), p.Width)
		}
	}
}

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
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 2)`)
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
