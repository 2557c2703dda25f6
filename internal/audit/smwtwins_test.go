package audit

import (
	"testing"

	"dpsql/mechanisms/smw"
	"dpsql/noise"
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
	t.Parallel()
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
	t.Parallel()
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
