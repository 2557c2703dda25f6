package projection

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"dpsql/noise"
)

// TestDiscoveryThreshold: the threshold is 1 + ⌈(L/ε)·ln(L/((1 + e^{−ε/L})δ))⌉. Of the keys that a
// unit alone has, up to L, none is found but with probability δ, and with a threshold less by one
// that would not hold for L keys.
func TestDiscoveryThreshold(t *testing.T) {
	for _, epsilon := range []int64{1, 5, 10, 40} { // tenths
		for _, unit := range []int64{1, 2, 3, 7, 20, 1000} {
			for _, delta := range []float64{0.01, 1e-6, 1e-9} {
				law := laplace(t, 10*unit, epsilon)
				d := NewDiscovery(law, unit, delta)
				e, l := float64(epsilon)/10, float64(unit)
				if want := 1 + int64(math.Ceil(l/e*math.Log(l/((1+math.Exp(-e/l))*delta)))); d.Threshold != want {
					t.Errorf("ε = %v, L = %d, δ = %v: threshold %d, want %d", e, unit, delta, d.Threshold, want)
				}
				for keys, silent := 1.0, math.Log1p(-d.Chance(1)); keys <= l; keys++ {
					if found := -math.Expm1(keys * silent); found > delta {
						t.Errorf("ε = %v, L = %d, δ = %v: one of %v keys is found with probability %v", e, unit, delta, keys, found)
					}
				}
				if l*law.Tail(d.Threshold-2) <= delta {
					t.Errorf("ε = %v, L = %d, δ = %v: the threshold %d is larger than need be", e, unit, delta, d.Threshold)
				}
			}
		}
	}
}

// TestFound finds keys of up to 60 units 4,000 times. A key is found as often as Chance says: a
// share of n draws of probability p is off by 6·√(p(1−p)/n) + 10/n with probability below 1e-8
// (Bernstein), and there are 61 keys.
func TestFound(t *testing.T) {
	src, random := seeded(t)
	d := NewDiscovery(laplace(t, 4, 1), 2, 0.001)
	units := make(map[string]int64)
	for n := range int64(61) {
		units[fmt.Sprintf("%02d", (n*37)%61)] = n
	}
	const runs = 4000
	times := make(map[string]int)
	for range runs {
		keys, err := d.Found(maps.All(units), src)
		if err != nil || !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
			t.Fatalf("%q, %v", keys, err)
		}
		for _, key := range keys {
			times[key]++
		}
	}
	for key, n := range units {
		p := d.Chance(n)
		if share := float64(times[key]) / runs; math.Abs(share-p) > 6*math.Sqrt(p*(1-p)/runs)+10.0/runs {
			t.Errorf("a key of %d units is found %v of the time, want %v", n, share, p)
		}
	}
	if times["00"] != 0 || d.Chance(0) != 0 || d.Chance(-1) != 0 {
		t.Error("a key that no unit has is found")
	}

	// What is drawn, and so found, does not depend on the order in which keys come, but for which
	// draw a key gets: those of counts far above the threshold come sorted by their bytes.
	all := []string{"é", "e", "", "E", "10", "9", "a\x00", "a"}
	sorted := slices.Sorted(slices.Values(all))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	keys, err := d.Found(func(yield func(string, int64) bool) {
		for _, key := range all {
			if !yield(key, 1e6) {
				return
			}
		}
	}, src)
	if err != nil || !slices.Equal(keys, sorted) {
		t.Errorf("%q, %v, want %q", keys, err, sorted)
	}

	if _, err := d.Found(maps.All(units), noise.NewSourceFrom(failing{})); err == nil {
		t.Error("keys are found without random bits")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no bits") }
