package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpsql/accounting"
	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/law"
)

// answered is the answer to a query of an analyst.
type answered struct {
	value  float64
	margin float64 // half-width at 95 %; NaN without
}

// oracle answers the queries of an analyst, one after the other, and says how many updates
// it made.
type oracle interface {
	ask(q workload.Query) (answered, error)
	learning() learned
}

// way is a way to answer an analyst, within a budget.
type way struct {
	name, setting string
	first         []workload.Query // are asked before the analyst's
	most          int              // the largest number of queries that it answers, if it is slow; 0 for all
	begin         func(t *workload.Table, spend budget, k int, src *noise.Source) (oracle, error)
}

// fromRelease answers from a release of marginals.
type fromRelease struct{ *marginals.Release }

func (r fromRelease) ask(q workload.Query) (answered, error) {
	a, err := r.Answer(context.Background(), q.Query, 0.95)
	if !a.Verified {
		a.Margin = math.NaN()
	}
	return answered{float64(a.Value), math.Floor(a.Margin)}, err
}

func (fromRelease) learning() learned { return learned{} }

// fromLive answers from a mechanism.
type fromLive struct {
	*live
	margins [3]float64 // by the kind of answer
}

func newFromLive(m *live) fromLive {
	return fromLive{m, [3]float64{unverified: math.NaN(), agreed: float64(m.UnfiredMargin(0.95)), fired: float64(m.FiredMargin(0.95))}}
}

func (m fromLive) ask(q workload.Query) (answered, error) {
	n, kind, err := m.live.ask(q)
	return answered{n, m.margins[kind]}, err
}

func (m fromLive) learning() learned { return m.learned }

// guarded is a release with its guard. As in the product, the release answers where it has
// an error bar, which is smaller than the guard's.
type guarded struct {
	release fromRelease
	guard   fromLive
}

func (g guarded) ask(q workload.Query) (answered, error) {
	a, err := g.release.ask(q)
	if err != nil || !math.IsNaN(a.margin) {
		return a, err
	}
	return g.guard.ask(q)
}

func (g guarded) learning() learned { return g.guard.learned }

// alone is a release of all marginals over so many columns, with the whole budget.
func alone(degree int) way {
	return way{name: fmt.Sprintf("%d-way marginals, fitted", degree), begin: func(t *workload.Table, spend budget, _ int, src *noise.Source) (oracle, error) {
		r, err := buildMarginals(t, degree, spend, src)
		return fromRelease{r}, err
	}}
}

// guarding is a guard's share of the budget, and how it is set up.
type guarding struct {
	share  float64 // the release's share
	runs   int64   // 0 for the product's choice
	plain  bool    // updates are plain projections
	narrow bool    // nothing is asked after a query that fired
}

// guardedBy gives a share of the budget to a release, and the rest to a guard.
func guardedBy(degree int, g guarding) way {
	w := way{name: fmt.Sprintf("%d-way marginals, guarded", degree), setting: fmt.Sprintf(", share %.0f %%", 100*g.share)}
	if g.plain {
		w.name += ", plain updates"
	}
	if g.narrow {
		w.name += ", no broader queries"
	}
	if g.runs > 0 {
		w.setting += fmt.Sprintf(", B = %d", g.runs)
	}
	w.begin = func(t *workload.Table, spend budget, k int, src *noise.Source) (oracle, error) {
		first := budget{accounting.Epsilon(g.share * float64(spend.epsilon)), accounting.Delta(g.share * float64(spend.delta))}
		r, err := buildMarginals(t, degree, first, src)
		if err != nil {
			return nil, err
		}
		p, err := planOnline(t, t.Size(), k, budget{spend.epsilon - first.epsilon, spend.delta - first.delta}, smw.Request{Fitted: true, MaxUpdates: g.runs}, src)
		if err != nil {
			return nil, err
		}
		from, err := fittedPrior(t, r, g.plain, p.NHat)
		if err != nil {
			return nil, err
		}
		m := newLive(p.Params, t, from, src)
		if !g.narrow {
			m.count = t.Count
		}
		return guarded{fromRelease{r}, newFromLive(m)}, nil
	}
	return w
}

// fittedPrior is the prior that a guard keeps of a release. Without what was measured, its
// updates are plain projections.
func fittedPrior(t *workload.Table, r *marginals.Release, plain bool, rows int64) (smw.Prior, error) {
	var all []int
	for i := range t.Universe.Columns() {
		all = append(all, i)
	}
	measured := r.Params().Sets
	if plain {
		measured = nil
	}
	state, err := smw.EncodeFitted(t.Universe, r.Fitted(all), measured, rows)
	if err != nil {
		return nil, err
	}
	return smw.DecodeFitted(t.Universe, state)
}

// unguarded is SMW without a release.
func unguarded(name string, r smw.Request) way {
	return way{name: name, setting: fmt.Sprintf(", B = %d", r.MaxUpdates), begin: func(t *workload.Table, spend budget, k int, src *noise.Source) (oracle, error) {
		p, err := planOnline(t, t.Size(), k, spend, r, src)
		if err != nil {
			return nil, err
		}
		classes, err := p.learn(t, src)
		if err != nil {
			return nil, err
		}
		return newFromLive(newLive(p.Params, t, classes, src)), nil
	}}
}

// byNoise answers each query by itself.
type byNoise struct {
	law    law.Law
	margin float64
	src    *noise.Source
}

func (d byNoise) ask(q workload.Query) (answered, error) {
	draw, err := noise.Draw(d.law, d.src)
	return answered{float64(q.Count + draw), d.margin}, err
}

func (byNoise) learning() learned { return learned{} }

// directly is the product's direct answers: k counts with discrete Gaussian noise.
func directly() way {
	return way{name: "direct answers", begin: func(_ *workload.Table, spend budget, k int, src *noise.Source) (oracle, error) {
		l, err := spend.gaussian(int64(k))
		if err != nil {
			return nil, err
		}
		return byNoise{l, float64(law.HalfWidth(l, 0.95)), src}, nil
	}}
}

// sitting is what an analyst got.
type sitting struct {
	rms, max, median    float64
	blind, covered      float64 // shares of answers without a margin, and of those with one that hold
	updates, unverified float64
	asked               int
}

// leastAnswer is the answer below which an analyst looks no further.
const leastAnswer = 500

// sit has an analyst ask k queries, of which the first are not the analyst's.
func sit(t *workload.Table, w way, spend budget, k int, seed uint64) (sitting, error) {
	src := noise.NewSource()
	o, err := w.begin(t, spend, k, src)
	if err != nil {
		return sitting{}, fmt.Errorf("%s: %w", w.name, err)
	}
	for _, q := range w.first {
		if _, err := o.ask(q); err != nil {
			return sitting{}, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	before := o.learning().unverified
	a := workload.NewAnalyst(t, leastAnswer, seed)
	var s sitting
	var margins []float64
	k = min(k-len(w.first), manyQueries)
	if w.most > 0 {
		k = min(k, w.most)
	}
	held := 0
	for range k {
		q, err := a.Next()
		if err != nil {
			return s, err
		}
		got, err := o.ask(q)
		if err != nil {
			return s, fmt.Errorf("%s: %w", w.name, err)
		}
		off := math.Abs(got.value - float64(q.Count))
		s.rms += off * off / float64(k)
		s.max = max(s.max, off)
		if !math.IsNaN(got.margin) {
			margins = append(margins, got.margin)
			if off <= got.margin {
				held++
			}
		}
		if err := a.Learn(got.value); err != nil {
			return s, err
		}
	}
	s.rms = math.Sqrt(s.rms)
	s.blind, s.covered, s.median = 1-float64(len(margins))/float64(k), float64(held)/float64(len(margins)), math.NaN()
	if len(margins) > 0 {
		slices.Sort(margins)
		s.median = margins[len(margins)/2]
	}
	l := o.learning()
	s.asked = k
	s.updates, s.unverified = float64(l.updates), float64(l.unverified-before)/float64(k)
	return s, nil
}

// best has the analyst sit with each of several ways, and returns the one with the least
// error, with what all of so many analysts got from it.
func (b *bench) best(t *workload.Table, of []way, spend budget, k, analysts int) (w way, least sitting, err error) {
	for i, candidate := range of {
		s, err := sit(t, candidate, spend, k, b.seed)
		if err != nil {
			return w, s, err
		}
		b.note("  %s%s: RMS %s, %v updates", candidate.name, candidate.setting, report.Number(s.rms), s.updates)
		if i == 0 || s.rms < least.rms {
			w, least = candidate, s
		}
	}
	all := []sitting{least}
	for i := range analysts - 1 {
		s, err := sit(t, w, spend, k, b.seed+1+uint64(i))
		if err != nil {
			return w, s, err
		}
		all = append(all, s)
	}
	return w, together(all), nil
}

// together returns what several analysts got, on average. Of errors it is the root of the
// mean square, and the largest.
func together(all []sitting) (t sitting) {
	n := float64(len(all))
	for _, s := range all {
		t.rms += s.rms * s.rms / n
		t.max = max(t.max, s.max)
		t.median += s.median / n
		t.blind += s.blind / n
		t.covered += s.covered / n
		t.updates += s.updates / n
		t.unverified += s.unverified / n
		t.asked += s.asked
	}
	t.rms = math.Sqrt(t.rms)
	return t
}

// guard is about structure that a release of marginals does not measure.
func (b *bench) guard(s *report.Section) error {
	k := size(b, 20_000, 100)
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	s.Say(`n = %s rows over flags, of two values, and four columns of 12, 10, 8 and 8 values that correlate. The last flag is the parity of the others, except in a tenth of the rows: without any
one of them the others are independent and uniform. A release of marginals over fewer columns than there are flags cannot know.`, report.Number(float64(b.hiddenRows())))
	s.Say(`An analyst asks k = %s different conjunctions, and adapts them to the answers. She takes the columns in a random order and confines one after the other to a run of at most half its
values. Where less than half of the rows are left by the answer, she goes on with the other values instead. She begins anew when an answer is below %v. ε = 1, δ = 10⁻⁶ for all k questions,
the release, its guard and N̂ together. Errors are those of the first %s questions.`,
		report.Number(float64(k)), leastAnswer, report.Number(manyQueries))
	s.Say(`A *guarded* release answers by itself where it has a proven error bar, as the product does. Other queries go to an SMW mechanism that started from its table. After a query that fired it
compares broader ones, of fewer conditions, and its updates keep the marginals that the release measured. Without the first it has *no broader queries*, and without the second *plain updates*.
Where *broad questions* come *first*, all conjunctions of halves of one column more than the release measured together were asked before the analyst came. All comparisons count in k.
The release's share of the budget, of 25 and 50 %%, is the better one. A guard's number of runs is the product's choice, 50; mechanisms that start from classes or the uniform distribution
get the better B of %s, and the better order. They learn much and grow slow, and answered the first %s questions. "Held" is the share of the answers with a 95 %% error bar that are within it. The first three rows of
a table are about two analysts, of other seeds and with releases of their own, and the others about one.`, enumerateRuns(b.guardRuns()), report.Number(slowQueries))
	for _, c := range []struct{ flags, degree int }{{4, 3}, {3, 2}} {
		t, err := workload.Hidden(b.hiddenRows(), c.flags, b.seed)
		if err != nil {
			return err
		}
		s.Say("%d flags, %s cells, %d-way marginals:", c.flags, report.Number(float64(t.Size())), c.degree)
		if err := b.guardTable(s, t, c.flags, c.degree, spend, k); err != nil {
			return err
		}
	}
	return nil
}

// manyQueries bounds the questions that errors are of. slowQueries bounds those to mechanisms
// that learn much, which take long to answer.
const manyQueries, slowQueries = 5000, 2000

func (b *bench) hiddenRows() int64 { return size[int64](b, 1_000_000, 20_000) }

// guardRuns are the numbers of runs that mechanisms without a release are tried with.
func (b *bench) guardRuns() []int64 { return size(b, []int64{50, 200}, []int64{20}) }

func (b *bench) guardTable(s *report.Section, t *workload.Table, flags, degree int, spend budget, k int) error {
	broad, err := workload.Broad(t, flags)
	if err != nil {
		return err
	}
	broad = broad[:size(b, len(broad), 20)]
	guards := func(first []workload.Query, g guarding) (all []way) {
		for _, share := range []float64{0.25, 0.5} {
			g.share = share
			all = append(all, guardedBy(degree, g).after(first))
		}
		return all
	}
	start := func(name string, r smw.Request) (all []way) {
		for _, runs := range b.guardRuns() {
			r.MaxUpdates = runs
			for _, first := range [][]workload.Query{nil, broad} {
				w := unguarded(name, r).after(first)
				w.most = slowQueries
				all = append(all, w)
			}
		}
		return all
	}
	kinds := [][]way{guards(nil, guarding{}), {alone(degree)}, {directly()}, {alone(flags)}, guards(broad, guarding{}),
		guards(nil, guarding{narrow: true}), guards(nil, guarding{plain: true}), guards(nil, guarding{plain: true, narrow: true}), guards(broad, guarding{plain: true, narrow: true})}
	if flags == 4 {
		kinds = append(kinds, start("SMW from classes", smw.Request{Prior: true}), start("SMW from uniform", smw.Request{}))
	}
	ways, sittings := make([]way, len(kinds)), make([]sitting, len(kinds))
	_, err = parallel(len(kinds), func(i int) (_ []misses, err error) {
		analysts := 1
		if i < 3 {
			analysts = size(b, 2, 1)
		}
		ways[i], sittings[i], err = b.best(t, kinds[i], spend, k, analysts)
		return nil, err
	})
	if err != nil {
		return err
	}
	out := &report.Table{Head: []string{"answered by", "RMS", "max", "updates", "unverified", "without error bar", "held", "median error bar", "questions"}}
	for i, x := range sittings {
		out.Add(ways[i].name+ways[i].setting, x.rms, x.max, x.updates, x.unverified, x.blind, x.covered, x.median, float64(x.asked))
	}
	s.Show(fmt.Sprintf("%d-flags", flags), out)
	text := fmt.Sprintf("The guarded release has %.3f times the RMS of the release alone, and %.2f times that of direct answers.",
		sittings[0].rms/sittings[1].rms, sittings[0].rms/sittings[2].rms)
	if sittings[0].rms > sittings[2].rms {
		text += " Direct answers err less here."
	}
	s.Say("%s", text)
	return nil
}

// after is the way after it was asked some queries.
func (w way) after(first []workload.Query) way {
	if w.first = first; first != nil {
		w.name += ", broad questions first"
	}
	return w
}

func enumerateRuns(runs []int64) string {
	var values []int
	for _, n := range runs {
		values = append(values, int(n))
	}
	return enumerate(values)
}
