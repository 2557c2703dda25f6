package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// asked is a query of the workload with its true count.
type asked struct {
	query query.Query
	m     float64
	truth int64
}

// workload draws distinct bound queries on the data.
func workload(t *testing.T, s *Session, d data, n int, random *rand.Rand) []asked {
	t.Helper()
	v, err := s.db.view(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	raw := plain(t, s)
	out := make([]asked, n)
	for i := range out {
		text := d.conjunction(random)
		st, err := sqlfront.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.bindOne(v, st.(*sqlfront.Select))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := r.query.SizeWithin(1 << 40)
		out[i] = asked{r.query, float64(m), truth(t, raw, text)}
	}
	return out
}

// TestReleasesOnRealData builds 20 independent releases of each transform at
// ε = 1 and asks each 1,000 conjunctions of four fixed columns. The mean over
// releases of the coverage of the 95 % margins must not be below 0.95, and the
// mean squared error, in units of m·Var DLap(1), must be what noise and
// collisions predict, by a t-test over the releases, which are
// independent, at a false-failure rate of 1e-7 each; for a sketch, what
// unpublished cells have above the clip may add a tenth.
func TestReleasesOnRealData(t *testing.T) {
	const releases, queries = 20, 1000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, d := range []data{adultData, pumsData} {
		for _, transform := range []string{"identity", "sparse"} {
			t.Run(d.name+"/"+transform, func(t *testing.T) {
				s := d.declare(t, `epsilon = 20, delta = 2e-5, interactive = 0`)
				work := workload(t, s, d, queries, rand.New(rand.NewPCG(seed, 2)))
				var coverage, squares []float64
				for i := range releases {
					name := fmt.Sprintf("r%d", i)
					must(t, s, fmt.Sprintf(`CREATE RELEASE %s ON %s USING PROJECTION WITH (epsilon = 1, transform = %s, rows = %d)`, name, d.name, transform, hashedRows))
					covered, square := judge(t, s, name, work)
					coverage, squares = append(coverage, covered), append(squares, square)
				}
				expect := 1.0
				if transform == "sparse" {
					expect += collisions(t, s, d)
				}
				report(t, coverage, squares, expect, transform == "sparse")
			})
		}
	}
}

// hashedRows is T of the sparse releases.
const hashedRows = 1 << 20

// variance is Var DLap(1).
var variance = 2 * math.Exp(-1) / math.Pow(1-math.Exp(-1), 2)

// judge returns the share of queries whose margin holds the truth, and the
// mean of error²/(m·Var).
func judge(t *testing.T, s *Session, name string, work []asked) (coverage, squares float64) {
	t.Helper()
	v, err := s.db.view(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := v.release(name)
	a, err := s.db.load(context.Background(), v.tableByID(r.TableID), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range work {
		e, err := a.answer(context.Background(), q.query, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		off := float64(e.value - q.truth)
		if math.Abs(off) <= e.margin {
			coverage++
		}
		squares += off * off / (q.m * variance)
	}
	return coverage / float64(len(work)), squares / float64(len(work))
}

// collisions is the expected squared error that other cells of a bucket add to
// a cell, in units of the noise: ‖D‖²/T, of D clipped and without what is
// published nearly always.
func collisions(t *testing.T, s *Session, d data) float64 {
	t.Helper()
	v, err := s.db.view(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var p releaseParams
	if err := json.Unmarshal(v.release("r0").Params, &p); err != nil {
		t.Fatal(err)
	}
	if p.Heavy != "clip" || p.Published == 0 && d.name == "adult" {
		t.Errorf("%s: the release has no heavy cells: %s", d.name, p.shape())
	}
	var norm float64
	err = plain(t, s).QueryRow(`SELECT SUM(MIN(n, ?1) * MIN(n, ?1)) FROM (SELECT COUNT(*) AS n FROM raw_`+d.name+` GROUP BY `+d.list()+`)
		WHERE n < ?1 + 2 * ?2`, p.Clip, p.Threshold).Scan(&norm)
	if err != nil {
		t.Fatal(err)
	}
	return norm / float64(p.Rows) / variance
}

func report(t *testing.T, coverage, squares []float64, expect float64, biased bool) {
	t.Helper()
	n := float64(len(coverage))
	limit := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - 5e-8)
	cover, coverSD := stat.MeanStdDev(coverage, nil)
	square, squareSD := stat.MeanStdDev(squares, nil)
	t.Logf("coverage %.4f ± %.4f; RMS error %.3f × √(m·Var DLap), predicted %.3f",
		cover, coverSD/math.Sqrt(n), math.Sqrt(square), math.Sqrt(expect))
	if cover < 0.95-limit*coverSD/math.Sqrt(n) {
		t.Errorf("95 %% margins hold the truth in %.4f of the queries", cover)
	}
	high := expect
	if biased {
		high *= 1.1
	}
	if slack := limit * squareSD / math.Sqrt(n); square < expect-slack || square > high+slack {
		t.Errorf("the mean squared error is %.3f noise variances, want %.3f", square, expect)
	}
}

// TestDenseOnRealData does the same for the paper's matrix with 256 rows and
// both kinds of noise: 10 releases, 50 queries on three columns each.
func TestDenseOnRealData(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := data{"pums", "pums/PUMS.csv", []dataColumn{{"sex", 0, 1}, {"educ", 1, 16}, {"race", 1, 6}, {"married", 0, 1}}}
	for _, law := range []string{"gaussian", "laplace"} {
		t.Run(law, func(t *testing.T) {
			s := d.declare(t, `epsilon = 10, delta = 1e-5, interactive = 0`)
			work := workload(t, s, d, 50, rand.New(rand.NewPCG(seed, 3)))
			var coverage []float64
			for i := range 10 {
				name := fmt.Sprintf("r%d", i)
				must(t, s, fmt.Sprintf(`CREATE RELEASE %s ON pums USING PROJECTION
					WITH (epsilon = 1, delta = 1e-6, transform = dense, noise = %s, rows = 256)`, name, law))
				covered, _ := judge(t, s, name, work)
				coverage = append(coverage, covered)
			}
			limit := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 9}.Quantile(1 - 5e-8)
			cover, sd := stat.MeanStdDev(coverage, nil)
			t.Logf("coverage %.4f ± %.4f", cover, sd/math.Sqrt(10))
			if cover < 0.95-limit*sd/math.Sqrt(10) {
				t.Errorf("95 %% margins hold the truth in %.4f of the queries", cover)
			}
		})
	}
}

// TestPaperRowsAreRefused computes Algorithm 2's T at N̂, which stays paid for
// when the statement is refused, and is there for the next one.
func TestPaperRowsAreRefused(t *testing.T) {
	s := clinic(t)
	const text = `CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1, transform = dense, max_support = 64)`
	e := refused(t, s, sqlerr.Invalid, text)
	if !strings.Contains(e.Message, "e+1") || !strings.Contains(e.Hint, "rows = ") {
		t.Errorf("%v (%s) names no number of rows and no way out", e, e.Hint)
	}
	before := ledger(t, s)
	if !strings.Contains(before, "number of rows") {
		t.Errorf("N̂ is not in the ledger:\n%s", before)
	}
	refused(t, s, sqlerr.Invalid, text)
	if after := ledger(t, s); after != before {
		t.Errorf("N̂ was bought twice:\n%s", after)
	}
}

// TestConjunctionsBySMW builds the paper's non-interactive release of all
// conjunctions with at most one free column, and holds every one of them to
// the bound of a complete release: false-failure rate 1e-7.
func TestConjunctionsBySMW(t *testing.T) {
	s := pumsData.declare(t, `epsilon = 20, delta = 1e-6`)
	must(t, s, `CREATE RELEASE cube ON pums (sex, educ, married) USING SMW
		WITH (epsilon = 8, free_columns = 1, max_updates = 40, beta = 1e-7)`)
	must(t, s, `SET mechanism = cube`)
	must(t, s, `SET confidence = 0.9999999`)
	raw := plain(t, s)
	worst, margin := 0.0, 0.0
	for _, where := range oneFree() {
		text := `SELECT COUNT(*) FROM pums WHERE ` + where
		r := must(t, s, text)
		if !r.Answer.Verified {
			t.Fatal("40 runs ended before a whole pass agreed")
		}
		margin = r.Answer.Margins[0][0].(float64)
		if off := math.Abs(float64(r.Rows[0][0].(int64) - truth(t, raw, text))); off > margin {
			t.Errorf("%s is off by %.0f of ±%.0f", where, off, margin)
		} else {
			worst = max(worst, off)
		}
	}
	t.Logf("worst error %.0f of ±%.0f", worst, margin)
	if r := must(t, s, `SELECT COUNT(*) FROM pums WHERE educ = 9`); r.Answer.Verified {
		t.Error("a query outside the class has an error bar")
	}
}

// oneFree lists the conjunctions that fix two or three of sex, educ, married.
func oneFree() (all []string) {
	for sex := range 2 {
		for educ := 1; educ <= 16; educ++ {
			for married := range 2 {
				all = append(all, fmt.Sprintf("sex = %d AND educ = %d AND married = %d", sex, educ, married))
			}
			all = append(all, fmt.Sprintf("sex = %d AND educ = %d", sex, educ))
		}
		all = append(all, fmt.Sprintf("sex = %d AND married = 1", sex))
	}
	return all
}

// TestWorkloadBySMW builds a release from a file of queries, and says where a
// faulty file is wrong.
func TestWorkloadBySMW(t *testing.T) {
	s := pumsData.declare(t, `epsilon = 20, delta = 1e-6`)
	dir := t.TempDir()
	s.SetDirectory(dir)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "w.sql"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const create = `CREATE RELEASE w ON pums (sex, educ) USING SMW WITH (epsilon = 8, workload = 'w.sql', max_updates = 20)`
	for text, want := range map[string]string{
		"SELECT COUNT(*) FROM pums WHERE sex = 1;\nSELECT COUNT(*) FROM pums WHERE shoe = 1;": "w.sql:2:33",
		"SELECT COUNT(*) FROM pums WHERE age = 1;":                                            "age",
		"DROP RELEASE w;": "SELECT",
		"":                "0 queries",
	} {
		write(text)
		if _, err := s.Exec(context.Background(), create, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %s", text, err, want)
		}
	}
	write("SELECT COUNT(*) FROM pums WHERE sex = 1;\nSELECT COUNT(*) FROM pums WHERE educ > 12 AND sex = 0;\n")
	must(t, s, create)
	must(t, s, `SET mechanism = w`)
	if r := must(t, s, `SELECT COUNT(*) FROM pums WHERE NOT (sex <> 1)`); r.Answer.Via != "w" {
		t.Errorf("answered by %s", r.Answer.Via)
	}
}
