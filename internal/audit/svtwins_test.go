package audit

import "testing"

// TestVariantsOfLyuSuLi has sequences on which every query changes by 1 between D and
// D′. The queries of Algorithms 1 to 4 and 6 are first just below the threshold, nearer
// in D′, and then just at it, farther in D′. In D the expected answers are ⊥ … ⊥ ⊤ … ⊤.
func TestVariantsOfLyuSuLi(t *testing.T) {
	t.Parallel()
	const epsilon = 2
	for _, v := range []struct {
		name          string
		number, c     int
		belows, tops  int
		start, change int64 // the first queries in D, and the last
		atMost        int64 // the number given
		why           string
	}{
		// Given ⊤ and a number ≤ 0, the noisy threshold was ≤ 0 in D and in
		// D′: each ⊥ then costs up to ε₂/c, without end.
		{"Lyu Su Li 3", 3, 1, 5, 1, -1, 0, 0, "grows by ε/2 with each ⊥"},
		// ν is made for one ⊤ and for differences of 1 instead of 2: ε/4 for the
		// threshold and 2·3ε/4 for each ⊤, (1+6c)/4 · ε together.
		{"Lyu Su Li 4", 4, 2, 3, 2, 0, 1, 0, "(1+6c)/4·ε = 3.25 ε"},
		// Without ν, no ρ lets the first query stay below and the second pass if the
		// first is the larger, as it is in D′.
		{"Lyu Su Li 5", 5, 0, 1, 1, 0, 1, 0, "∞"},
		// Without a cutoff every ⊤ beside the ⊥s costs up to another ε₂, without
		// end.
		{"Lyu Su Li 6", 6, 0, 3, 3, -2, 0, 0, "grows by ε/2 with each ⊤"},
	} {
		s := algorithm(t, v.number, epsilon, v.c)
		in := sequence(v.belows, v.start, v.tops, v.change)
		changed := sequence(v.belows, v.start+1, v.tops, v.change-1)
		pattern := sequence(v.belows, false, v.tops, true)
		c := s.audited(v.name+", true loss "+v.why, epsilon, in, changed)
		c.Suspect = func(o Output) bool {
			return o[0] == 1<<(v.belows+v.tops)+1<<v.tops-1 && (!s.numeric || o[1] <= v.atMost)
		}
		mustCatch(t, twin{c, s.chance(in, pattern, v.atMost), s.chance(changed, pattern, v.atMost)})
		for _, right := range []int{1, 2} {
			sound := algorithm(t, right, epsilon, max(1, v.c)).audited("Lyu Su Li 1 or 2", epsilon, in, changed)
			sound.Suspect = c.Suspect
			mustHold(t, sound, keptRuns)
		}
	}
}
