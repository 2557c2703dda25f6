package audit

import (
	"slices"

	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
)

// records is the number of possible records of the SMW mechanisms audited.
const records = 16

// eachRun is the ε of each run, of several.
const eachRun = 2 * oneEpsilon

// adaptive is an SMW mechanism of several runs whose hypothesis learns from firings.
// Every query of the class counts one other record and record 0, of which D′ has a unit
// more.
type adaptive struct {
	params smw.Params
	u      *query.Universe
	unit   int64
	class  []query.Query
	counts []int64 // of the class's queries in D
	start  []int64 // the hypothesis's answers before it has learned anything
}

// newAdaptive prepares a mechanism of the given number of runs. Its databases are such
// that the queries' true counts differ from the uniform hypothesis by the given
// numbers.
func newAdaptive(runs int64, unit int64, off func(p smw.Params) [records - 1]int64) (a adaptive, err error) {
	u, err := line(records)
	if err != nil {
		return a, err
	}
	a = adaptive{u: u, unit: unit}
	if a.params, err = smw.Plan(request(runs, runs*(nearing+leaving), unit, eachRun)); err != nil {
		return a, err
	}
	h := smw.NewHypothesis(a.params, a.u, nil)
	for i, by := range off(a.params) {
		q := among(u, 0, int64(i)+1)
		a.class = append(a.class, q)
		a.start = append(a.start, h.Count(q))
		a.counts = append(a.counts, h.Count(q)+by)
	}
	return a, nil
}

// severalRuns is an interactive mechanism of three runs, which lose three times as much
// as one (basic composition, adaptive by Rogers, Roth, Ullman and Vadhan 2016). Its
// analyst knows D. As answers come in, the analyst chooses the query nearest to what
// the sequence of a single run needs.
func severalRuns(unit int64) (Case, error) {
	const runs = 3
	a, err := newAdaptive(runs, unit, func(p smw.Params) (off [records - 1]int64) {
		for i := range off {
			off[i] = (int64(i) - records/2) * p.Threshold / 4
		}
		return off
	})
	return Case{
		Name: "SMW, three runs", Claim: pure(runs * eachRun),
		Shows: []string{"fired from below", "comparisons", "first gap", "last gap"},
		Run:   a.interact,
	}, err
}

// interact asks until the runs are spent or one did not fire. It shows how often a
// count far below the hypothesis fired, the number of comparisons, and two gaps.
func (a adaptive) interact(changed bool, src *noise.Source) (o Output, err error) {
	h, answers := smw.NewHypothesis(a.params, a.u, nil), a.start
	for first := true; int64(h.Updates()) < a.params.Updates; first = false {
		run, err := smw.StartRun(a.params, src)
		if err != nil {
			return o, err
		}
		q, out, err := a.ask(&run, answers, changed, &o[1], src)
		if err != nil || !out.Fired {
			return o, err
		}
		o[3] = out.Noisy - answers[q]
		if first {
			o[2] = o[3]
		}
		if o[3] < 0 {
			o[0]++
		}
		if err := h.Update(a.class[q], out.Noisy); err != nil {
			return o, err
		}
		answers = make([]int64, len(a.class))
		for i := range answers {
			answers[i] = h.Count(a.class[i])
		}
	}
	return o, nil
}

// ask makes the comparisons of one run and returns the query asked last.
func (a adaptive) ask(run *smw.Run, answers []int64, changed bool, made *int64, src *noise.Source) (q int, out smw.Outcome, err error) {
	for i := range nearing + leaving {
		want := a.params.Threshold - a.unit
		if i >= nearing {
			want = -a.params.Threshold
		}
		q = a.nearest(answers, want)
		*made++
		out, err = run.Test(rows(a.counts[q], a.unit, changed), answers[q], src)
		if err != nil || out.Fired {
			return q, out, err
		}
	}
	return q, out, nil
}

// nearest returns the query whose count in D differs from the hypothesis by the number
// nearest to want.
func (a adaptive) nearest(answers []int64, want int64) (best int) {
	distance := func(i int) int64 {
		d := a.counts[i] - answers[i] - want
		return max(d, -d)
	}
	for i := range answers {
		if distance(i) < distance(best) {
			best = i
		}
	}
	return best
}

// hypothesisPasses is the non-interactive mechanism of the paper's section 3.1 with two
// runs. Its class begins like the sequence of a single run.
func hypothesisPasses(unit int64) (Case, error) {
	const runs = 2
	a, err := newAdaptive(runs, unit, func(p smw.Params) (off [records - 1]int64) {
		for i := range off {
			off[i] = p.Threshold - unit
			if i >= nearing {
				off[i] = -p.Threshold
			}
		}
		return off
	})
	return Case{
		Name: "SMW, passes", Claim: pure(runs * eachRun),
		Shows: []string{"first learned", "second learned", "first count", "second count"},
		Run:   a.publish,
	}, err
}

// publish shows which queries were learned, counted from 1, and their noisy counts.
func (a adaptive) publish(changed bool, src *noise.Source) (o Output, err error) {
	count := func(q query.Query) (int64, error) {
		return rows(a.counts[a.number(q)], a.unit, changed), nil
	}
	h := smw.NewHypothesis(a.params, a.u, nil)
	result, err := smw.Passes(h, 0, slices.Values(a.class), count, func(smw.Result) error { return nil }, src)
	for i, step := range result.Steps {
		o[i] = int64(a.number(step.Query)) + 1
		o[2+i] = step.Noisy
	}
	return o, err
}

// number returns the position of a query in the class.
func (a adaptive) number(q query.Query) int {
	return slices.IndexFunc(a.class, q.Equal)
}
