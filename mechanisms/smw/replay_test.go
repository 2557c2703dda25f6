package smw

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/query"
)

// updateAlways is Update with a replay that also projects pairs which that does
// not move, and returns how many projections it made.
func (h *Hypothesis) updateAlways(q query.Query, noisy int64) (learned int, err error) {
	p, err := h.assign(q)
	if err != nil {
		return 0, err
	}
	p.noisy = float64(noisy)
	h.cut.Add(q)
	h.history, h.lambda = append(h.history, p), append(h.lambda, 0)
	h.learn(p)
	for range passes {
		before := learned
		for _, p := range h.history {
			if math.Abs(h.answer(p)*h.params.mass()-p.noisy) > float64(h.params.Replay) {
				h.learn(p)
				learned++
			}
		}
		if learned == before {
			break
		}
	}
	return learned, nil
}

// TestReplayLeavesAloneWhatItCannotMove learns disjoint queries, half of which
// have no rows, so that their noisy counts lie below the floor for ever. The
// answers are within two counts of those of a replay that goes on projecting
// these, and every pair is as near to its noisy count as it may be.
func TestReplayLeavesAloneWhatItCannotMove(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	u, values := line(t, 100_000, false)
	p := Params{S: 100_000, MaxSupport: 1000, MaxWeight: 1, NHat: 1e6, Update: Projection, Floor: 300, Replay: 200, Threshold: 400}
	h, always := NewHypothesis(p, u, nil), NewHypothesis(p, u, nil)
	total, last := 0, 0
	for i := range 60 {
		q := query.Where(u, 0, u.Columns()[0].Domain.Of(values[1000*i:1000*(i+1)]...))
		noisy := random.Int64N(20) - 10
		if i%2 == 0 {
			noisy = 20_000 + random.Int64N(10_000)
		}
		var err error
		if last, err = always.updateAlways(q, noisy); err != nil {
			t.Fatal(err)
		}
		if err := h.Update(q, noisy); err != nil {
			t.Fatal(err)
		}
		total += last
	}
	if last < 100 {
		t.Errorf("the last update was replayed with %d projections only, and there is nothing to leave alone", last)
	}
	mass := p.mass()
	for i, pair := range h.history {
		got, want := h.answer(pair)*mass, always.answer(always.history[i])*mass
		if math.Abs(got-want) > 2 {
			t.Errorf("pair %d answers %.2f and after all projections %.2f", i, got, want)
		}
		if off := math.Abs(got-pair.noisy) > float64(p.Replay); off && h.moves(pair, got/mass) {
			t.Errorf("pair %d answers %.2f, and the replay ended before it could move it", i, got)
		}
		reach := max(pair.noisy, float64(p.Floor))
		if math.Abs(got-reach) > float64(p.Replay) {
			t.Errorf("pair %d answers %.2f, though it could %.2f", i, got, reach)
		}
	}
}
