package main

import (
	"fmt"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/query"
)

// small are the mechanisms to compare on a universe so small that even those whose
// every step takes time |X| can take part.
func (b *bench) small(rows uint64) []mechanism {
	return []mechanism{
		identity(), fittedIdentity(), fittedMarginals(), heavyLight(b.memory(smallMemory)), sparse(rows), b.bestDense(gaussianDense), b.bestDense(paperDense),
		interactive(), onlyPrior(), b.paperInteractive(),
		directGaussian(), directLaplace(), b.calibratedPMW(), densePMW(),
		b.mwem("MWEM", 0), b.replayed(), stability(), zeros(),
	}
}

// The RMS errors on W2 that releases should reach, in the order of small.
var targetsW2 = []float64{18.6, 12.5, 12.3}

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
	s.Say(`48,842 rows over six columns and %s cells. Each query confines four columns to one to three values. ε = 1 for the whole workload, δ = 10⁻⁶ where a
mechanism needs one. Errors in counts, mean over %d repetitions ± the half-width of a 95 %% interval.`, report.Number(float64(w.Table.Size())), b.reps)
	s.Say("%s", b.aboutRuns())
	s.Say("%s", aboutParts)
	s.Show("", tabulate(results))
	s.Say("%s", verdict(results))
	s.Say("%s", earned(results))
	for i, most := range targetsW2 {
		s.Say("The aim for *%s* is an RMS error of at most %v counts. It has %v.", results[i].name, most, results[i].rms)
	}
	s.Say(`No marginal that was measured has all four columns of a query. So the fitted table answers, and no error bar follows from the noise.`)
	s.Say("%s", besidePeers(results, onW2))
	s.Show("peers", tabulatePeers(onW2))
	s.Say("%s", aboutPeers)
	return nil
}

// Turbo's accuracy on W3: every answer within α·n except with probability β.
const (
	turboMargin = 2500
	turboBeta   = 0.001
)

func (b *bench) covid(s *report.Section) error {
	w, err := workload.Covid()
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	all := w
	if b.quick {
		w = w.First(500)
	}
	results, err := b.compare(w, spend, b.small(128))
	if err != nil {
		return err
	}
	s.Say(`50,000 rows over 128 cells, and every product of non-empty sets of values of the four columns. ε = 1 for all of them, δ = 10⁻⁶ where needed.`)
	s.Say("%s", b.aboutRuns())
	s.Say("%s", aboutParts)
	s.Show("", tabulate(results))
	s.Say("%s %s", verdict(results), besidePeers(results, onW3))
	s.Say("%s", earned(results))
	s.Show("peers", tabulatePeers(onW3))
	return b.turbo(s, all)
}

// turbo counts how often all answers of an identity release are within Turbo's margin.
func (b *bench) turbo(s *report.Section, w *workload.Workload) error {
	draws := size(b, 60_000, 20)
	table := &report.Table{Head: []string{"ε of the identity release", "draws", "with an answer off by more than 2,500", "95 % upper bound on that chance", "mean of the largest error"}}
	met := ""
	for _, epsilon := range []float64{0.0226, 0.024} {
		spend, err := newBudget(epsilon)
		if err != nil {
			return err
		}
		worst, err := b.largest(w.Table, spend, draws)
		if err != nil {
			return err
		}
		missed, sum := 0, 0.0
		for _, v := range worst {
			sum += v
			if v > turboMargin {
				missed++
			}
		}
		bound := report.UpperBound(missed, draws)
		if bound <= turboBeta && met == "" {
			met = report.Number(epsilon)
		}
		table.Add(epsilon, report.Number(float64(draws)), missed, bound, sum/float64(draws))
	}
	s.Say(`Turbo promises every answer within α·n = 2,500 counts except with β = %v. One identity release answers all 34,425 queries at once; over its draws:`, turboBeta)
	s.Show("turbo", table)
	if met != "" {
		s.Say("So ε = %s suffices for Turbo's (α, β) on the whole family, by the upper bound.", met)
	} else {
		s.Say("That these ε suffice for Turbo's (α, β) on the whole family does not follow from so many draws.")
	}
	s.Say(`Turbo itself, by its own code on a uniform stream of these queries: at ε = 1 its exact-cache Laplace and its PMW-Bypass answer 362 queries, a vanilla
PMW 55; 70,000 queries cost PMW-Bypass ε = 4.5, the exact cache 82 and the vanilla PMW 77, at 0.06 to 0.09 ms a query. On small domains the identity release is
the one to beat. An interactive mechanism pays where no release covers the query.`)
	return nil
}

// largest returns the largest error over all products of sets of values, for each of
// draws identity releases.
func (b *bench) largest(t *workload.Table, spend budget, draws int) ([]float64, error) {
	law, err := spend.laplace(1)
	if err != nil {
		return nil, err
	}
	line, err := t.OnLine()
	if err != nil {
		return nil, err
	}
	p := projection.Params{Transform: projection.Identity, Rows: t.Size(), Law: law}
	src := noise.NewSource()
	d := line.Universe.Columns()[0].Domain
	cells := make([]query.Query, t.Size())
	for x := range cells {
		cells[x] = query.Where(line.Universe, 0, d.SetOf(query.Int(int64(x))))
	}
	out := make([]float64, draws)
	for i := range out {
		release, err := build(line, p, src)
		if err != nil {
			return nil, err
		}
		off := make([]float64, len(cells))
		for x, q := range cells {
			n, err := estimate(release, q)
			if err != nil {
				return nil, err
			}
			off[x] = float64(n - t.At(uint64(x)))
		}
		out[i] = largestProduct(off)
	}
	return out, nil
}

// largestProduct returns the largest |Σ off| over products of non-empty sets of the
// columns 2, 2, 4 and 8 of Covid. Given sets of the first three, the worst set of the
// last column takes all the positive parts or all the negative ones.
func largestProduct(off []float64) (worst float64) {
	for a := 1; a < 4; a++ {
		for g := 1; g < 4; g++ {
			for e := 1; e < 16; e++ {
				var sums [8]float64
				for i := range 16 {
					if a>>(i/8)&1 == 1 && g>>(i/4%2)&1 == 1 && e>>(i%4)&1 == 1 {
						for j := range sums {
							sums[j] += off[i*8+j]
						}
					}
				}
				up, down := 0.0, 0.0
				for _, v := range sums {
					up += max(v, 0)
					down += max(-v, 0)
				}
				worst = max(worst, up, down)
			}
		}
	}
	return worst
}

// peer is the error of another system on W2 and W3 at ε = 1: maximum, RMS and 95th
// percentile in counts, 0 if it was not measured.
type peer struct {
	name   string
	w2, w3 [3]float64
}

// peers were measured once, by running the systems' own code at the commits that
// aboutPeers names. They are constants because we may not ship that code. If a system
// is (ε, δ)-private, δ was 10⁻⁶.
var peers = []peer{
	{"Laplace each, naive composition", [3]float64{43573, 6995, 14858}, [3]float64{371129, 48641, 102992}},
	{"Gaussian zCDP each, naive composition", [3]float64{1275, 319, 625}, [3]float64{3649, 839, 1645}},
	{"noisy histogram, two-sided geometric", [3]float64{116, 18.2, 38.3}, [3]float64{23.3, 4.6, 9.3}},
	{"diffprivlib histogram (clips at 0)", [3]float64{455, 94, 211}, [3]float64{29, 5.5, 11.6}},
	{"dpcomp MWEM, T = 32", [3]float64{1368, 213, 506}, [3]float64{476, 102, 212}},
	{"smartnoise MWEM, default", [3]float64{320, 47, 104}, [3]float64{289, 67, 136}},
	{"private-pgm MST", [3]float64{1025, 109, 227}, [3]float64{}},
	{"private-pgm MWEM+PGM", [3]float64{269, 33, 70}, [3]float64{}},
	{"private-pgm AIM", [3]float64{146, 19.3, 41}, [3]float64{}},
	{"Gaussian on all 20 three-way marginals, private-pgm inference", [3]float64{78, 13.7, 29.6}, [3]float64{}},
}

const aboutPeers = `The peers' figures come from their own code (private-pgm 514dea3, Turbo's artifact-sosp a5d892a, smartnoise-sdk
81d1351, diffprivlib 5d9c9d8, dpcomp_core 233cfcc, hdmm 5aa9df9), run once on one machine with two cores, seeds 0 to 4, on the workloads
that this command makes again to the last row (` + "`go test ./bench/workload`" + ` compares their hashes).
This command does not repeat them.`

// tabulatePeers shows the peers' figures on one of the workloads.
func tabulatePeers(of func(peer) [3]float64) *report.Table {
	t := &report.Table{Head: []string{"peer", "RMS", "max", "95th percentile"}}
	for _, p := range peers {
		if f := of(p); f[0] > 0 {
			t.Add(p.name, f[1], f[0], f[2])
		}
	}
	return t
}

// besidePeers compares, in words, the best of dpsql with the best peer.
func besidePeers(results []result, of func(peer) [3]float64) string {
	best := peers[0]
	for _, p := range peers {
		if f := of(p); f[1] > 0 && f[1] < of(best)[1] {
			best = p
		}
	}
	mine, theirs := first(byRMS(results), ours, paper), of(best)[1]
	text := fmt.Sprintf("The peer with the least RMS error is %s, %s counts", best.name, report.Number(theirs))
	switch {
	case mine.rms.Mean-mine.rms.Half > theirs:
		return fmt.Sprintf("**A peer wins here:** %s; %s has %.2f times that.", text, mine.name, mine.rms.Mean/theirs)
	case mine.rms.Mean+mine.rms.Half < theirs:
		return fmt.Sprintf("%s; %s has %.2f times that.", text, mine.name, mine.rms.Mean/theirs)
	}
	return fmt.Sprintf("%s; %s has the same within its interval.", text, mine.name)
}

func onW2(p peer) [3]float64 { return p.w2 }
func onW3(p peer) [3]float64 { return p.w3 }
