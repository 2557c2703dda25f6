package audit

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/noise/law"
)

// clipped is a literal model of the split of one cell's count at a clip into a light
// part and a heavy excess. Both share one ε, because a row changes only one of them by
// one.
type clipped struct {
	law     law.Law // noise of both parts, discrete Laplace of scale 1/ε
	clip    int64
	overlap int64 // by how much the two parts overlap: 0 is right
}

func (c clipped) parts(n int64) (light, excess int64) {
	return min(n, c.clip), max(n-c.clip+c.overlap, 0)
}

// release returns both parts with noise.
func (c clipped) release(n int64, src *noise.Source) (Output, error) {
	light, excess := c.parts(n)
	first, err := noise.Draw(c.law, src)
	if err != nil {
		return Output{}, err
	}
	second, err := noise.Draw(c.law, src)
	return Output{light + first, excess + second}, err
}

// TestPartsThatOverlap audits light and heavy parts that overlap by one. The row that
// reaches the clip changes both, and the loss is ε twice.
func TestPartsThatOverlap(t *testing.T) {
	t.Parallel()
	const epsilon, clip = 2, 5
	model := clipped{law: dlap(t, 1.0/epsilon), clip: clip, overlap: 1}
	audited := func(name string, m clipped, inD int64) Case {
		return Case{
			Name: name, Unit: 1, Claim: Claim{Epsilon: epsilon}, Shows: []string{"light", "excess"},
			Run: func(changed bool, src *noise.Source) (Output, error) {
				return m.release(rows(inD, 1, changed), src)
			},
			Suspect: func(o Output) bool { return o[0] < clip && o[1] <= 0 },
		}
	}
	none, fewer := 1-model.law.Tail(1), 1-model.law.Tail(0) // P(X ≤ 0), P(X ≤ −1)
	mustCatch(t, twin{audited("parts that overlap by one, true loss 2 ε", model, clip-1), none * none, fewer * fewer})
	model.overlap = 0
	for _, inD := range []int64{0, clip - 1, clip, clip + 3} {
		mustHold(t, audited("parts that do not overlap", model, inD), keptRuns)
	}
}

// histogram is a literal model of publishing a cell whose count is above the clip, by
// stability (Korolova, Kenthapadi, Mishra and Ntoulas 2009; Bun, Nissim and Stemmer
// 2016). A cell with an excess gets a draw, and is published with it if the sum reaches
// the threshold. The light part of the cell is released beside it, as in clipped.
type histogram struct {
	clipped
	threshold int64 // for the noisy excess; math.MinInt64 for none
	fromZero  bool  // draw also for occupied cells of excess 0
}

// calibrated returns the threshold 1 + ⌈ln(1/((1+e^−ε)δ))/ε⌉. With it a cell of excess
// 1 is published with probability at most δ.
func calibrated(c Claim) int64 {
	return 1 + int64(math.Ceil(math.Log(1/((1+math.Exp(-c.Epsilon))*c.Delta))/c.Epsilon))
}

// release returns the noisy light part, whether the cell is published, and its noisy
// excess. A cell without rows is in no table, so nothing is drawn for it.
func (h histogram) release(n int64, src *noise.Source) (Output, error) {
	light, excess := h.parts(n)
	draw, err := noise.Draw(h.law, src)
	o := Output{light + draw}
	if err != nil || n == 0 || excess == 0 && !h.fromZero {
		return o, err
	}
	if draw, err = noise.Draw(h.law, src); excess+draw >= h.threshold {
		o[1], o[2] = 1, excess+draw
	}
	return o, err
}

func (h histogram) audited(name string, claim Claim, inD int64) Case {
	return Case{
		Name: name, Unit: 1, Claim: claim, Shows: []string{"light", "published", "excess"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			return h.release(rows(inD, 1, changed), src)
		},
		Suspect: func(o Output) bool { return o[1] == 1 },
	}
}

// TestPublicationWithoutThreshold audits two faults. In the first the cell is published
// if and only if it has an excess, so one row decides. In the second cells of excess 0
// get a draw, too, and a cell is published as soon as its noisy excess is 1: without
// rows that cannot happen, and with one row it happens with probability P(X ≥ 1) =
// 0.27. The true loss of both is infinite.
func TestPublicationWithoutThreshold(t *testing.T) {
	t.Parallel()
	const clip = 5
	claim := Claim{Epsilon: 1, Delta: 0.01}
	split := clipped{law: dlap(t, 1), clip: clip}

	bare := histogram{clipped: split, threshold: math.MinInt64}
	mustCatch(t, twin{bare.audited("no threshold, true loss ∞", claim, clip), 1, 0})

	stable := histogram{clipped: clipped{law: dlap(t, 1)}, threshold: math.MinInt64} // clip 0: whole counts
	mustCatch(t, twin{stable.audited("a histogram by stability, no threshold, true loss ∞", claim, 0), 1, 0})

	zero := histogram{clipped: split, threshold: 1, fromZero: true}
	mustCatch(t, twin{zero.audited("draws for excess 0, true loss ∞", claim, 0), split.law.Tail(1), 0})

	for _, inD := range []int64{0, clip - 1, clip, clip + 3} {
		sound := histogram{clipped: split, threshold: calibrated(claim)}
		mustHold(t, sound.audited("heavy cells above the threshold", claim, inD), keptRuns)
		sound.clip = 0
		mustHold(t, sound.audited("a histogram by stability", claim, inD), keptRuns)
		// At the threshold for excess 1 a draw for excess 0 is published with
		// probability e^−ε·δ at most. It wastes δ and does not break the claim.
		sound = histogram{clipped: split, threshold: calibrated(claim), fromZero: true}
		mustHold(t, sound.audited("draws for excess 0 above the threshold", claim, inD), keptRuns)
	}
}

// TestReleaseWithoutThreshold has the same faults in the code that is shipped, through
// its parameters: no threshold, and the threshold for units of one row when a unit has
// three.
func TestReleaseWithoutThreshold(t *testing.T) {
	t.Parallel()
	p, err := clipParams(1)
	if err != nil {
		t.Fatal(err)
	}
	law := p.Law
	bare := func(unit, threshold int64) func(int64) (projection.Params, error) {
		return func(int64) (projection.Params, error) {
			p, err := clipParams(unit)
			p.Heavy.Threshold = threshold
			return p, err
		}
	}
	c, err := heavyRelease("a release without threshold, true loss ∞", bare(1, 1), func(int64) int64 { return clip })(1)
	if err != nil {
		t.Fatal(err)
	}
	c.Unit, c.Suspect = 1, func(o Output) bool { return o[2] > 0 }
	mustCatch(t, twin{c, law.Tail(0), 0})

	three, err := laplaceFor(oneEpsilon, 3)
	if err != nil {
		t.Fatal(err)
	}
	few := p.Heavy.Threshold
	c, err = heavyRelease("a threshold for one row, true loss ∞", bare(3, few), func(int64) int64 { return clip })(3)
	if err != nil {
		t.Fatal(err)
	}
	c.Unit, c.Suspect = 3, func(o Output) bool { return o[2] > 0 }
	mustCatch(t, twin{c, three.Tail(few - 3), 0})
}

// TestDiscoveryTwins has the faults of a discovery of keys: no threshold; the threshold for units
// of one key where a unit has sixteen; and no bound on the keys of a unit, which has sixteen where
// the noise is for one, so that the true loss is 16 ε.
func TestDiscoveryTwins(t *testing.T) {
	t.Parallel()
	const keys = 16
	one, err := discoveryFor(1)
	if err != nil {
		t.Fatal(err)
	}
	many, err := discoveryFor(keys)
	if err != nil {
		t.Fatal(err)
	}
	caught := func(name string, d projection.Discovery, inD, least int64) {
		c := discovered(name, d, keys, inD)
		c.Unit, c.Suspect = keys, func(o Output) bool { return o[0] >= least }
		mustCatch(t, twin{c, distuv.Binomial{N: keys, P: d.Chance(inD + 1)}.Survival(float64(least) - 1), distuv.Binomial{N: keys, P: d.Chance(inD)}.Survival(float64(least) - 1)})
	}
	caught("keys without a threshold, true loss ∞", projection.Discovery{Law: many.Law, Threshold: 1}, 0, 1)
	caught("keys with the threshold of one, true loss ∞", projection.Discovery{Law: many.Law, Threshold: one.Threshold}, 0, 1)
	caught("keys of a unit without bound, true loss 16 ε", one, one.Threshold-1, 8)
}
