package audit

import (
	"dpsql/mechanisms/smw"
	"dpsql/noise"
)

// tester compares a true count with a hypothesis's answer, as smw.Run.Test does.
type tester func(count, hypothesis int64, src *noise.Source) (smw.Outcome, error)

// starter starts a run of the private test.
type starter func(p smw.Params, src *noise.Source) (tester, error)

func startRun(p smw.Params, src *noise.Source) (tester, error) {
	run, err := smw.StartRun(p, src)
	return run.Test, err
}

// onward is one run that is asked again after it fired, for as long as it answers. If
// it answered, each further firing would cost another ε₂. So the sequence has many
// comparisons that the unit brings to the threshold, and as many that it takes away
// from it. In the suspect few of the first and most of the others fire. It never
// happens in a run that ends.
func onward(unit int64) (Case, error) { return onwardWith(unit, startRun) }

// The sequence of onward, and its suspect.
const (
	rising, falling      = 16, 16
	fewRising, mostFalls = 6, 10
)

func onwardWith(unit int64, start starter) (Case, error) {
	const epsilon = 3 * oneEpsilon
	p, err := smw.Plan(request(1, rising+falling, unit, epsilon))
	return Case{
		Name: "SMW, asked on after a firing", Claim: pure(epsilon), Shows: []string{"rising fired", "falling fired"},
		Run: func(changed bool, src *noise.Source) (o Output, err error) {
			test, err := start(p, src)
			fired := false
			for i := 0; err == nil && i < rising+falling; i++ {
				h, of := 100-p.Threshold+unit, 0
				if i >= rising {
					h, of = 100+p.Threshold, 1
				}
				var out smw.Outcome
				if out, err = test(rows(100, unit, changed), h, src); err != nil && fired {
					return o, nil // the run refuses, as it should
				}
				fired = fired || out.Fired
				if out.Fired && (of == 0 || out.Noisy < h) {
					o[of]++
				}
			}
			return o, err
		},
		Suspect: func(o Output) bool { return o[0] <= fewRising && o[1] >= mostFalls },
	}, err
}

// firstGap is one run up to its firing. Its sequence tells whether the noisy count that
// the run returns is the gap to the noisy threshold, or betrays g itself. The smallest
// gap is the threshold. A g of at most the threshold says that τ is not above 0. Then
// every comparison before it, all of them near the threshold, costs up to ε₂/2 instead
// of all together ε₁.
func firstGap(unit int64) (Case, error) { return firstGapWith(unit, startRun) }

// The sequence of firstGap: comparisons near the threshold, then comparisons from the
// other side.
const (
	before = 5
	beyond = 2
)

func firstGapWith(unit int64, start starter) (Case, error) {
	const epsilon = 4 * oneEpsilon
	p, err := smw.Plan(request(1, before+beyond, unit, epsilon))
	return Case{
		Name: "SMW, the gap of a firing", Claim: pure(epsilon), Shows: []string{"fired at", "gap"},
		Run: func(changed bool, src *noise.Source) (o Output, err error) {
			test, err := start(p, src)
			for i := 0; err == nil && i < before+beyond; i++ {
				h := 100 - p.Threshold + unit
				if i >= before {
					h = 100 + p.Threshold
				}
				var out smw.Outcome
				if out, err = test(rows(100, unit, changed), h, src); out.Fired {
					return Output{int64(i) + 1, out.Noisy - h}, err
				}
			}
			return o, err
		},
		Suspect: func(o Output) bool { return o[0] > before && o[1] < 0 && o[1] >= -p.Threshold },
	}, err
}
