package audit

import (
	"math/big"
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/law"
)

// count is the true count of every query in D. D′ has a unit more.
const count = 100

// script is what an analyst asks in a run of the private test: comparisons of a count
// that is off the hypothesis by nearly the threshold, which the unit brings nearer, and
// then of one that is below it by as much, which the unit takes away.
type script struct {
	near, slack int   // how many comparisons are below the threshold, and by how much
	far, beyond int64 // how many are beyond it, and by how much
}

func (s script) off(m model, i int) int64 {
	if i < s.near {
		return m.params.Threshold - int64(s.slack)
	}
	return -m.params.Threshold - s.beyond
}

func (s script) len() int { return s.near + int(s.far) }

// compare makes the i-th comparison.
func (s script) compare(m model, r *smw.Run, i int, changed bool, unit int64, src *noise.Source) (fired, below bool, err error) {
	h := count - s.off(m, i)
	out, err := r.Test(rows(count, unit, changed), h, src)
	return out.Fired, out.Fired && out.Noisy < h, err
}

// once asks the script until a comparison fires. It shows which one, negated if it
// fired from below.
func (s script) once(m model, r *smw.Run, changed bool, unit int64, src *noise.Source) (int64, error) {
	for i := range s.len() {
		fired, below, err := s.compare(m, r, i, changed, unit, src)
		switch {
		case err != nil:
			return 0, err
		case below:
			return -int64(i) - 1, nil
		case fired:
			return int64(i) + 1, nil
		}
	}
	return 0, nil
}

// chance returns the probability that all near comparisons are silent and that each of
// the far ones, if the run went on, fires from below. The database has more rows than D
// by the given number.
func (s script) chance(m model, more, tau int64) float64 {
	return power(m.silent(s.off(m, 0)+more, tau), s.near) *
		power(m.below(s.off(m, s.near)+more, tau), int(s.far))
}

// TestTauReusedAfterFiring audits a run that goes on after it fired, with the same τ,
// for the price of one. With c firings its loss tends to ε₁ + cε₂ (as of Algorithm 1 of
// Lyu, Su and Li 2017; the gaps cost nothing more), here 0.386·4 + 3·0.614·4 = 8.9.
func TestTauReusedAfterFiring(t *testing.T) {
	campaign(t)
	m, s := newModel(t, 4), script{near: 4, slack: 1, far: 3, beyond: 0}
	c := Case{
		Name: "τ reused after firing, true loss 8.9", Unit: 1, Claim: Claim{Epsilon: 4}, Shows: []string{"fired", "from below"},
		Run: func(changed bool, src *noise.Source) (o Output, err error) {
			r, err := smw.StartRun(m.params, src)
			tau := r.Tau()
			for i := 0; err == nil && i < s.len(); i++ {
				var fired, below bool
				fired, below, err = s.compare(m, &r, i, changed, 1, src)
				o[0], o[1] = 2*o[0], 2*o[1]
				if below {
					o[1]++
				}
				if fired && err == nil {
					o[0]++
					r, err = smw.ResumeRun(m.params, tau)
				}
			}
			return o, err
		},
		Suspect: func(o Output) bool { return o[0] == 7 && o[1] == 7 },
	}
	p := func(more int64) float64 {
		return m.mean(func(tau int64) float64 { return s.chance(m, more, tau) })
	}
	mustCatch(t, twin{c, p(0), p(1)})

	c.Name = "one run, ended by its firing"
	single(&c, m, s, 1)
	mustHold(t, c, keptRuns)
}

// single makes the case a correct run on the script, with a unit of the given number of
// rows.
func single(c *Case, m model, s script, unit int64) {
	c.Shows = []string{"fired at"}
	c.Suspect = func(o Output) bool { return o[0] == -int64(s.near)-1 }
	c.Run = func(changed bool, src *noise.Source) (o Output, err error) {
		r, err := smw.StartRun(m.params, src)
		if err == nil {
			o[0], err = s.once(m, &r, changed, unit, src)
		}
		return o, err
	}
}

// TestThresholdWithoutNoise audits a threshold without noise: each silent comparison
// costs up to ε₂/2, without end, instead of all of them together ε₁.
func TestThresholdWithoutNoise(t *testing.T) {
	t.Parallel()
	m, s := newModel(t, 2), script{near: 6, slack: 1, far: 1, beyond: 1}
	var c Case
	single(&c, m, s, 1)
	c.Name, c.Unit, c.Claim = "τ = 0, true loss grows with the silent comparisons", 1, Claim{Epsilon: 2}
	sound := c
	sound.Name = "the same with τ"
	c.Run = func(changed bool, src *noise.Source) (o Output, err error) {
		r, err := smw.ResumeRun(m.params, 0)
		if err == nil {
			o[0], err = s.once(m, &r, changed, 1, src)
		}
		return o, err
	}
	mustCatch(t, twin{c, s.chance(m, 0, 0), s.chance(m, 1, 0)})
	mustHold(t, sound, keptRuns)
}

// TestSensitivityTwoAsOne audits units of two rows with the noise for one. By group
// privacy the true loss of a run is at most 2·(ε₁+ε₂) = 4. It tends to that with the
// number of silent comparisons.
func TestSensitivityTwoAsOne(t *testing.T) {
	t.Parallel()
	m, s := newModel(t, 2), script{near: 3, slack: 1, far: 1, beyond: 1}
	var c Case
	single(&c, m, s, 2)
	c.Name, c.Unit, c.Claim = "a run, sensitivity 2 as 1, true loss 4", 2, Claim{Epsilon: 2}
	p := func(more int64) float64 {
		return m.mean(func(tau int64) float64 { return s.chance(m, more, tau) })
	}
	mustCatch(t, twin{c, p(0), p(2)})
	single(&c, m, s, 1)
	c.Name, c.Unit = "the same with units of one row", 1
	mustHold(t, c, keptRuns)
}

// TestRefundOnError audits a run that ends by an error after its comparisons and whose
// budget is given back. The silent answers were seen, and cost up to ε₁ = 0.386·4 each
// time. Three such runs and one that fires lose up to 3ε₁ + ε = 8.6.
func TestRefundOnError(t *testing.T) {
	campaign(t)
	m, s := newModel(t, 4), script{near: 2, slack: 1, far: 1, beyond: 0}
	const refunded = 3
	run := func(attempts int) func(bool, *noise.Source) (Output, error) {
		return func(changed bool, src *noise.Source) (o Output, err error) {
			for range attempts {
				r, err := smw.StartRun(m.params, src)
				if err != nil {
					return o, err
				}
				for i := range s.near {
					fired, _, err := s.compare(m, &r, i, changed, 1, src)
					if err != nil || fired {
						return o, err // a firing is paid for: no more runs
					}
				}
				o[0]++ // the analyst makes the statement fail here
			}
			r, err := smw.StartRun(m.params, src)
			if err == nil {
				o[1], err = s.once(m, &r, changed, 1, src)
			}
			return o, err
		}
	}
	c := Case{
		Name: "a refund on error, true loss 8.6", Unit: 1, Claim: Claim{Epsilon: 4}, Shows: []string{"errors", "fired at"},
		Run:     run(refunded),
		Suspect: func(o Output) bool { return o[0] == refunded && o[1] == -int64(s.near)-1 },
	}
	p := func(more int64) float64 {
		silent := m.mean(func(tau int64) float64 { return power(m.silent(s.off(m, 0)+more, tau), s.near) })
		return power(silent, refunded) * m.mean(func(tau int64) float64 { return s.chance(m, more, tau) })
	}
	mustCatch(t, twin{c, p(0), p(1)})
	c.Name, c.Claim.Epsilon = "the same runs, all paid for", 4*(refunded+1)
	mustHold(t, c, keptRuns)
}

// TestVariantsOfLyuSuLi has sequences on which every query changes by 1 between D and
// D′. The queries of Algorithms 1 to 4 and 6 are first just below the threshold, nearer
// in D′, and then just at it, farther in D′. In D the expected answers are ⊥ … ⊥ ⊤ … ⊤.
func TestVariantsOfLyuSuLi(t *testing.T) {
	t.Parallel()
	const epsilon = 2
	for _, v := range []struct {
		name          string
		number, c     int
		belows, tops  int
		start, change int64 // the first queries in D, and the last
		atMost        int64 // the number given
		why           string
	}{
		// Given ⊤ and a number ≤ 0, the noisy threshold was ≤ 0 in D and in
		// D′: each ⊥ then costs up to ε₂/c, without end.
		{"Lyu Su Li 3", 3, 1, 5, 1, -1, 0, 0, "grows by ε/2 with each ⊥"},
		// ν is made for one ⊤ and for differences of 1 instead of 2: ε/4 for the
		// threshold and 2·3ε/4 for each ⊤, (1+6c)/4 · ε together.
		{"Lyu Su Li 4", 4, 2, 3, 2, 0, 1, 0, "(1+6c)/4·ε = 3.25 ε"},
		// Without ν, no ρ lets the first query stay below and the second pass if the
		// first is the larger, as it is in D′.
		{"Lyu Su Li 5", 5, 0, 1, 1, 0, 1, 0, "∞"},
		// Without a cutoff every ⊤ beside the ⊥s costs up to another ε₂, without
		// end.
		{"Lyu Su Li 6", 6, 0, 3, 3, -2, 0, 0, "grows by ε/2 with each ⊤"},
	} {
		s := algorithm(t, v.number, epsilon, v.c)
		in := sequence(v.belows, v.start, v.tops, v.change)
		changed := sequence(v.belows, v.start+1, v.tops, v.change-1)
		pattern := sequence(v.belows, false, v.tops, true)
		c := s.audited(v.name+", true loss "+v.why, epsilon, in, changed)
		c.Suspect = func(o Output) bool {
			return o[0] == 1<<(v.belows+v.tops)+1<<v.tops-1 && (!s.numeric || o[1] <= v.atMost)
		}
		mustCatch(t, twin{c, s.chance(in, pattern, v.atMost), s.chance(changed, pattern, v.atMost)})
		for _, right := range []int{1, 2} {
			sound := algorithm(t, right, epsilon, max(1, v.c)).audited("Lyu Su Li 1 or 2", epsilon, in, changed)
			sound.Suspect = c.Suspect
			mustHold(t, sound, keptRuns)
		}
	}
}

// TestPriorChargedAsOneTable audits the counts of K = 6 pairs of columns with the noise
// for one of them. Each is ρ-zCDP, and all of them together are 6ρ. The sum of the
// counts that include the unit shows all of it.
func TestPriorChargedAsOneTable(t *testing.T) {
	campaign(t)
	u, err := binary(priorColumns)
	if err != nil {
		t.Fatal(err)
	}
	sigma2 := direct.SigmaSquared(int64(someRho), 1)
	tables := len(smw.PriorTables(u))
	law, err := law.NewGaussian(sigma2)
	if err != nil {
		t.Fatal(err)
	}
	const most = 10*6 - 6 // suspect: counts of 10 whose sum is this low
	c := Case{
		Name: "the tables of a prior, charged as one", Unit: 1, Claim: concentrated(someRho, someDelta),
		Shows: []string{"all pairs", "one pair"}, Run: priorRun(u, 1, sigma2),
		Suspect: func(o Output) bool { return o[0] <= most },
	}
	sum := sums(law, tables)
	p, q := 0.0, 0.0
	for k, chance := range sum {
		if k <= most-60 {
			p += chance
		}
		if k <= most-66 {
			q += chance
		}
	}
	mustCatch(t, twin{c, p, q})
	c.Run, c.Name = priorRun(u, 1, sigma2.Mul(sigma2, big.NewRat(int64(tables), 1))), "the same with the noise for all of them"
	mustHold(t, c, keptRuns)
}

// sums returns the law of the sum of n draws.
func sums(l law.Law, n int) map[int64]float64 {
	law := map[int64]float64{0: 1}
	for range n {
		next := make(map[int64]float64)
		for k, chance := range law {
			for _, v := range values(l) {
				if p := mass(l, v); p > 1e-12 {
					next[k+v] += chance * p
				}
			}
		}
		law = next
	}
	return law
}

// TestRemeasuredByTheComparedDraw audits a run that shows, instead of a fresh count,
// the very draw that was compared. This is Algorithm 3 of Lyu, Su and Li: given that
// the draw is at most 0, τ was too, and each silent comparison costs up to ε₂/2,
// without end. The ε₃ of a fresh count does not pay for that.
func TestRemeasuredByTheComparedDraw(t *testing.T) {
	campaign(t)
	r := request(1, nearing+leaving, 1, 4*oneEpsilon)
	r.Remeasure = true
	p, err := smw.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	e1, _ := p.Eps1.Float64()
	e2, _ := p.Eps2.Float64()
	s := svt{rho: dlap(t, 1/e1), nu: dlap(t, 2/e2), cutoff: 1, numeric: true}
	const belows = 8
	in, changed := sequence[int64](belows, -1, 1, 0), sequence[int64](belows, 0, 1, -1)
	pattern := sequence(belows, false, 1, true)
	c := s.audited("counted anew by the compared draw, true loss grows with the silent comparisons", 4, in, changed)
	c.Suspect = func(o Output) bool { return o[0] == 1<<(belows+1)+1 && o[1] <= 0 }
	mustCatch(t, twin{c, s.chance(in, pattern, 0), s.chance(changed, pattern, 0)})
}

// identity is the identity release of the shipped cases with discrete Laplace noise of
// scale 1/epsilon, on a unit of the given number of rows, claiming ε = 2. Its suspect
// is a cell 0 of at most D's 3 rows.
func identity(t *testing.T, name string, epsilon float64, unit int64) (Case, law.Law) {
	t.Helper()
	law := dlap(t, 1/epsilon)
	c, err := release(name, Claim{Epsilon: 2}, projection.Params{Transform: projection.Identity, Rows: cells, Law: law}, unit)
	if err != nil {
		t.Fatal(err)
	}
	c.Unit = unit
	c.Suspect = func(o Output) bool { return o[0] <= 3 }
	return c, law
}

// TestReleaseWithHalfTheNoise audits Laplace noise at half its scale, which loses 2ε,
// and noise for one row when a unit has two, which loses as much.
func TestReleaseWithHalfTheNoise(t *testing.T) {
	t.Parallel()
	half, law := identity(t, "identity, noise at half scale, true loss 4", 4, 1)
	mustCatch(t, twin{half, 1 - law.Tail(1), 1 - law.Tail(0)})
	two, law := identity(t, "identity, sensitivity 2 as 1, true loss 4", 2, 2)
	mustCatch(t, twin{two, 1 - law.Tail(1), 1 - law.Tail(-1)})
	right, _ := identity(t, "identity", 2, 1)
	mustHold(t, right, keptRuns)
}

// TestCountWithHalfTheNoise audits Gaussian noise at half its σ, which is 4ρ-zCDP and
// no better. The suspect is the tail at which the loss at the claim's δ is largest or
// nearly so, 2.36. The bound by zCDP is 2.75.
func TestCountWithHalfTheNoise(t *testing.T) {
	t.Parallel()
	const from = 22
	law, err := law.NewGaussian(direct.SigmaSquared(4*int64(someRho), 1))
	if err != nil {
		t.Fatal(err)
	}
	c := Case{
		Name: "direct count, noise at half σ", Unit: 1, Claim: concentrated(someRho, someDelta), Shows: []string{"answer"},
		Run: noisy(law, 19, 1), Suspect: func(o Output) bool { return o[0] >= from },
	}
	mustCatch(t, twin{c, law.Tail(from - 20), law.Tail(from - 19)})
	right, err := directCount(1)
	if err != nil {
		t.Fatal(err)
	}
	right.Unit = 1
	mustHold(t, right, keptRuns)
}

// TestBroaderQueriesOfTheFiredRun audits a guard that compares the broader queries in the
// run that its query ended, with the same τ and for the same price. The silent pairs say
// that τ is not far below 0, and the query and each of the triples then cost up to ε₂:
// 0.386·2 + 5·0.614·2 = 6.9 in place of 2.
func TestBroaderQueriesOfTheFiredRun(t *testing.T) {
	campaign(t)
	g, err := newGuarded(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	const beyond = 1 // makes firings frequent
	if len(g.queries) != 1+pairs+triples {
		t.Fatalf("%d queries", len(g.queries))
	}
	var offs []int64
	for _, q := range g.queries {
		off := g.off(q)
		if off < 0 {
			off -= beyond
		}
		offs = append(offs, off)
	}
	c := Case{
		Name: "broader queries of the fired run, true loss 6.9", Unit: 1, Claim: pure(eachRun), Shows: []string{"fired", "from below"},
		Run: func(changed bool, src *noise.Source) (o Output, err error) {
			started, err := smw.StartRun(g.params, src)
			r := started
			for _, off := range offs {
				if err != nil {
					return o, err
				}
				var out smw.Outcome
				out, err = r.Test(rows(count, 1, changed), count-off, src)
				o[0], o[1] = 2*o[0], 2*o[1]
				if out.Fired && err == nil {
					o[0]++
					if out.Noisy < count-off {
						o[1]++
					}
					r = started
				}
			}
			return o, err
		},
	}
	const all = 1<<(pairs+triples) + 1<<triples - 1
	c.Suspect = func(o Output) bool { return o[0] == all && o[1] == all }
	m := modelOf(t, 1+pairs+triples, c.Claim)
	m.params = g.params
	T := g.params.Threshold
	p := func(more int64) float64 {
		return m.mean(func(tau int64) float64 {
			return power(m.silent(T-1+more, tau), pairs) * power(m.below(-T-beyond+more, tau), 1+triples)
		})
	}
	mustCatch(t, twin{c, p(0), p(1)})
}
