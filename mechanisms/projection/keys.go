package projection

import (
	"iter"
	"slices"

	"dpsql/noise"
	"dpsql/noise/law"
)

// Discovery finds keys that enough units have. Nobody need know them before.
//
// Privacy. Let c(x) be the number of units that have a kept row with the key x, and L the rows
// kept of a unit. D′ is D and one unit more. That unit has at most L keys, of each of which it
// changes c by 1; so c changes by at most L in ℓ1. Each x with c(x) ≥ 1 gets one draw ν of
// discrete Laplace noise of scale L/ε, and is found if c(x) + ν reaches the threshold t. Nothing
// is drawn for a key that no unit has, since nobody could list these.
//
// The keys that D has too: in D and in D′ each of them is found if its noisy count reaches t.
// Whether it does is a function of the noisy counts, which together lose at most ε (Dwork,
// McSherry, Nissim and Smith 2006; the discrete law: Ghosh, Roughgarden and Sundararajan 2009).
// The keys of D′ alone: at most L, each with c = 1, and by the choice of t
//
//	P(any of them is found) ≤ L·P(1 + ν ≥ t) ≤ δ.
//
// As at Heavy, with G the event that none of these is found, P′(O) ≤ P′(O∩G) + δ ≤ e^ε P(O) + δ
// and P(O) ≤ e^ε P′(O) + δ. So the set of keys found is (ε, δ)-differentially private. That is the
// way of Korolova, Kenthapadi, Mishra and Ntoulas ("Releasing search queries and clicks
// privately", 2009), with units in place of rows. Noisy counts are not published, and what is, is
// sorted: the order in which rows were read does not show.
type Discovery struct {
	Law       law.Law // of ν: discrete Laplace noise of scale L/ε
	Threshold int64   // t, at least 1
}

// NewDiscovery returns the discovery with the noise of a law, for units of at most so many keys,
// and δ. The threshold is for counts of units.
func NewDiscovery(law law.Law, unit int64, delta float64) Discovery {
	return Discovery{Law: law, Threshold: 1 + rare(law, unit, delta)}
}

// Chance returns the probability that a key of so many units is found. It is 0 for none.
func (d Discovery) Chance(units int64) float64 {
	if units < 1 {
		return 0
	}
	return d.Law.Tail(d.Threshold - units)
}

// Found returns the keys that are found, sorted by their bytes. Each key comes once, with the
// number of its units.
func (d Discovery) Found(units iter.Seq2[string, int64], src *noise.Source) (keys []string, err error) {
	for key, n := range units {
		if n < 1 {
			continue
		}
		noisy, err := noised(n, d.Law, src)
		if err != nil {
			return nil, err
		}
		if noisy >= d.Threshold {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
