// Package audit tries to refute the privacy that dpsql claims. It runs each mechanism
// very many times on a pair of neighbouring databases, with the samplers and the
// operating system's randomness that dpsql answers with, and looks for an event that is
// more likely on one of the two than the claim allows.
//
// A mechanism is (ε, δ)-differentially private if for every pair of neighbouring
// databases D and D′ and every event E, Pr[M(D) ∈ E] is at most e^ε·Pr[M(D′) ∈ E] + δ.
// So any event gives a lower bound,
//
//	ε ≥ ln((Pr[M(D) ∈ E] − δ) / Pr[M(D′) ∈ E]),
//
// and a lower bound above the claim is a proof, up to chance, that the claim is false.
//
// The method is that of Ding, Wang, Wang, Zhang and Kifer, "Detecting Violations of
// Differential Privacy" (CCS 2018), and of Bichsel, Gehr, Drachsler-Cohen, Tsankov and
// Vechev, "DP-Finder" (CCS 2018). An output is reduced to a few integers. A quarter of
// the runs ranks their values by how much likelier D makes them than D′. Another
// quarter chooses the event, among sets of the highest ranked values and half-lines.
// The other half, which took no part in the choice, estimates the probability of that
// event. Its counts give Clopper and Pearson's exact confidence limits ("The use of
// confidence or fiducial limits illustrated in the case of the binomial", 1934), the
// lower one for D and the upper one for D′, and these give the lower bound on ε. The
// same is done with D and D′ exchanged. If theory names the worst event, that event is
// tried as well, on all runs, because no runs were needed to choose it. The stated
// confidence holds for all limits of all mechanisms of a call together (Bonferroni). A
// call on mechanisms that keep their claims therefore reports a violation with
// probability at most 1 − confidence.
//
// An audit shows that a violation it reports is one, at that confidence. It does not
// show privacy. It tries one pair of databases and one setting of each mechanism. It
// sees only events that happen in its runs and that its integers tell apart. It cannot
// see a leak of probability 10⁻⁶, or one through running time, memory or the ledger. A
// lower bound far below a claim means little, too: claims by composition hold with room
// to spare, and the worst database need not be the one tried. Privacy rests on the
// proofs that the mechanisms' packages cite; an audit guards against code that differs
// from what was proved. The package's tests show that an audit can fail, on mechanisms
// that are broken on purpose.
//
// The mechanisms are called as package engine calls them, but not through it. Charging
// the ledger and reading rows are not audited here, but for which rows are kept where the budget
// belongs to periods.
package audit

import (
	"context"
	"math"
	"time"

	"dpsql/noise"
	"dpsql/sqlerr"
)

// Claim is an (ε, δ) that a mechanism claims to keep. ε is in nats.
type Claim struct {
	Epsilon float64
	Delta   float64
}

// Width is the largest number of integers to which an output is reduced.
const Width = 4

// Output is the output of one run of a mechanism, as integers. The first
// len(Case.Shows) of them are used. Anything that can be computed from the public
// output of a mechanism may be one.
type Output [Width]int64

// Case is one mechanism on one pair of neighbouring databases.
type Case struct {
	Name string
	// Unit is L, the number of rows in which the databases differ. The mechanism's
	// noise is scaled to it.
	Unit  int64
	Claim Claim
	// Shows names the integers of an Output, at most Width.
	Shows []string
	// Run runs the mechanism once, on D, or on D′ if changed. It draws from src alone.
	// It is safe for concurrent use with different sources.
	Run func(changed bool, src *noise.Source) (Output, error)
	// Suspect, if not nil, is an event known beforehand to be revealing. It is tried on
	// all runs, besides the event that the search chooses.
	Suspect func(Output) bool
}

// Options control the effort of an audit. The zero value stands for the defaults.
type Options struct {
	// Runs is how often each mechanism runs on each of its two databases, from MinRuns
	// to MaxRuns. 0 stands for DefaultRuns.
	Runs int
	// Confidence is that of all results together, above 0.5 and at most 1 − 1e-12. 0
	// stands for DefaultConfidence.
	Confidence float64
	// Progress, if not nil, is called with the number of runs done and the total, over
	// all cases and databases. Calls do not overlap.
	Progress func(name string, done, total int)
}

// The limits and defaults of Options.
const (
	MinRuns           = 1000
	MaxRuns           = 20_000_000
	DefaultRuns       = 120_000
	DefaultConfidence = 0.999
)

// Result is the result of the audit of one case.
type Result struct {
	Case Case
	// Bound is a lower bound on the mechanism's ε at the claim's δ, in nats. It is 0 if
	// nothing was found.
	Bound float64
	// Event is the event that gave the bound.
	Event Event
	Runs  int // on each database
	Took  time.Duration
}

// Violation reports whether the bound refutes the claim.
func (r Result) Violation() bool { return r.Bound > r.Case.Claim.Epsilon }

// Run audits the cases one after the other. It returns an error if a mechanism does, if
// an option is out of range (code invalid), and if ctx ends (code cancelled). A
// violation is not an error.
func Run(ctx context.Context, cases []Case, o Options) ([]Result, error) {
	if o.Runs == 0 {
		o.Runs = DefaultRuns
	}
	if o.Confidence == 0 {
		o.Confidence = DefaultConfidence
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	miss := (1 - o.Confidence) / float64(max(1, len(cases)))
	results := make([]Result, 0, len(cases))
	for i, c := range cases {
		if c.Run == nil || len(c.Shows) == 0 || len(c.Shows) > Width {
			return nil, sqlerr.New(sqlerr.Internal, "audit: the case %q shows %d integers", c.Name, len(c.Shows))
		}
		start := time.Now()
		report := func(done int) {
			if o.Progress != nil {
				o.Progress(c.Name, 2*o.Runs*i+done, 2*o.Runs*len(cases))
			}
		}
		on, off, err := c.sample(ctx, o.Runs, report)
		if err != nil {
			return results, err
		}
		bound, event := c.examine(on, off, miss)
		results = append(results, Result{c, bound, event, o.Runs, time.Since(start)})
	}
	return results, nil
}

// Check refuses options that are out of range, with code invalid.
func (o Options) Check() error {
	if o.Runs < MinRuns || o.Runs > MaxRuns {
		return sqlerr.New(sqlerr.Invalid, "the number of runs must lie between %d and %d", MinRuns, MaxRuns)
	}
	if !(o.Confidence > 0.5 && o.Confidence <= 1-1e-12) {
		return sqlerr.New(sqlerr.Invalid, "the confidence must be above 0.5 and at most 1 - 1e-12")
	}
	return nil
}

// examine looks for a violation both ways. miss is the probability with which the bound
// may exceed the mechanism's ε. Each event tried has its share of it.
func (c Case) examine(on, off []Output, miss float64) (bound float64, event Event) {
	views := c.views(on[:len(on)/4], off[:len(off)/4])
	share := miss / 2
	if c.Suspect != nil {
		share /= 2
	}
	for _, changed := range []bool{false, true} {
		more, less := on, off
		if changed {
			more, less = off, on
		}
		for _, e := range c.tried(views, more, less, share) {
			if b := e.epsilon(c.Claim.Delta); event.What == "" || b > bound {
				bound, event = b, e
				event.Changed = changed
			}
		}
	}
	return bound, event
}

// tried returns the events that may favour more over less, with limits that each fail
// with probability miss at most.
func (c Case) tried(views []view, more, less []Output, miss float64) []Event {
	quarter, half := len(more)/4, len(more)/2
	s := choose(views, split{more[:quarter], less[:quarter]}, split{more[quarter:half], less[quarter:half]}, c.Claim.Delta, miss)
	events := []Event{limits(s.String(), s.holds, more[half:], less[half:], miss)}
	if c.Suspect != nil {
		events = append(events, limits("as suspected", c.Suspect, more, less, miss))
	}
	return events
}

// limits counts an event in both samples, which have equal size.
func limits(what string, holds func(Output) bool, more, less []Output, miss float64) Event {
	var x, y int64
	for i := range more {
		if holds(more[i]) {
			x++
		}
		if holds(less[i]) {
			y++
		}
	}
	n := int64(len(more))
	return Event{What: what, Low: lower(x, n, miss/2), High: upper(y, n, miss/2)}
}

// Event is a set of outputs. What describes it in words. Low is the lower confidence
// limit of its probability on the database that favours it, which is D, or D′ if
// Changed. High is the upper limit on the other database.
type Event struct {
	What      string
	Changed   bool
	Low, High float64
}

// epsilon returns the lower bound on ε that the event gives.
func (e Event) epsilon(delta float64) float64 { return epsilon(e.Low, e.High, delta) }

// epsilon returns ln((low − δ)/high), at least 0.
func epsilon(low, high, delta float64) float64 {
	if low <= delta {
		return 0
	}
	return max(0, math.Log((low-delta)/high))
}
