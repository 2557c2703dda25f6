package audit

import (
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/noise/law"
)

// TestUnitsAsIfInOneGroup is broken: it answers the numbers of units of 16 groups with the
// noise of one, shift 1 instead of √16, though a unit has rows in all of them. The audit
// refutes what it claims, and not what the correct plan claims.
func TestUnitsAsIfInOneGroup(t *testing.T) {
	campaign(t)
	const groups = 16
	of := func(answers int64) direct.Plan {
		p, ok := direct.PlanFor(direct.Request{Accuracy: 4, Confidence: 0.95, Sensitivity: 1, Answers: answers})
		if !ok {
			t.Fatal("no plan")
		}
		return p
	}
	right, wrong := of(groups), of(1)
	if right.Rho < 15*wrong.Rho || right.Rho > 17*wrong.Rho {
		t.Fatalf("16 groups cost %d of %v, one costs %d of %v", right.Rho, right.Law, wrong.Rho, wrong.Law)
	}
	c := unitsAs("units, shift 1 for 16 groups", wrong, groups)
	c.Unit = groups
	const limit = 20*groups + groups/2
	c.Suspect = func(o Output) bool { return o[0] > limit }
	mustCatch(t, twin{c, sumAbove(wrong.Law, groups, limit-21*groups), sumAbove(wrong.Law, groups, limit-20*groups)})
}

// TestMarginalsTwins has the faults of releases of marginals: the noise for one marginal where a
// row is in 16; the noise for one row where a unit has five; and one of its cells without noise.
func TestMarginalsTwins(t *testing.T) {
	campaign(t)
	caught := func(name string, columns int, unit int64) {
		c, err := marginalsAs(name, columns, 1, unit)
		if err != nil {
			t.Fatal(err)
		}
		law := gaussianOf(t, int64(2*columns), 1)
		in, more := int64(columns)*20, int64(columns)*unit
		limit := in + more/2
		c.Unit, c.Suspect = unit, func(o Output) bool { return o[0] > limit }
		mustCatch(t, twin{c, sumAbove(law, columns, limit-in-more), sumAbove(law, columns, limit-in)})
	}
	caught("marginals, noise of one for 16", 16, 1)
	caught("marginals, noise for one row of a unit", 1, 5)

	c, err := marginalsRelease(1)
	if err != nil {
		t.Fatal(err)
	}
	sound := c.Run
	c.Name, c.Unit, c.Suspect = "marginals, cells of the unit without noise", 1, func(o Output) bool { return o[0] > marginalColumns*20 }
	c.Run = func(changed bool, src *noise.Source) (Output, error) {
		o, err := sound(changed, src)
		o[0] = marginalColumns * rows(20, 1, changed)
		return o, err
	}
	mustCatch(t, twin{c, 1, 0})
}

// sumAbove returns the probability that the sum of n draws is above a limit.
func sumAbove(law law.Law, n int, limit int64) float64 {
	const most = 60 // beyond it a draw has a probability below 1e-100
	sum := map[int64]float64{0: 1}
	for range n {
		next := make(map[int64]float64)
		for at, p := range sum {
			for k := int64(-most); k <= most; k++ {
				next[at+k] += p * (law.Tail(k) - law.Tail(k+1))
			}
		}
		sum = next
	}
	total := 0.0
	for at, p := range sum {
		if at > limit {
			total += p
		}
	}
	return total
}
