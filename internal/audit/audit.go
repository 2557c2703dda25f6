// Package audit tries to refute the privacy that dpsql claims: it runs each
// mechanism very many times on a pair of neighbouring databases, with the
// samplers and the operating system's randomness that answers are made with,
// and looks for an event that is more likely on one of the two than the claim
// allows.
//
// A mechanism is (ε, δ)-differentially private if for every pair of
// neighbouring databases D and D′ and every event E, Pr[M(D) ∈ E] is at most
// e^ε·Pr[M(D′) ∈ E] + δ. So any event gives a lower bound,
//
//	ε ≥ ln((Pr[M(D) ∈ E] − δ) / Pr[M(D′) ∈ E]),
//
// and a lower bound above the claim is a proof, up to chance, that the claim is
// false. The method is that of Ding, Wang, Wang, Zhang and Kifer, "Detecting
// Violations of Differential Privacy" (CCS 2018), and of Bichsel, Gehr,
// Drachsler-Cohen, Tsankov and Vechev, "DP-Finder" (CCS 2018): an output is
// reduced to a few integers; a quarter of the runs ranks their values by how
// much likelier D makes them than D′; another quarter chooses the event,
// among sets of the highest ranked and half-lines; the other half, which took
// no part in the choice, says how likely that event is. From these counts come
// Clopper and Pearson's exact confidence limits ("The use of confidence or
// fiducial limits illustrated in the case of the binomial", 1934), the lower
// one for D and the upper one for D′, and from those the lower bound on ε. The
// same is done with D and D′ exchanged. Where theory names the worst event, that
// one is tried as well, on all runs, for it needed no choosing. The stated confidence holds for all
// limits of all mechanisms of a call together (Bonferroni), so a call on
// mechanisms that keep their claims reports a violation with probability at
// most 1 − confidence.
//
// What an audit shows: that a violation it reports is one, at that confidence.
// What it does not show: privacy. It tries one pair of databases and one
// setting a mechanism, sees only events that happen in the runs it made, and
// only those that its integers tell apart; a leak of probability 10⁻⁶, or one
// through running time, memory or the ledger, it cannot see. A lower bound far
// below a claim means as little: claims by composition hold with room to spare,
// and the worst database need not be the one tried. What shows privacy is the
// proofs that the mechanisms' packages cite; an audit guards against the code
// not being what was proved. That it can fail is shown in the package's tests,
// on mechanisms that are broken on purpose.
//
// The mechanisms are called as package engine calls them, but not through it:
// the charging of the ledger and the reading of rows are not audited here.
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

// Width is the largest number of integers an output is reduced to.
const Width = 4

// Output is what one run of a mechanism shows, as integers: the first of
// len(Case.Shows) of them mean something. Anything that can be computed from
// the public output of a mechanism may be one.
type Output [Width]int64

// Case is one mechanism on one pair of neighbouring databases.
type Case struct {
	Name string
	// Unit is L, the number of rows in which the databases differ and to which
	// the mechanism's noise is scaled.
	Unit  int64
	Claim Claim
	// Shows names the integers of an Output, at most Width.
	Shows []string
	// Run runs the mechanism once, on D, or on D′ if changed, drawing from src
	// alone. It is safe for concurrent use with different sources.
	Run func(changed bool, src *noise.Source) (Output, error)
	// Suspect, if not nil, is an event known beforehand to be telling. It is
	// tried, on all runs, besides the one that is chosen by looking.
	Suspect func(Output) bool
}

// Options say how hard to look. The zero value stands for the defaults.
type Options struct {
	// Runs is how often each mechanism runs on each of its two databases, from
	// MinRuns to MaxRuns; 0 stands for DefaultRuns.
	Runs int
	// Confidence, above 0.5 and at most 1 − 1e-12, holds for all results
	// together; 0 stands for DefaultConfidence.
	Confidence float64
	// Progress, if not nil, is told the number of runs done, of all cases and
	// databases, out of how many. Calls do not overlap.
	Progress func(name string, done, total int)
}

// The limits and defaults of Options.
const (
	MinRuns           = 1000
	MaxRuns           = 20_000_000
	DefaultRuns       = 120_000
	DefaultConfidence = 0.999
)

// Result is what the audit of one case found.
type Result struct {
	Case Case
	// Bound is a lower bound on the mechanism's ε at the claim's δ, in nats: 0
	// when nothing was found.
	Bound float64
	// Event is the one that gave the bound.
	Event Event
	Runs  int // on each database
	Took  time.Duration
}

// Violation reports whether the bound refutes the claim.
func (r Result) Violation() bool { return r.Bound > r.Case.Claim.Epsilon }

// Run audits the cases one after the other. It fails when a mechanism does,
// when an option is out of range (code invalid), and when ctx ends (code
// cancelled). A violation is no error.
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

// Check refuses options that are out of range, as invalid.
func (o Options) Check() error {
	if o.Runs < MinRuns || o.Runs > MaxRuns {
		return sqlerr.New(sqlerr.Invalid, "the number of runs must lie between %d and %d", MinRuns, MaxRuns)
	}
	if !(o.Confidence > 0.5 && o.Confidence <= 1-1e-12) {
		return sqlerr.New(sqlerr.Invalid, "the confidence must be above 0.5 and at most 1 - 1e-12")
	}
	return nil
}

// examine looks for a violation both ways. miss is the probability with which
// the bound may exceed the mechanism's ε; each event tried has its share.
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

// tried returns the events that are to favour more over less, with limits that
// each fail with probability miss at most.
func (c Case) tried(views []view, more, less []Output, miss float64) []Event {
	quarter, half := len(more)/4, len(more)/2
	s := choose(views, split{more[:quarter], less[:quarter]}, split{more[quarter:half], less[quarter:half]}, c.Claim.Delta, miss)
	events := []Event{limits(s.String(), s.holds, more[half:], less[half:], miss)}
	if c.Suspect != nil {
		events = append(events, limits("as suspected", c.Suspect, more, less, miss))
	}
	return events
}

// limits counts an event in both samples, of equal size.
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

// Event is a set of outputs. What describes it in words; Low is the lower
// confidence limit of its probability on the database that favours it, D, or
// D′ if Changed, and High the upper limit on the other.
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
