package smw

import (
	"iter"

	"dpsql/noise"
	"dpsql/query"
)

// Result is the outcome of a non-interactive run.
type Result struct {
	// Steps are the updates, in order: all there is to store and publish.
	Steps []Step
	// Complete reports whether a whole pass over the class fired nothing. Only
	// then is the hypothesis good within T + x_β for every query of the class,
	// with probability at least 1 − β.
	Complete bool
	// Runs is the number of runs begun, those of earlier calls included.
	Runs int64
	// Comparisons is the number of queries tested.
	Comparisons int64
}

// Passes is the non-interactive mechanism of the paper's section 3.1: the
// interactive mechanism, asked every query of a class. It passes over the class
// until a whole pass fires nothing or all B runs are spent, and leaves h as the
// hypothesis to publish. That takes at most B + 1 passes, so parameters
// computed for Queries = (B+1)·|class| cover every comparison. It stops after
// Params.Queries comparisons; the result is then not complete.
//
// The class must yield the same queries each time. Count returns a query's true
// count. The caller has charged all B runs beforehand. Before a run draws its
// threshold, begin is called with the result so far, which counts the run. It
// stores Steps and Runs durably. Passes returns an error of count or begin
// unchanged; the result is then worthless.
//
// A call that ended early, by a crash too, is gone on with by another. Its h has
// learned the steps that begin stored, and begun is the number of runs. Both are
// new, and begun is 0, if none was stored.
//
// Privacy. A run that has begun never begins again, and what it drew is lost if it
// was not stored. So at most B runs begin in all calls together. Each is private
// for queries and hypotheses chosen adaptively, see Run.Test, whatever ends it.
// Nor are there more than B + 1 passes: each but the last one either fired, or was
// cut short with a run open that has not fired, and these runs are distinct.
func Passes(h *Hypothesis, begun int64, class iter.Seq[query.Query], count func(query.Query) (int64, error),
	begin func(Result) error, src *noise.Source) (Result, error) {
	p := passing{h: h, count: count, keep: begin, src: src, result: Result{Runs: begun}}
	for {
		fired, more, err := p.pass(class)
		if err != nil {
			return Result{}, err
		}
		if !more || !fired {
			p.result.Complete = more
			return p.result, nil
		}
	}
}

type passing struct {
	h      *Hypothesis
	count  func(query.Query) (int64, error)
	keep   func(Result) error
	src    *noise.Source
	run    Run
	open   bool
	result Result
}

// pass tests every query once. more is false when runs or comparisons ran out
// before the end of the class, or with its last query.
func (p *passing) pass(class iter.Seq[query.Query]) (fired, more bool, err error) {
	for q := range class {
		if !p.open && p.result.Runs == p.h.params.Updates ||
			p.result.Comparisons == p.h.params.Queries {
			return fired, false, nil
		}
		hit, err := p.test(q)
		if err != nil {
			return fired, false, err
		}
		fired = fired || hit
	}
	return fired, true, nil
}

func (p *passing) test(q query.Query) (fired bool, err error) {
	if err := p.h.params.Admits(q); err != nil {
		return false, err
	}
	if err := p.begin(); err != nil {
		return false, err
	}
	c, err := p.count(q)
	if err != nil {
		return false, err
	}
	p.result.Comparisons++
	out, err := p.run.Test(c, p.h.Count(q), p.src)
	if err != nil || !out.Fired {
		return false, err
	}
	p.open = false
	p.result.Steps = append(p.result.Steps, Step{q, out.Noisy})
	return true, p.h.Update(q, out.Noisy)
}

// begin starts a run unless one is open.
func (p *passing) begin() (err error) {
	if p.open {
		return nil
	}
	p.result.Runs++
	if err = p.keep(p.result); err == nil {
		p.run, err = StartRun(p.h.params, p.src)
	}
	p.open = err == nil
	return err
}
