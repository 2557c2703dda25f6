package direct_test

import (
	"testing"

	"dpsql/mechanisms/direct"
)

// TestTreeCuts compares all sums of small trees with those of the places, and the numbers
// of nodes in them with the bound. Each place is in one node of each level.
func TestTreeCuts(t *testing.T) {
	for places := int64(1); places <= 70; places++ {
		for branch := int64(2); branch <= 9; branch++ {
			tree := direct.Tree{Places: places, Branch: branch}
			var counts []int64
			covers := make([]int64, places)
			tree.Each(func(first, last int64) error {
				sum := int64(0)
				for p := first; p <= last; p++ {
					sum += 1 + p*p
					covers[p]++
				}
				counts = append(counts, sum)
				return nil
			})
			if int64(len(counts)) != tree.Nodes() {
				t.Fatalf("%+v has %d nodes, and says %d", tree, len(counts), tree.Nodes())
			}
			up, all := int64(0), int64(0)
			for p := range places {
				all += 1 + p*p
				if covers[p] != tree.Levels() {
					t.Fatalf("%+v: place %d is in %d nodes of %d levels", tree, p, covers[p], tree.Levels())
				}
			}
			for p := range places {
				up += 1 + p*p
				below, above, n, m := tree.Cut(counts, p)
				if below != up || above != all-up {
					t.Fatalf("%+v: up to %d are %d, behind it %d, want %d and %d", tree, p, below, above, up, all-up)
				}
				if max(n, m) > tree.Most() {
					t.Fatalf("%+v: the sums at %d have %d and %d nodes, the bound is %d", tree, p, n, m, tree.Most())
				}
			}
		}
	}
}
