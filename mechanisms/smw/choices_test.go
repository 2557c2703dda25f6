package smw

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"dpsql/noise"
)

// TestChosenUpdates prints how many updates the workloads need, the fewest with
// which nothing stays unverified, and how many are chosen.
func TestChosenUpdates(t *testing.T) {
	if !*choices {
		t.Skip("-workload.choices prints it")
	}
	for _, rows := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		r := rand.New(rand.NewPCG(uint64(rows), 7))
		c, src := newCorrelated(t, r, rows), newSource(r)
		from := c.learn(t, workloadRho/10, src)
		for _, columns := range columnSets {
			for _, queries := range []int{2000, 20_000} {
				list := c.ask(t, r, columns, queries)
				for _, prior := range []*Classes{nil, from} {
					t.Logf("n = %d, columns %v, k = %d, %s", rows, columns, queries, c.fewest(t, prior, list, src))
				}
			}
		}
	}
}

// fewest plays with ever more updates.
func (c correlated) fewest(t *testing.T, from *Classes, list []asked, src *noise.Source) string {
	support := uint64(1)
	for _, a := range list {
		m, _ := a.q.SizeWithin(1 << 62)
		support = max(support, m)
	}
	request := c.request(len(list), workloadRho)
	request.MaxSupport, request.Prior = support, from != nil
	chosen := must(Plan(request))(t)
	name := "uniform"
	if from != nil {
		name = "classes"
	}
	for _, b := range []int64{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000} {
		request.MaxUpdates = b
		p := must(Plan(request))(t)
		if r := play(t, p, c.u, from, list, src); r.unverified == 0 {
			with := play(t, chosen, c.u, from, list, src)
			return fmt.Sprintf("%s: needs B = %d (T = %d): %v; chosen %d (T = %d): %v", name, b, p.Threshold, r, chosen.Updates, chosen.Threshold, with)
		}
	}
	return name + ": more than 2000"
}

// TestChosenShare prints what the prior's share of the budget and the factor of
// T over x_β do to the workloads.
func TestChosenShare(t *testing.T) {
	if !*choices {
		t.Skip("-workload.choices prints it")
	}
	for _, rows := range []int{50_000, 1_000_000} {
		r := rand.New(rand.NewPCG(uint64(rows), 8))
		c, src := newCorrelated(t, r, rows), newSource(r)
		for _, share := range []float64{0.01, 0.03, 0.1, 0.3, 0.5} {
			from := c.learn(t, workloadRho*share, src)
			for _, columns := range columnSets {
				list := c.ask(t, r, columns, 20_000)
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
