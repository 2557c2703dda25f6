package smw

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/noise"
	"dpsql/query"
)

var (
	seeds   = flag.Int("workload.seeds", 1, "how many databases TestCorrelatedWorkload makes")
	choices = flag.Bool("workload.choices", false, "print what the defaults were chosen by")
)

// correlated is a table of six columns that depend on each other: each row draws
// a component c of 0 … 4, and column j, of d_j values, is ⌊|N(0,1)|·d_j/5⌋ +
// ⌊c·d_j/5⌋ modulo d_j.
type correlated struct {
	u    *query.Universe
	rows [][6]uint8
}

var correlatedSizes = [6]int{50, 50, 20, 10, 7, 2}

func newCorrelated(t testing.TB, r *rand.Rand, rows int) correlated {
	var columns []query.Column
	for i, d := range correlatedSizes {
		columns = append(columns, query.Column{
			Name: fmt.Sprint("c", i), Domain: must(query.NewRange(0, int64(d-1), false))(t)})
	}
	c := correlated{u: must(query.NewUniverse(columns))(t), rows: make([][6]uint8, rows)}
	for i := range c.rows {
		k := r.IntN(5)
		for j, d := range correlatedSizes {
			c.rows[i][j] = uint8((int(math.Abs(r.NormFloat64())*float64(d)/5) + k*d/5) % d)
		}
	}
	return c
}

// histogram counts the rows by some columns, row by row of the first.
func (c correlated) histogram(columns []int) []int64 {
	n := 1
	for _, j := range columns {
		n *= correlatedSizes[j]
	}
	counts := make([]int64, n)
	for _, x := range c.rows {
		at := 0
		for _, j := range columns {
			at = at*correlatedSizes[j] + int(x[j])
		}
		counts[at]++
	}
	return counts
}

// asked is a query with its true count.
type asked struct {
	q     query.Query
	count int64
}

// ask draws k conjunctions that fix some columns to runs of 1 to 3 consecutive
// values and leave the others free.
func (c correlated) ask(t testing.TB, r *rand.Rand, columns []int, k int) []asked {
	counts := c.histogram(columns)
	list := make([]asked, k)
	for i := range list {
		q, cells := query.All(c.u), []int{0}
		for _, j := range columns {
			d, n := correlatedSizes[j], 1+r.IntN(3)
			first := r.IntN(d - min(n, d) + 1)
			var longer []int
			var values []query.Value
			for v := first; v < first+min(n, d); v++ {
				values = append(values, query.Int(int64(v)))
				for _, at := range cells {
					longer = append(longer, at*d+v)
				}
			}
			cells = longer
			q = must(q.And(query.Where(c.u, j, c.u.Columns()[j].Domain.Of(values...))))(t)
		}
		list[i].q = q
		for _, at := range cells {
			list[i].count += counts[at]
		}
	}
	return list
}

// learn buys classes for ρ.
func (c correlated) learn(t testing.TB, rho float64, src *noise.Source) *Classes {
	tables := PriorTables(c.u)
	for _, table := range tables {
		copy(table.Counts, c.histogram([]int{table.A, table.B}))
	}
	sigma2 := new(big.Rat).SetFloat64(float64(len(tables)) / (2 * rho))
	return must(LearnClasses(c.u, tables, sigma2, int64(len(c.rows)), src))(t)
}

// played is what a mechanism did with a list of queries.
type played struct {
	rms, worst float64
	updates    int
	unverified int
}

// play asks a mechanism the list, as a database does: an equal query gets the
// answer it got before, and past its last run the hypothesis answers unverified.
func play(t testing.TB, p Params, u *query.Universe, from *Classes, list []asked, src *noise.Source) (r played) {
	h := NewHypothesis(p, u, from)
	var run Run
	open, before := false, make(map[[32]byte]int64)
	for _, a := range list {
		answer, ok := before[a.q.Digest()]
		if !ok {
			answer = h.Count(a.q)
			if !open && r.updates < int(p.Updates) {
				run, open = must(StartRun(p, src))(t), true
			}
			if !open {
				r.unverified++
			} else if out := must(run.Test(a.count, answer, src))(t); out.Fired {
				answer, open = out.Noisy, false
				r.updates++
				if err := h.Update(a.q, out.Noisy); err != nil {
					t.Fatal(err) // FAILURE among others
				}
			}
			before[a.q.Digest()] = answer
		}
		off := float64(answer - a.count)
		r.rms += off * off / float64(len(list))
		r.worst = max(r.worst, math.Abs(off))
	}
	r.rms = math.Sqrt(r.rms)
	return r
}

func (r played) String() string {
	return fmt.Sprintf("RMS %5.0f, worst %6.0f, %3d updates, %5d unverified", r.rms, r.worst, r.updates, r.unverified)
}

// workloadRho is ε = 1 at δ = 1e-6.
const workloadRho = 0.02436

// columnSets are the columns that the workloads fix; a query has up to 1,134,
// 7,560 and 450,000 records of 7,000,000.
var columnSets = [][]int{{0, 1, 2, 3}, {0, 1, 3}, {2, 4}}

func (c correlated) request(queries int, rho float64) Request {
	return Request{MaxSupport: 500_000, Queries: int64(queries), Beta: 0.05, NHat: int64(len(c.rows)), NHatBound: 500,
		Sensitivity: 1, MaxWeight: 1, UniverseSize: c.u.Size(), RunEpsilon: shareOf(rho)}
}

// TestCorrelatedWorkload asks 20,000 queries of a million correlated rows, ε = 1,
// δ = 1e-6, all of it for the mechanism, with the defaults, and the same of the
// paper's update rule from a uniform start, with as many updates and with 200.
// Direct answers with the same budget have noise of σ = 641 each and are off by
// 2,600 at worst. The seeds are fixed, so nothing is left to chance.
func TestCorrelatedWorkload(t *testing.T) {
	const queries, sigma, farthest = 20_000, 641, 2600
	for seed := range *seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		c := newCorrelated(t, r, 1_000_000)
		src := newSource(r)
		from := c.learn(t, workloadRho/10, src)
		for _, columns := range columnSets {
			list := c.ask(t, r, columns, queries)
			request := c.request(queries, workloadRho*9/10)
			if request.Prior = true; !PriorPays(request) {
				t.Errorf("no prior would be bought")
			}
			p := must(Plan(request))(t)
			ours := play(t, p, c.u, from, list, src)
			t.Logf("seed %d, columns %v, B = %3d, T = %d: %v", seed, columns, p.Updates, p.Threshold, ours)
			for _, b := range []int64{p.Updates, 200} {
				request := c.request(queries, workloadRho)
				request.Update, request.MaxUpdates = Paper, b
				p := must(Plan(request))(t)
				paper := play(t, p, c.u, nil, list, src)
				t.Logf("   the paper's step, uniform, B = %3d, T = %d: %v", b, p.Threshold, paper)
				if ours.rms >= paper.rms || ours.worst >= paper.worst {
					t.Errorf("columns %v: not better than the paper's step", columns)
				}
			}
			if len(columns) == 3 && (ours.rms > sigma/2 || ours.worst > farthest) {
				t.Errorf("columns %v: RMS %.0f, worst %.0f", columns, ours.rms, ours.worst)
			}
			if ours.unverified > 0 {
				t.Errorf("columns %v: %d answers are unverified", columns, ours.unverified)
			}
		}
	}
}
