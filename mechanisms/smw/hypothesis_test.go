package smw

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/internal/seeds"
	"dpsql/query"
)

// close9 is the distance allowed between the fast form and Algorithm 1.
const close9 = 1e-9

func spaces(t *testing.T, r *rand.Rand) map[string]space {
	return map[string]space{
		"coded": codedSpace(t, r, 1), "coded, weighted": codedSpace(t, r, 3),
		"text": textSpace(t, r, 1), "text, weighted": textSpace(t, r, 3),
	}
}

// testParams are parameters without a plan, for the hypothesis alone, with
// N̂·W = 3000.
func testParams(s uint64, u Update, maxWeight int64) Params {
	return Params{
		S: s, MaxSupport: 1000, MaxWeight: maxWeight, NHat: 3000 / maxWeight, Update: u, Eta: 0.2,
		Threshold: 30, Floor: 30, Replay: math.MaxInt64,
	}
}

func TestPaperStepFollowsAlgorithm1(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	for name, s := range spaces(t, r) {
		p := testParams(2000, Paper, s.maxWeight)
		fast, slow := NewHypothesis(p, s.u, nil), newTwin(2000, p.MaxWeight, s.pool)
		for step := range sized(60, 300) {
			q := s.any()
			noisy := r.Int64N(2*3000) - 1500
			if math.Abs(float64(noisy)/p.mass()-slow.value(q)) < close9 {
				continue // the direction would hang on a rounding error
			}
			if err := fast.Update(q, noisy); err != nil {
				t.Fatal(err)
			}
			if !slow.smw(q, float64(noisy)/p.mass(), p.Eta) {
				t.Fatal("the twin failed")
			}
			compare(t, name, step, fast, slow, s)
		}
	}
}

func compare(t *testing.T, name string, step int, fast *Hypothesis, slow *twin, s space) {
	t.Helper()
	for range 20 {
		q := s.any()
		f, l := fast.Value(q), slow.value(q)
		if math.Abs(f-l) > close9 {
			t.Fatalf("%s, step %d: %v is %v, Algorithm 1 says %v", name, step, q, f, l)
		}
	}
}

func TestProjectionFollowsItsTwin(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	for name, s := range spaces(t, r) {
		p := testParams(500, Projection, s.maxWeight)
		fast, slow := NewHypothesis(p, s.u, nil), newTwin(500, p.MaxWeight, s.pool)
		for step := range sized(20, 150) {
			q := s.any()
			noisy := 60 + r.Int64N(700) // out of reach of the clipping
			top := 0.0
			for _, w := range slow.support(q) {
				top = max(top, w)
			}
			a := float64(noisy) / p.mass()
			if a > 0.9*top {
				continue
			}
			if err := fast.Update(q, noisy); err != nil {
				t.Fatal(err)
			}
			slow.project(q, a)
			if got := fast.Value(q); math.Abs(got-a) > close9 {
				t.Fatalf("%s: %v is %v after a projection to %v", name, q, got, a)
			}
			compare(t, name, step, fast, slow, s)
		}
	}
}

// TestReplayFollowsItsTwin replays by the O(s) projection. The counts are those
// of a random database, but for a little noise: contradictory ones would drive
// weights to where rounding decides.
func TestReplayFollowsItsTwin(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	for name, s := range spaces(t, r) {
		p := testParams(150, Projection, s.maxWeight)
		p.Replay, p.Floor = 5, 1
		data := make([]float64, len(s.pool))
		for x := range data {
			data[x] = p.mass() / float64(len(data)) * 2 * r.Float64()
		}
		fast, slow := NewHypothesis(p, s.u, nil), newTwin(150, p.MaxWeight, s.pool)
		var history []Step
		replayed := 0
		for step := range sized(20, 30) {
			q := s.any()
			count := 0.0
			for x, qx := range slow.support(q) {
				count += qx * data[x]
			}
			noisy := 12 * (int64(count)/12 + 1 + r.Int64N(2)) // never off by 5 exactly
			if err := fast.Update(q, noisy); err != nil {
				t.Fatal(err)
			}
			slow.project(q, float64(noisy)/p.mass())
			history = append(history, Step{q, noisy})
			replayed += slow.replay(history, p)
			compare(t, name, step, fast, slow, s)
		}
		t.Logf("%s: %d projections replayed", name, replayed)
		if replayed == 0 {
			t.Error("nothing was replayed: the test shows nothing")
		}
	}
}

func TestFailureIsThePapers(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	failed := 0
	for range sized(6, 20) {
		for name, s := range spaces(t, r) {
			size := 20 + r.IntN(90)
			p := testParams(uint64(size), Paper, s.maxWeight)
			fast, slow := NewHypothesis(p, s.u, nil), newTwin(size, p.MaxWeight, s.pool)
			for step := range 60 {
				q := s.any()
				noisy := r.Int64N(3000)
				if math.Abs(float64(noisy)/p.mass()-slow.value(q)) < close9 {
					continue
				}
				before := fast.Value(q)
				err := fast.Update(q, noisy)
				if ok := slow.smw(q, float64(noisy)/p.mass(), p.Eta); ok != (err == nil) {
					t.Fatalf("%s, s = %d, step %d: fast %v, Algorithm 1 ok = %v", name, size, step, err, ok)
				}
				if err != nil {
					if !errors.Is(err, ErrFailure) || fast.Value(q) != before {
						t.Fatalf("%s: %v, value %v → %v", name, err, before, fast.Value(q))
					}
					failed++
					break
				}
				compare(t, name, step, fast, slow, s)
			}
		}
	}
	t.Logf("%d of 80 sequences ended in FAILURE", failed)
	if failed == 0 {
		t.Error("no sequence ended in FAILURE: the test shows nothing")
	}
}

// A history that is cut into more atoms than are held fails like one without
// variables, and changes nothing.
func TestAtomsAreBounded(t *testing.T) {
	s := codedSpace(t, newRand(t), 1)
	h := NewHypothesis(testParams(1<<40, Projection, 1), s.u, nil)
	one := query.Where(s.u, 0, s.u.Columns()[0].Domain.SetOf(query.Int(1)))
	if err := h.Update(one, 700); err != nil {
		t.Fatal(err)
	}
	before := h.Value(one)
	h.entries = mostEntries
	if err := h.Update(query.Where(s.u, 1, s.u.Columns()[1].Domain.SetOf(query.Int(1))), 700); !errors.Is(err, ErrFailure) {
		t.Errorf("error %v", err)
	}
	if h.Value(one) != before || h.Updates() != 1 {
		t.Errorf("a failed update changed %v to %v", before, h.Value(one))
	}
}

func TestExhaustedVariablesCountAsZero(t *testing.T) {
	r := newRand(t)
	s := textSpace(t, r, 1)
	p := testParams(4, Paper, s.maxWeight)
	h := NewHypothesis(p, s.u, nil)
	d := s.u.Columns()[0].Domain
	at := func(name string) query.Query { return query.Where(s.u, 0, d.SetOf(query.Text(name))) }
	if err := h.Update(at("x"), 2000); err != nil { // all four variables
		t.Fatal(err)
	}
	if got := h.Value(at("y")); got != 0 {
		t.Errorf("an unassigned element with ind > s has value %v, want 0", got)
	}
	if got := h.Value(at("x")); math.Abs(got-1) > close9 {
		t.Errorf("the assigned elements have value %v, want 1", got)
	}
}

func TestHypothesisStaysFiniteUnderAbsurdUpdates(t *testing.T) {
	r := newRand(t)
	for _, rule := range []Update{Paper, Projection} {
		for name, s := range spaces(t, r) {
			p := testParams(1<<62, rule, s.maxWeight)
			p.NHat, p.Floor, p.Replay, p.Eta = 1e12, 1, 1000, 0.5
			h := NewHypothesis(p, s.u, nil)
			for range sized(40, 120) {
				noisy := []int64{-1 << 60, 0, 3e12, 1 << 60}[r.IntN(4)]
				if err := h.Update(s.any(), noisy); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				if v := h.Value(s.any()); !(v >= 0 && v <= 1) {
					t.Fatalf("%s, %s: value %v", rule, name, v)
				}
			}
			if drift := math.Abs(sumOf(h)/h.assigned.value() - 1); drift > close9 {
				t.Errorf("%s, %s: the running total is off by a factor %v", rule, name, drift)
			}
		}
	}
}

func sumOf(h *Hypothesis) float64 {
	s := sum{}
	for _, w := range h.weights {
		s = s.plus(w)
	}
	return s.value()
}

func TestProjectionOfTheWholeUniverseChangesNothing(t *testing.T) {
	s := codedSpace(t, newRand(t), 1)
	p := testParams(uint64(len(s.pool)), Projection, s.maxWeight)
	h := NewHypothesis(p, s.u, nil)
	if err := h.Update(query.All(s.u), 400); err != nil {
		t.Fatal(err)
	}
	for _, q := range []query.Query{query.All(s.u), query.None(s.u)} {
		want := float64(q.Size().Int64()) / float64(len(s.pool))
		if got := h.Value(q); math.Abs(got-want) > close9 {
			t.Errorf("value %v, want %v", got, want)
		}
	}
	if err := h.Update(query.None(s.u), 400); err != nil {
		t.Fatal(err)
	}
	one := query.Where(s.u, 0, s.u.Columns()[0].Domain.SetOf(query.Int(1)))
	if err := h.Update(one, 1500); err != nil {
		t.Fatal(err)
	}
	if got := h.Value(one); math.Abs(got-0.5) > close9 || h.Updates() != 3 {
		t.Errorf("value %v after %d updates, want 0.5 after 3", got, h.Updates())
	}
}

// elementwise is a prior that is known element by element.
type elementwise struct {
	space
	of func(query.Element) float64
}

func (e elementwise) mass(c *query.Cell) (sum float64) {
	for _, tuple := range e.pool {
		in := true
		for i, set := range c.Sets {
			o, _ := e.u.Columns()[i].Domain.Ordinal(tuple[i])
			in = in && (set == nil || slices.ContainsFunc(set, func(r query.Range) bool { return r.First <= o && o <= r.Last }))
		}
		if x, _ := e.coder.Code(tuple); in {
			sum += e.of(x)
		}
	}
	return sum
}

func TestPriorIsTheFirstHypothesis(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 3)
	prior := make([]float64, len(s.pool))
	total := 0.0
	for i := range prior {
		prior[i] = r.Float64() + 0.01
		total += prior[i]
	}
	of := func(e query.Element) float64 { return prior[e.Lo] / total }
	from := elementwise{s, of}
	p := testParams(uint64(len(s.pool)), Paper, s.maxWeight)
	h, slow := NewHypothesis(p, s.u, from), newTwin(len(s.pool), p.MaxWeight, s.pool)
	for x, tuple := range s.pool { // the twin with every element assigned
		e, _ := s.coder.Code(tuple)
		slow.h[x] = x + 1
		slow.d[x+1] = of(e)
	}
	slow.ind = len(s.pool) + 1
	compare(t, "prior", -1, h, slow, s)
	for step := range sized(40, 200) {
		q, noisy := s.any(), r.Int64N(3000)
		if err := h.Update(q, noisy); err != nil {
			t.Fatal(err)
		}
		slow.smw(q, float64(noisy)/p.mass(), p.Eta)
		compare(t, "prior", step, h, slow, s)
	}
}

func TestUpdateRefusesWhatParamsDoNotAdmit(t *testing.T) {
	s := textSpace(t, newRand(t), 1)
	p := testParams(100, Projection, s.maxWeight)
	p.MaxSupport = 4
	h := NewHypothesis(p, s.u, nil)
	d := s.u.Columns()[0].Domain
	for name, q := range map[string]query.Query{
		"infinite": query.All(s.u),
		"too wide": query.Where(s.u, 0, d.SetOf(query.Text("x"), query.Text("y"))),
		"too heavy": must(query.Where(s.u, 0, d.SetOf(query.Text("x"))).And(
			must(query.Weighted(s.u, 1, []int64{0, 1, 2, 0}))(t)))(t),
	} {
		if err := h.Update(q, 1); err == nil || h.Updates() != 0 {
			t.Errorf("%s: error %v, %d updates", name, err, h.Updates())
		}
	}
}

func TestSumKeepsWhatCancels(t *testing.T) {
	r := newRand(t)
	s, exact := sum{}, new(big.Rat)
	for range 2000 {
		x := math.Ldexp(r.Float64()-0.5, r.IntN(60))
		y := math.Ldexp(r.Float64(), r.IntN(20)-20)
		for _, v := range []float64{x, y, -x} {
			s = s.plus(v)
			exact.Add(exact, new(big.Rat).SetFloat64(v))
		}
	}
	want, _ := exact.Float64()
	if got := s.value(); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("sum %v, exactly %v", got, want)
	}
}

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
	for range maxReplays {
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
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	u, values := line(t, 100_000, false)
	p := Params{S: 100_000, MaxSupport: 1000, MaxWeight: 1, NHat: 1e6, Update: Projection, Floor: 300, Replay: 200, Threshold: 400}
	h, always := NewHypothesis(p, u, nil), NewHypothesis(p, u, nil)
	total := 0
	for i := range 60 {
		q := query.Where(u, 0, u.Columns()[0].Domain.SetOf(values[1000*i:1000*(i+1)]...))
		noisy := random.Int64N(20) - 10
		if i%2 == 0 {
			noisy = 20_000 + random.Int64N(10_000)
		}
		last, err := always.updateAlways(q, noisy)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Update(q, noisy); err != nil {
			t.Fatal(err)
		}
		total += last
	}
	if total < 6000 { // 9,285 with a standard deviation of 252, in 1,000 runs
		t.Errorf("the updates were replayed with %d projections only, and there is nothing to leave alone", total)
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
