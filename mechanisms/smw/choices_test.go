package smw

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/noise"
)

// TestChosenUpdates compares the number of updates that is chosen with the fewest
// of a list with which nothing stays unverified. It must suffice, T must be at
// most 3.5 times that of the fewest, and the RMS at most twice theirs, but for a
// few counts. That is of tables whose columns depend on each other by pairs: where
// a prior is blind the choice is too small (TestUpdatesEarnTheirKeep is given B).
// The seeds are fixed, so nothing is left to chance. With -workload.choices it
// goes through 48 settings instead of 4.
func TestChosenUpdates(t *testing.T) {
	tables, sets, lists := []int{100_000}, columnSets[1:], []int{2000}
	if *choices {
		tables, sets, lists = []int{10_000, 100_000, 1_000_000, 10_000_000}, columnSets, []int{2000, 20_000}
	}
	for _, rows := range tables {
		r := rand.New(rand.NewPCG(uint64(rows), 7))
		c, src := newCorrelated(t, r, rows), newSource(r)
		from := c.learn(t, workloadRho/10, src)
		for _, columns := range sets {
			for _, queries := range lists {
				list := c.ask(t, r, columns, 3, queries)
				for _, prior := range []*Classes{nil, from} {
					t.Logf("n = %d, columns %v, k = %d, prior: %v", rows, columns, queries, prior != nil)
					c.checkChosen(t, prior, list, src)
				}
			}
		}
	}
}

func (c drawn) checkChosen(t *testing.T, from *Classes, list []asked, src *noise.Source) {
	support := uint64(1)
	for _, a := range list {
		m, _ := a.q.SizeWithin(1 << 62)
		support = max(support, m)
	}
	request := c.request(len(list), workloadRho)
	request.MaxSupport, request.Prior = support, from != nil
	chosen := must(Plan(request))(t)
	got := play(t, chosen, c.u, from, list, src)
	t.Logf("   chosen:  B = %4d, T = %4d: %v", chosen.Updates, chosen.Threshold, got)
	for _, b := range []int64{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000} {
		request.MaxUpdates = b
		p := must(Plan(request))(t)
		fewest := play(t, p, c.u, from, list, src)
		if fewest.unverified > 0 {
			continue
		}
		t.Logf("   suffice: B = %4d, T = %4d: %v", p.Updates, p.Threshold, fewest)
		if got.unverified > 0 || float64(chosen.Threshold) > 3.5*float64(p.Threshold) || got.rms > 2*fewest.rms+20 {
			t.Error("the choice is too small, or needlessly large")
		}
		return
	}
	t.Error("2,000 updates do not suffice")
}

// TestChosenShare holds what PriorTenths and Plan choose to what it was chosen by.
// Of 50,000 rows a prior of three tenths of the budget has at most 3/4 of the
// RMS of one of a tenth on pairs of columns, and T is as it was; of a million T
// grows by a tenth or more. A T of 0.6·x_β fires on noise. The seeds are fixed, so
// nothing is left to chance. With -workload.choices it prints more settings.
func TestChosenShare(t *testing.T) {
	for rows, want := range map[int64]int64{50_000: 3, 1_000_000: 1} {
		tables := float64(15)
		if got := PriorTenths(math.Sqrt(tables/(2*workloadRho/10)), rows); got != want {
			t.Errorf("n = %d: %d tenths are chosen, want %d", rows, got, want)
		}
	}
	r := rand.New(rand.NewPCG(50_000, 8))
	c, src := newCorrelated(t, r, 50_000), newSource(r)
	plan := func(rows int64, share float64) Params {
		request := c.request(20_000, workloadRho*(1-share))
		request.Prior, request.NHat = true, rows
		return must(Plan(request))(t)
	}
	pairs, triples := c.ask(t, r, columnSets[2], 3, 2000), c.ask(t, r, columnSets[1], 3, 10_000)
	var tenth, three played
	from := c.learn(t, workloadRho/10, src)
	p := plan(50_000, 0.1)
	tenth = play(t, p, c.u, from, pairs, src)
	three = play(t, plan(50_000, 0.3), c.u, c.learn(t, workloadRho*3/10, src), pairs, src)
	t.Logf("a tenth: %v; three tenths: %v", tenth, three)
	if three.rms > 0.75*tenth.rms {
		t.Error("three tenths do not pay")
	}
	if few, many := plan(50_000, 0.3).Threshold, plan(1_000_000, 0.3).Threshold; float64(few) > 1.02*float64(p.Threshold) ||
		float64(many) < 1.1*float64(plan(1_000_000, 0.1).Threshold) {
		t.Errorf("three tenths make T %d and %d", few, many)
	}
	low := p
	low.Threshold = p.Threshold * 6 / 10
	const plays = 8 // the first τ decides much
	noisy, quiet := 0, 0
	for range plays {
		quiet += play(t, p, c.u, from, triples, src).updates
		noisy += play(t, low, c.u, from, triples, src).updates
	}
	t.Logf("updates of %d mechanisms, T = x_β: %d, T = 0.6·x_β: %d", plays, quiet, noisy)
	if quiet > 1 || noisy < plays/2 {
		t.Error("a smaller T does not fire on noise, or x_β does")
	}
	if *choices {
		printShares(t)
	}
}

// printShares prints what the prior's share of the budget and the factor of T
// over x_β do to the workloads.
func printShares(t *testing.T) {
	for _, rows := range []int{50_000, 1_000_000} {
		r := rand.New(rand.NewPCG(uint64(rows), 8))
		c, src := newCorrelated(t, r, rows), newSource(r)
		for _, share := range []float64{0.01, 0.03, 0.1, 0.3, 0.5} {
			from := c.learn(t, workloadRho*share, src)
			for _, columns := range columnSets {
				list := c.ask(t, r, columns, 3, 20_000)
				request := c.request(len(list), workloadRho*(1-share))
				request.Prior = true
				p := must(Plan(request))(t)
				t.Logf("n = %d, columns %v, share %v, B = %d, T = %d: %v", rows, columns, share, p.Updates, p.Threshold, play(t, p, c.u, from, list, src))
				if share != 0.1 {
					continue
				}
				for _, factor := range []float64{0.6, 0.8, 1.25} {
					q := p
					q.Threshold = int64(factor * float64(p.Threshold))
					t.Logf("    T = %v·x_β: %v", factor, play(t, q, c.u, from, list, src))
				}
			}
		}
	}
}
