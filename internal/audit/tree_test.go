package audit

import (
	"testing"

	"dpsql/mechanisms/direct"
)

// TestCatchesTreeAtThePriceOfALevel audits a tree of 16 levels whose shift is taken to be
// L instead of L·√16: the plan's noise, at the price of one level.
func TestCatchesTreeAtThePriceOfALevel(t *testing.T) {
	tree := direct.Tree{Places: 1 << 16, Branch: 2}
	levels := int(tree.Levels())
	const accuracy = 22
	wrong, ok := direct.PlanForTrees([]direct.Tree{tree}, accuracy, []float64{0.95}, 1)
	if !ok || levels != 16 {
		t.Fatalf("%d levels: %+v", levels, wrong)
	}
	wrong.Rho /= int64(levels)
	c := treeAs("tree, shift 1 for 16 levels", wrong, tree, 1)
	c.Unit = 1
	limit := int64(20*levels + levels/2)
	c.Suspect = func(o Output) bool { return o[0] > limit }
	mustCatch(t, twin{c, sumAbove(wrong.Law, levels, limit-int64(21*levels)), sumAbove(wrong.Law, levels, limit-int64(20*levels))})
}
