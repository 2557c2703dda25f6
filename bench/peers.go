package main

import (
	"fmt"

	"dpsql/bench/report"
)

// peer is what another system reached on W2 and W3 at ε = 1: maximum, RMS and
// 95th percentile in counts, 0 where it was not measured.
type peer struct {
	name   string
	w2, w3 [3]float64
}

// peers were measured once, by running the systems' own code at the commits that
// aboutPeers names; they are constants here because that code is not ours to
// ship. Where a system is (ε, δ)-private δ was 10⁻⁶.
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

// besidePeers says in words how the best of dpsql stands beside the best peer.
func besidePeers(results []result, of func(peer) [3]float64) string {
	best := peers[0]
	for _, p := range peers {
		if f := of(p); f[1] > 0 && f[1] < of(best)[1] {
			best = p
		}
	}
	mine, theirs := first(byRMS(results), ours, paper), of(best)[1]
	text := fmt.Sprintf("The peer of least RMS is %s, %s counts", best.name, report.Number(theirs))
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
