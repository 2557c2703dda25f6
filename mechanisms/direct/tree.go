package direct

import (
	"math"
	"math/big"
	"strings"

	"dpsql/noise"
)

// Tree is a tree over places in a row, each inner node with up to Branch children. Its
// nodes, but for the root, are counted: all counts up to a place, and all behind it, are
// then sums of few noisy ones.
//
// Privacy. Each row is in one node of each level. A unit of at most L rows therefore
// changes the counts of a level by at most L in ℓ1 norm, and no more in ℓ2 norm, however
// its rows are spread. Over k levels the squares add up: the vector of all counts changes
// by at most L·√k. Independent discrete Gaussian noise of one σ² on all of them is
// L²k/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020). Trees over disjoint groups of
// rows are one vector: in it, too, a row is in one node of each level. If trees have
// different numbers of levels, k is the largest.
type Tree struct{ Places, Branch int64 }

// NewTree returns the tree over a number of places whose sums have the least variance, at
// a given cost, in the worst case: with Gaussian noise it is proportional to the number of levels
// times the number of nodes in a sum.
func NewTree(places int64) Tree {
	best := Tree{max(places, 1), 2}
	for b := int64(3); b <= max(2, min(places, 64)); b++ {
		if t := (Tree{best.Places, b}); t.Levels()*t.Most() < best.Levels()*best.Most() {
			best = t
		}
	}
	return best
}

// Valid reports whether the numbers are those of a tree of at most 2²⁰ places.
func (t Tree) Valid() bool {
	return t.Places >= 1 && t.Places <= 1<<20 && t.Branch >= 2 && t.Branch <= 64
}

// Levels returns the number of counted levels.
func (t Tree) Levels() int64 {
	levels := int64(1)
	for width := t.Branch; width < t.Places; width *= t.Branch {
		levels++
	}
	return levels
}

// width returns the number of places of a node of the top level.
func (t Tree) width() int64 {
	width := int64(1)
	for width*t.Branch < t.Places {
		width *= t.Branch
	}
	return width
}

func (t Tree) nodes(width int64) int64 { return (t.Places + width - 1) / width }

// Most returns a bound on the number of nodes in a sum.
func (t Tree) Most() int64 {
	top := t.nodes(t.width())
	return max(top, top-1+(t.Levels()-1)*(t.Branch-1))
}

// Nodes returns the number of counted nodes.
func (t Tree) Nodes() (n int64) {
	for width := t.width(); width > 0; width /= t.Branch {
		n += t.nodes(width)
	}
	return n
}

// Each calls f with the first and last place of each node, level by level from the top.
func (t Tree) Each(f func(first, last int64) error) error {
	for width := t.width(); width > 0; width /= t.Branch {
		for first := int64(0); first < t.Places; first += width {
			if err := f(first, min(first+width, t.Places)-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Cut adds up counts, which are in the order of Each: those of nodes that make the places
// up to one, and those of nodes that make the places behind it. It returns the numbers of
// nodes too.
func (t Tree) Cut(counts []int64, place int64) (below, above, nodesBelow, nodesAbove int64) {
	end, from, to, level := place+1, int64(0), t.nodes(t.width()), int64(0)
	for width := t.width(); width > 0; width /= t.Branch {
		n := t.nodes(width)
		to = min(to, n)
		first := min(end/width, to) // the first node that is not wholly below
		rest := first
		whole := end%width == 0 || end >= t.Places
		if end >= t.Places {
			first, rest = to, to
		} else if !whole {
			rest++
		}
		for i := from; i < first; i++ {
			below += counts[level+i]
		}
		for i := rest; i < to; i++ {
			above += counts[level+i]
		}
		nodesBelow, nodesAbove = nodesBelow+first-from, nodesAbove+max(0, to-rest)
		if whole {
			break
		}
		from, to, level = first*t.Branch, (first+1)*t.Branch, level+n
	}
	return below, above, nodesBelow, nodesAbove
}

// Bound returns a half-width that Gaussian noise of a law, on each of n nodes, keeps to in
// their sum at a confidence. It returns false for noise of another kind.
// The discrete Gaussian is sub-Gaussian with its own σ² (Canonne, Kamath and Steinke 2020),
// so the sum S of n draws has P(|S| ≥ x) ≤ 2·exp(−x²/(2nσ²)).
func Bound(law noise.Law, n int64, confidence float64) (float64, bool) {
	variance, ok := sigmaSquared(law)
	return math.Floor(math.Sqrt(2 * variance * float64(n) * math.Log(2/(1-confidence)))), ok
}

// PlanForTrees returns the cheapest plan with which each sum of each tree has an accuracy, a
// half-width in counts. confidences has that of each tree. It returns false when no noise is
// small enough. The plan's Rho pays for all trees, which are over disjoint groups of rows.
func PlanForTrees(trees []Tree, accuracy float64, confidences []float64, sensitivity int64) (Plan, bool) {
	levels, factor := int64(1), 0.0
	for i, t := range trees {
		levels = max(levels, t.Levels())
		factor = max(factor, 2*float64(t.Most())*math.Log(2/(1-confidences[i])))
	}
	// ρ of a level is Δ²/(2σ²), for the σ² with which σ²·factor is accuracy².
	units := math.Ceil(Unit * float64(sensitivity) * float64(sensitivity) * factor / (2 * accuracy * accuracy))
	if !(units >= 0) || units*float64(levels) > float64(maxRho) {
		return Plan{}, false
	}
	each := max(1, int64(units))
	law, err := noise.NewGaussian(SigmaSquared(each, sensitivity))
	if err != nil {
		return Plan{}, false
	}
	width := 0.0
	for i, t := range trees {
		w, _ := Bound(law, t.Most(), confidences[i])
		width = max(width, w)
	}
	return Plan{each * levels, law, int64(min(width, 1<<52))}, true
}

// sigmaSquared returns the σ² of a law of Gaussian noise, which may be more than its variance.
func sigmaSquared(law noise.Law) (float64, bool) {
	text, ok := strings.CutPrefix(law.String(), "dgauss(")
	r, ok2 := new(big.Rat).SetString(strings.TrimSuffix(text, ")"))
	if !ok || !ok2 {
		return 0, false
	}
	f, _ := r.Float64()
	return f, true
}
