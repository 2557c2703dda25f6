package main

import "dpsql/bench/report"

// small are the mechanisms that can be compared on a universe small enough for
// those whose every step takes time |X|.
func (b *bench) small(rows uint64) []mechanism {
	return []mechanism{
		identity(), heavyLight(b.memory(smallMemory)), sparse(rows), b.bestDense(gaussianDense), b.bestDense(paperDense),
		interactive(), onlyPrior(), b.paperInteractive(),
		directGaussian(), directLaplace(), b.calibratedPMW(), densePMW(),
		b.mwem("MWEM", 0), b.replayed(), stability(), zeros(),
	}
}

// targetW2 is the RMS that an identity release is to reach.
const targetW2 = 18.6

func (b *bench) adult(s *report.Section) error {
	w, err := b.adultWorkload()
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	results, err := b.compare(w, spend, b.small(1<<13))
	if err != nil {
		return err
	}
	s.Say(`48,842 rows over six columns, %s cells; each query confines four columns to one to three values. ε = 1 for the whole workload, δ = 10⁻⁶ where a
mechanism needs one. Errors in counts, mean over %d repetitions ± the half-width of a 95 %% interval.`, report.Number(float64(w.Table.Size())), b.reps)
	s.Say("%s", b.aboutRuns())
	s.Say("%s", aboutParts)
	s.Show(tabulate(results))
	s.Say("%s", verdict(results))
	s.Say("%s", earned(results))
	s.Say("The identity release is to have an RMS of at most %v counts: it has %v. %s", targetW2, results[0].rms, besidePeers(results, onW2))
	s.Show(tabulatePeers(onW2))
	s.Say("%s", aboutPeers)
	return nil
}
