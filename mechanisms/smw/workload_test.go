package smw

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"dpsql/internal/scratch"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/query"
)

var (
	long      = flag.Bool("long", false, "run the campaigns of this package at full size")
	databases = flag.Int("workload.seeds", 1, "how many databases TestCorrelatedWorkload makes")
	choices   = flag.Bool("workload.choices", false, "go through more settings of what the defaults were chosen by")
)

func TestMain(m *testing.M) {
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// sized returns the size of a campaign, small by default and full with -long.
func sized(small, full int) int {
	if *long {
		return full
	}
	return small
}

// drawn is a table of rows drawn from a stated law, of six columns at most.
type drawn struct {
	u     *query.Universe
	sizes []int
	rows  [][6]uint8
}

func newDrawn(t testing.TB, sizes []int, rows int) drawn {
	var columns []query.Column
	for i, d := range sizes {
		columns = append(columns, query.Column{
			Name: fmt.Sprint("c", i), Domain: must(query.NewRange(0, int64(d-1), false))(t)})
	}
	return drawn{u: must(query.NewUniverse(columns))(t), sizes: sizes, rows: make([][6]uint8, rows)}
}

// newCorrelated draws six columns that depend on each other by pairs: each row
// draws a component c of 0 … 4, and column j, of d_j values, is ⌊|N(0,1)|·d_j/5⌋ +
// ⌊c·d_j/5⌋ modulo d_j.
func newCorrelated(t testing.TB, r *rand.Rand, rows int) drawn {
	c := newDrawn(t, []int{50, 50, 20, 10, 7, 2}, rows)
	for i := range c.rows {
		k := r.IntN(5)
		for j, d := range c.sizes {
			c.rows[i][j] = uint8((int(math.Abs(r.NormFloat64())*float64(d)/5) + k*d/5) % d)
		}
	}
	return c
}

// newParity draws five columns. Every two of them are independent and uniform, so
// pairs of columns show nothing. Some three of them are dependent. Call a value high
// if it lies in the upper half of its domain. In nine tenths of the rows c is high
// exactly if one of a and b is high and the other is not. In nine tenths of the rows
// e is high exactly if one of c and d is high and the other is not.
func newParity(t testing.TB, r *rand.Rand, rows int) drawn {
	p := newDrawn(t, []int{32, 32, 2, 16, 8}, rows)
	xor := func(x, y int) int {
		if r.IntN(10) == 0 {
			return 1 - x ^ y
		}
		return x ^ y
	}
	for i := range p.rows {
		a, b, d := r.IntN(32), r.IntN(32), r.IntN(16)
		c := xor(a/16, b/16)
		e := 4*xor(c, d/8) + r.IntN(4)
		p.rows[i] = [6]uint8{uint8(a), uint8(b), uint8(c), uint8(d), uint8(e)}
	}
	return p
}

// histogram counts the rows by some columns, row by row of the first.
func (c drawn) histogram(columns []int) []int64 {
	n := 1
	for _, j := range columns {
		n *= c.sizes[j]
	}
	counts := make([]int64, n)
	for _, x := range c.rows {
		at := 0
		for _, j := range columns {
			at = at*c.sizes[j] + int(x[j])
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

// ask draws k conjunctions that fix some columns to runs of consecutive values,
// 1 to longest of them but at most half of the domain, or 1, and leave the others
// free.
func (c drawn) ask(t testing.TB, r *rand.Rand, columns []int, longest, k int) []asked {
	counts := c.histogram(columns)
	list := make([]asked, k)
	for i := range list {
		q, cells := query.All(c.u), []int{0}
		for _, j := range columns {
			d := c.sizes[j]
			n := 1 + r.IntN(max(1, min(longest, d/2)))
			first := r.IntN(d - n + 1)
			var longer []int
			var values []query.Value
			for v := first; v < first+n; v++ {
				values = append(values, query.Int(int64(v)))
			}
			for _, at := range cells {
				for v := first; v < first+n; v++ {
					longer = append(longer, at*d+v)
				}
			}
			cells = longer
			q = must(q.And(query.Where(c.u, j, c.u.Columns()[j].Domain.SetOf(values...))))(t)
		}
		list[i].q = q
		for _, at := range cells {
			list[i].count += counts[at]
		}
	}
	return list
}

// learn buys classes for ρ.
func (c drawn) learn(t testing.TB, rho float64, src *noise.Source) *Classes {
	tables := PriorTables(c.u)
	for _, table := range tables {
		copy(table.Counts, c.histogram([]int{table.A, table.B}))
	}
	sigma2 := new(big.Rat).SetFloat64(float64(len(tables)) / (2 * rho))
	var seed [32]byte // of coins that follow the noise
	if err := src.Bytes(seed[:]); err != nil {
		t.Fatal(err)
	}
	random := coin.NewSourceFrom(rand.NewChaCha8(seed))
	return learned(t, c.u, tables, sigma2, int64(len(c.rows)), src, random)
}

// played is what a mechanism did with a list of queries.
type played struct {
	rms, worst float64
	updates    int
	unverified int
}

func (r played) String() string {
	return fmt.Sprintf("RMS %5.0f, worst %6.0f, %3d updates, %5d unverified", r.rms, r.worst, r.updates, r.unverified)
}

// play asks a mechanism the list, as a database does: an equal query gets the
// answer it got before, and past its last run the hypothesis answers unverified.
func play(t testing.TB, p Params, u *query.Universe, from Prior, list []asked, src *noise.Source) (r played) {
	h := NewHypothesis(p, u, from)
	var run Run
	var off deviations
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
		off.add(answer - a.count)
	}
	r.rms, r.worst = off.rms(), off.worst
	return r
}

// alone asks what a mechanism begins with, and makes no update.
func alone(p Params, u *query.Universe, from Prior, list []asked) (r played) {
	h := NewHypothesis(p, u, from)
	var off deviations
	for _, a := range list {
		off.add(h.Count(a.q) - a.count)
	}
	return played{rms: off.rms(), worst: off.worst}
}

// deviations sums up how far answers are off.
type deviations struct{ n, squares, worst float64 }

func (e *deviations) add(off int64) {
	d := math.Abs(float64(off))
	e.n++
	e.squares += d * d
	e.worst = max(e.worst, d)
}

func (e *deviations) rms() float64 { return math.Sqrt(e.squares / e.n) }

// workloadRho is ε = 1 at δ = 1e-6.
const workloadRho = 0.02436

// columnSets are the columns that the correlated workloads fix; a query has up to
// 1,134, 7,560 and 450,000 records of 7,000,000.
var columnSets = [][]int{{0, 1, 2, 3}, {0, 1, 3}, {2, 4}}

func (c drawn) request(queries int, rho float64) Request {
	return Request{MaxSupport: 500_000, Queries: int64(queries), Beta: 0.05, NHat: int64(len(c.rows)), NHatBound: 500,
		Sensitivity: 1, MaxWeight: 1, UniverseSize: c.u.Size(), RunEpsilon: shareOf(rho)}
}

// TestCorrelatedWorkload asks 20,000 queries of a million rows whose columns
// depend on each other by pairs, ε = 1, δ = 1e-6, all of it for the mechanism.
//
// From its prior the mechanism makes next to no update. That run tests the
// prior: its answers are the same without the mechanism. The run from a uniform
// start tests the updates. They must improve on the start, with the projection
// and with the paper's step. Direct answers with the same budget have noise of
// σ = 641 each and are off by 2,600 at worst.
// The seeds are fixed, so nothing is left to chance.
func TestCorrelatedWorkload(t *testing.T) {
	if !*long {
		t.Skip("a study of what is learned: -long")
	}
	t.Parallel()
	const queries, sigma, farthest = 20_000, 641, 2600
	for seed := range *databases {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		c := newCorrelated(t, r, 1_000_000)
		src := newSource(r)
		from, whole := c.learn(t, workloadRho/10, src), c.learn(t, workloadRho, src)
		for _, columns := range columnSets {
			list := c.ask(t, r, columns, 3, queries)
			request := c.request(queries, workloadRho*9/10)
			if request.Prior = true; !PriorPays(request) {
				t.Errorf("no prior would be bought")
			}
			p := must(Plan(request))(t)
			ours, prior := play(t, p, c.u, from, list, src), alone(p, c.u, from, list)
			t.Logf("seed %d, columns %v, from the prior, B = %d, T = %d: %v", seed, columns, p.Updates, p.Threshold, ours)
			t.Logf("   without updates: %v; the whole budget for the prior: %v", prior, alone(p, c.u, whole, list))
			if ours.unverified > 0 {
				t.Errorf("columns %v: %d answers are unverified", columns, ours.unverified)
			}
			if len(columns) == 3 && (prior.rms > sigma/2 || prior.worst > farthest) {
				t.Errorf("columns %v: the prior has RMS %.0f, worst %.0f", columns, prior.rms, prior.worst)
			}
			if len(columns) == 4 {
				continue // a query counts less than T: there is nothing to learn from a uniform start
			}
			request = c.request(queries, workloadRho)
			p = must(Plan(request))(t)
			projected, uniform := play(t, p, c.u, nil, list, src), alone(p, c.u, nil, list)
			t.Logf("   uniform, B = %d, T = %d: %v; without updates: %v", p.Updates, p.Threshold, projected, uniform)
			if projected.rms > 0.75*uniform.rms {
				t.Errorf("columns %v: %d updates do not better the uniform start", columns, projected.updates)
			}
			request.Update, request.MaxUpdates = Paper, 200
			p = must(Plan(request))(t)
			paper := play(t, p, c.u, nil, list, src)
			t.Logf("   the paper's step, uniform, B = %d, T = %d: %v", p.Updates, p.Threshold, paper)
			if paper.rms > 0.9*uniform.rms || paper.rms < projected.rms {
				t.Errorf("columns %v: the paper's step betters the uniform start too little, or more than the projection", columns)
			}
		}
	}
}

// TestUpdatesEarnTheirKeep asks queries of a table whose pairs of columns carry
// no information. The prior is blind, whatever it costs, and only updates help.
// ε = 1, δ = 1e-6. They must reduce the RMS to a tenth, those of a
// uniform start as well, and the paper's step to a third. The seeds are fixed, so nothing is left to chance.
func TestUpdatesEarnTheirKeep(t *testing.T) {
	if !*long {
		t.Skip("a study of what is learned: -long")
	}
	t.Parallel()
	const queries, runs = 2_000, 200
	r := rand.New(rand.NewPCG(3, 7))
	c := newParity(t, r, 1_000_000)
	src := newSource(r)
	list := c.ask(t, r, []int{0, 1, 2}, 16, queries)
	request := c.request(queries, workloadRho*9/10)
	request.MaxSupport, request.MaxUpdates, request.Prior = 1<<15, runs, true
	p := must(Plan(request))(t)
	from, whole := c.learn(t, workloadRho/10, src), c.learn(t, workloadRho, src)
	prior, most := alone(p, c.u, from, list), alone(p, c.u, whole, list)
	t.Logf("the prior without updates: %v; the whole budget for it: %v", prior, most)
	check := func(name string, p Params, from Prior, part float64) {
		got := play(t, p, c.u, from, list, src)
		t.Logf("%s, B = %d, T = %d: %v", name, p.Updates, p.Threshold, got)
		if got.rms > part*min(prior.rms, most.rms) || got.updates < 20 {
			t.Errorf("%s: RMS %.0f with %d updates, %.0f without", name, got.rms, got.updates, prior.rms)
		}
	}
	check("from the prior", p, from, 0.1)
	request.Prior, request.RunEpsilon = false, shareOf(workloadRho)
	check("uniform", must(Plan(request))(t), nil, 0.1)
	request.Update, request.MaxUpdates = Paper, 500
	check("the paper's step, uniform", must(Plan(request))(t), nil, 1./3)
}

// TestChosenUpdates compares the number of updates that is chosen with the fewest
// of a list with which nothing stays unverified. It must suffice, T must be at
// most 3.5 times that of the fewest, and the RMS at most twice theirs, but for a
// few counts. That is of tables whose columns depend on each other by pairs: where
// a prior is blind the choice is too small (TestUpdatesEarnTheirKeep is given B).
// The seeds are fixed, so nothing is left to chance. With -workload.choices it
// goes through 48 settings instead of 4.
func TestChosenUpdates(t *testing.T) {
	if !*long {
		t.Skip("a study of what is learned: -long")
	}
	t.Parallel()
	tables, sets, lists := []int{100_000}, columnSets[1:], []int{2000}
	if *choices {
		tables, sets, lists = []int{10_000, 100_000, 1_000_000, 10_000_000}, columnSets, []int{2000, 20_000}
	}
	for _, rows := range tables {
		r := rand.New(rand.NewPCG(uint64(rows), 7))
		c, src := newCorrelated(t, r, rows), newSource(r)
		from := c.learn(t, workloadRho/10, src)
		for _, columns := range sets {
			for _, queries := range lists {
				list := c.ask(t, r, columns, 3, queries)
				for _, prior := range []Prior{nil, from} {
					t.Logf("n = %d, columns %v, k = %d, prior: %v", rows, columns, queries, prior != nil)
					c.checkChosen(t, prior, list, src)
				}
			}
		}
	}
}

func (c drawn) checkChosen(t *testing.T, from Prior, list []asked, src *noise.Source) {
	support := uint64(1)
	for _, a := range list {
		m, _ := a.q.SizeWithin(1 << 62)
		support = max(support, m)
	}
	request := c.request(len(list), workloadRho)
	request.MaxSupport, request.Prior = support, from != nil
	chosen := must(Plan(request))(t)
	got := play(t, chosen, c.u, from, list, src)
	t.Logf("   chosen:  B = %4d, T = %4d: %v", chosen.Updates, chosen.Threshold, got)
	for _, b := range []int64{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000} {
		request.MaxUpdates = b
		p := must(Plan(request))(t)
		fewest := play(t, p, c.u, from, list, src)
		if fewest.unverified > 0 {
			continue
		}
		t.Logf("   suffice: B = %4d, T = %4d: %v", p.Updates, p.Threshold, fewest)
		if got.unverified > 0 || float64(chosen.Threshold) > 3.5*float64(p.Threshold) || got.rms > 2*fewest.rms+20 {
			t.Error("the choice is too small, or needlessly large")
		}
		return
	}
	t.Error("2,000 updates do not suffice")
}

// TestChosenShare checks the grounds on which PriorTenths and Plan choose. On 50,000
// rows, a prior of three tenths of the budget has at most 3/4 of the RMS error of a
// prior of one tenth on pairs of columns, and T stays the same. On a million rows T
// grows by a tenth or more. A T of 0.6·x_β fires on noise. The seeds are fixed, so the
// test cannot fail by chance. With -workload.choices it prints more settings.
func TestChosenShare(t *testing.T) {
	if !*long {
		t.Skip("a study of what is learned: -long")
	}
	t.Parallel()
	for rows, want := range map[int64]int64{50_000: 3, 1_000_000: 1} {
		tables := float64(15)
		if got := PriorTenths(math.Sqrt(tables/(2*workloadRho/10)), rows); got != want {
			t.Errorf("n = %d: %d tenths are chosen, want %d", rows, got, want)
		}
	}
	r := rand.New(rand.NewPCG(50_000, 8))
	c, src := newCorrelated(t, r, 50_000), newSource(r)
	plan := func(rows int64, share float64) Params {
		request := c.request(20_000, workloadRho*(1-share))
		request.Prior, request.NHat = true, rows
		return must(Plan(request))(t)
	}
	pairs, triples := c.ask(t, r, columnSets[2], 3, 2000), c.ask(t, r, columnSets[1], 3, 10_000)
	var tenth, three played
	from := c.learn(t, workloadRho/10, src)
	p := plan(50_000, 0.1)
	tenth = play(t, p, c.u, from, pairs, src)
	three = play(t, plan(50_000, 0.3), c.u, c.learn(t, workloadRho*3/10, src), pairs, src)
	t.Logf("a tenth: %v; three tenths: %v", tenth, three)
	if three.rms > 0.75*tenth.rms {
		t.Error("three tenths do not pay")
	}
	if few, many := plan(50_000, 0.3).Threshold, plan(1_000_000, 0.3).Threshold; float64(few) > 1.02*float64(p.Threshold) ||
		float64(many) < 1.1*float64(plan(1_000_000, 0.1).Threshold) {
		t.Errorf("three tenths make T %d and %d", few, many)
	}
	low := p
	low.Threshold = p.Threshold * 6 / 10
	const plays = 8 // the first τ decides much
	noisy, quiet := 0, 0
	for range plays {
		quiet += play(t, p, c.u, from, triples, src).updates
		noisy += play(t, low, c.u, from, triples, src).updates
	}
	t.Logf("updates of %d mechanisms, T = x_β: %d, T = 0.6·x_β: %d", plays, quiet, noisy)
	if quiet > 1 || noisy < plays/2 {
		t.Error("a smaller T does not fire on noise, or x_β does")
	}
	if *choices {
		printShares(t)
	}
}

// printShares prints what the prior's share of the budget and the factor of T
// over x_β do to the workloads.
func printShares(t *testing.T) {
	for _, rows := range []int{50_000, 1_000_000} {
		r := rand.New(rand.NewPCG(uint64(rows), 8))
		c, src := newCorrelated(t, r, rows), newSource(r)
		for _, share := range []float64{0.01, 0.03, 0.1, 0.3, 0.5} {
			from := c.learn(t, workloadRho*share, src)
			for _, columns := range columnSets {
				list := c.ask(t, r, columns, 3, 20_000)
				request := c.request(len(list), workloadRho*(1-share))
				request.Prior = true
				p := must(Plan(request))(t)
				t.Logf("n = %d, columns %v, share %v, B = %d, T = %d: %v", rows, columns, share, p.Updates, p.Threshold, play(t, p, c.u, from, list, src))
				if share != 0.1 {
					continue
				}
				for _, factor := range []float64{0.6, 0.8, 1.25} {
					q := p
					q.Threshold = int64(factor * float64(p.Threshold))
					t.Logf("    T = %v·x_β: %v", factor, play(t, q, c.u, from, list, src))
				}
			}
		}
	}
}
