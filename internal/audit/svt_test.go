package audit

import (
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/accounting"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/law"
)

// svt is the sparse vector technique with integer noise, in the six forms that Lyu, Su
// and Li compare, "Understanding the Sparse Vector Technique for Differential Privacy"
// (PVLDB 10(6), 2017). Given queries of sensitivity 1 and the threshold 0, draw ρ; for
// each query draw ν, answer ⊤ if q + ν ≥ ρ and else ⊥, and stop at the c-th ⊤.
//
// Their queries may change in both directions between neighbours, as counts and their
// negatives do.
type svt struct {
	rho     law.Law // noise of the threshold
	nu      law.Law // noise of the queries; nil for none
	cutoff  int     // c; 0 for no limit
	numeric bool    // give q + ν with ⊤
	refresh bool    // draw ρ anew after ⊤
}

// answers is a sequence of ⊥ (0) and ⊤ (1), as the digits of a binary number after a
// leading 1, and the last q + ν that was given.
type answers struct{ pattern, number int64 }

func (s svt) run(queries []int64, src *noise.Source) (answers, error) {
	rho, err := noise.Draw(s.rho, src)
	a, count := answers{pattern: 1}, 0
	for _, q := range queries {
		if err != nil {
			break
		}
		nu := int64(0)
		if s.nu != nil {
			if nu, err = noise.Draw(s.nu, src); err != nil {
				break
			}
		}
		a.pattern *= 2
		if q+nu < rho {
			continue
		}
		a.pattern++
		if s.numeric {
			a.number = q + nu
		}
		if s.refresh {
			rho, err = noise.Draw(s.rho, src)
		}
		if count++; count == s.cutoff {
			break
		}
	}
	return a, err
}

// algorithm returns the algorithm of a number. ε₁ = ε/2, but ε/4 for Algorithm 4, and
// ε₂ = ε − ε₁; Δ = 1.
func algorithm(t testing.TB, number int, epsilon float64, c int) svt {
	e1, e2, k := epsilon/2, epsilon/2, float64(c)
	law := func(scale float64) law.Law { return dlap(t, scale) }
	switch number {
	case 1: // theirs: ε-differentially private
		return svt{rho: law(1 / e1), nu: law(2 * k / e2), cutoff: c}
	case 2: // Dwork and Roth 2014: ε-differentially private
		return svt{rho: law(k / e1), nu: law(2 * k / e2), cutoff: c, refresh: true}
	case 3: // Roth's lecture notes of 2011: the number given is compared, too
		return svt{rho: law(1 / e1), nu: law(k / e2), cutoff: c, numeric: true}
	case 4: // Lee and Clifton 2014: ν does not grow with c
		return svt{rho: law(4 / epsilon), nu: law(4 / (3 * epsilon)), cutoff: c}
	case 5: // Stoddard, Chen and Machanavajjhala 2014: no ν, no cutoff
		return svt{rho: law(1 / e1)}
	case 6: // Chen, Xiao, Zhang and Xu 2015: no cutoff
		return svt{rho: law(1 / e1), nu: law(1 / e2)}
	}
	t.Fatalf("there is no algorithm %d", number)
	return svt{}
}

func dlap(t testing.TB, scale float64) law.Law {
	t.Helper()
	l, err := law.NewLaplace(new(big.Rat).SetFloat64(scale))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// audited makes a case of the algorithm on queries in D and in D′.
func (s svt) audited(name string, claim float64, in, changed []int64) Case {
	return Case{
		Name: name, Unit: 1, Claim: Claim{Epsilon: claim}, Shows: []string{"answers", "number"},
		Run: func(other bool, src *noise.Source) (Output, error) {
			queries := in
			if other {
				queries = changed
			}
			a, err := s.run(queries, src)
			return Output{a.pattern, a.number}, err
		},
	}
}

// chance returns the probability that the answers to the queries begin with the pattern
// and, if a number is given, that the last number is at most number. It is the sum over
// ρ of products, which holds unless ρ is drawn anew.
func (s svt) chance(queries []int64, pattern []bool, number int64) (p float64) {
	for _, rho := range values(s.rho) {
		product := mass(s.rho, rho)
		for i, above := range pattern {
			over := s.passes(queries[i], rho)
			switch last := i == len(pattern)-1; {
			case !above:
				product *= 1 - over
			case last && s.numeric:
				product *= max(0, over-s.passes(queries[i], number+1))
			default:
				product *= over
			}
		}
		p += product
	}
	return p
}

// passes returns P(q + ν ≥ r).
func (s svt) passes(q, r int64) float64 {
	if s.nu == nil {
		if q >= r {
			return 1
		}
		return 0
	}
	return s.nu.Tail(r - q)
}

// mass returns P(X = k).
func mass(l law.Law, k int64) float64 { return l.Tail(k) - l.Tail(k+1) }

// values returns all integers within 40 deviations.
func values(l law.Law) []int64 {
	most := int64(40*math.Sqrt(l.Variance())) + 40
	var all []int64
	for k := -most; k <= most; k++ {
		all = append(all, k)
	}
	return all
}

// sequence returns n times a, then m times b.
func sequence[T any](n int, a T, m int, b T) []T {
	var s []T
	for range n {
		s = append(s, a)
	}
	for range m {
		s = append(s, b)
	}
	return s
}

// goesOn starts a run that fires as often as it is asked, always with its first τ.
func goesOn(p smw.Params, src *noise.Source) (tester, error) {
	first, err := smw.StartRun(p, src)
	run := first
	return func(count, hypothesis int64, src *noise.Source) (smw.Outcome, error) {
		out, err := run.Test(count, hypothesis, src)
		if out.Fired {
			run = first
		}
		return out, err
	}, err
}

// showsNoisy starts a run that returns h + g⁺, or h − g⁻, when it fires: the noisy
// value that was compared instead of its gap to the noisy threshold. This is the fault
// of Algorithm 3 of Lyu, Su and Li.
func showsNoisy(p smw.Params, src *noise.Source) (tester, error) {
	run, err := smw.StartRun(p, src)
	return func(count, hypothesis int64, src *noise.Source) (smw.Outcome, error) {
		out, err := run.Test(count, hypothesis, src)
		switch {
		case !out.Fired:
		case out.Noisy < hypothesis:
			out.Noisy -= run.Tau()
		default:
			out.Noisy += run.Tau()
		}
		return out, err
	}, err
}

// modelOf is the model of the run that a case plans.
func modelOf(t *testing.T, comparisons int64, c Claim) model {
	t.Helper()
	p, err := smw.Plan(request(1, comparisons, 1, accounting.Epsilon(c.Epsilon*1e15)))
	if err != nil {
		t.Fatal(err)
	}
	e1, _ := p.Eps1.Float64()
	e2, _ := p.Eps2.Float64()
	return model{p, dlap(t, 1/e1), dlap(t, 2/e2)}
}

// TestRunThatGoesOn audits a run that goes on after it fired. With c firings it loses
// ε₁ + c·ε₂, here 1.16 + 10 · 1.84 and more on the suspect.
func TestRunThatGoesOn(t *testing.T) {
	t.Parallel()
	c, err := onwardWith(1, goesOn)
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Unit = "a run that goes on after firing", 1
	m := modelOf(t, rising+falling, c.Claim)
	p := func(more int64) float64 {
		return m.mean(func(tau int64) float64 {
			up := 1 - m.silent(m.params.Threshold-1+more, tau)
			down := m.below(-m.params.Threshold+more, tau)
			return distuv.Binomial{N: rising, P: up}.CDF(fewRising) *
				(1 - distuv.Binomial{N: falling, P: down}.CDF(mostFalls-1))
		})
	}
	mustCatch(t, twin{c, p(0), p(1)})
}

// TestRunThatShowsItsNoisyValue audits a run that returns g itself. It loses up to ε₂/2
// with each comparison before, 5·2.46/2, and ε₂/2 for the firing: 7.4.
func TestRunThatShowsItsNoisyValue(t *testing.T) {
	campaign(t)
	c, err := firstGapWith(1, showsNoisy)
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Unit = "a run that gives the noisy value itself", 1
	m := modelOf(t, before+beyond, c.Claim)
	T := m.params.Threshold
	p := func(more int64) float64 {
		return m.mean(func(tau int64) float64 {
			if tau > 0 { // g is at least T + τ
				return 0
			}
			d := -T + more
			fires := (1 - m.nu.Tail(T+tau-d)) * (m.nu.Tail(T+tau+d) - m.nu.Tail(T+1+d))
			return power(m.silent(T-1+more, tau), before) * fires * (1 + m.silent(d, tau))
		})
	}
	mustCatch(t, twin{c, p(0), p(1)})
}
