package smw

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

// shareOf returns the ε of one of b runs that divide ρ: √(2ρ/b), rounded down.
func shareOf(rho float64) func(int64) *big.Rat {
	return func(b int64) *big.Rat {
		units := new(big.Rat).SetFloat64(math.Floor(math.Sqrt(2*rho/float64(b)) * 1e15))
		return units.Quo(units, big.NewRat(1e15, 1))
	}
}

// request asks for 50 updates on a million rows; ρ is that of ε = 1, δ = 1e-6.
func request() Request {
	return Request{
		MaxUpdates: 50, MaxSupport: 64, Queries: 1e4, Beta: 0.05, NHat: 1e6, NHatBound: 300,
		Sensitivity: 1, MaxWeight: 1, RunEpsilon: shareOf(0.02436),
	}
}

func alphaRequest(alpha float64) Request {
	r := request()
	r.MaxUpdates, r.Alpha = 0, alpha
	return r
}

func TestSizeForIsTheSmallest(t *testing.T) {
	ratio := func(s uint64) float64 { return float64(s) / (math.Log(float64(s)) + 1) }
	for _, m := range []uint64{1, 2, 64, 5000, 1 << 40} {
		for _, alpha := range []float64{0.01, 0.1, 0.9, 1, 3, 100} {
			s, need := sizeFor(m, alpha), 4*float64(m)/(alpha*alpha)
			if ratio(s) < need || s > 1 && ratio(s-1) >= need {
				t.Errorf("sizeFor(%d, %v) = %d: ratio %v, one less %v, need %v", m, alpha, s, ratio(s), ratio(s-1), need)
			}
		}
	}
	if s := sizeFor(math.MaxUint64, 1e-9); s != maxSize {
		t.Errorf("a size beyond 2^62 is %d", s)
	}
}

func TestPaperAlphaSolvesItsEquation(t *testing.T) {
	// about 4e8 rows for α = 0.1 at ε = 1, δ = 1e-6, k = 1e4, m = 64
	r := PaperParams{MaxSupport: 64, Queries: 1e4, Beta: 0.05, Epsilon: 1, Delta: 1e-6, Rows: 4.13e8}
	alpha := PaperAlpha(r)
	if math.Abs(alpha-0.1) > 1e-3 {
		t.Errorf("α = %v, want 0.1", alpha)
	}
	for _, rows := range []int64{1, 1e4, 1e12} {
		r.Rows = rows
		alpha := PaperAlpha(r)
		right := 3000 * math.Sqrt(updateBound(sizeFor(64, alpha), alpha)) *
			math.Log(4e6) * math.Log(1e4/0.05) / float64(rows)
		if math.Abs(right/alpha-1) > 1e-6 {
			t.Errorf("n = %d: α = %v, right side %v", rows, alpha, right)
		}
	}
}

func TestPlanOfUpdates(t *testing.T) {
	p := must(Plan(request()))(t)
	if p.S != maxSize || p.Updates != 50 || p.Update != Projection || p.Alpha != 0 {
		t.Errorf("plan %+v", p)
	}
	if p.Threshold != p.SimultaneousBound(0.05) {
		t.Errorf("T = %d, x_β = %d", p.Threshold, p.SimultaneousBound(0.05))
	}
	small := request()
	small.UniverseSize = big.NewInt(100)
	if p := must(Plan(small))(t); p.S != 100 {
		t.Errorf("s = %d over 100 records", p.S)
	}
	small.MaxSupport = 1e6
	if p := must(Plan(small))(t); p.MaxSupport != 100 {
		t.Errorf("m = %d over 100 records", p.MaxSupport)
	}
	paper := request()
	paper.Update = Paper
	if p := must(Plan(paper))(t); p.S != 50*64 {
		t.Errorf("s = %d for the paper's step", p.S)
	}
	paper.MaxSupport = 1 << 61
	if p := must(Plan(paper))(t); p.S != maxSize {
		t.Errorf("s = %d", p.S)
	}
}

func TestPlanScalesWithTheUnit(t *testing.T) {
	base, r := must(Plan(request()))(t), request()
	r.Sensitivity, r.MaxWeight = 3, 7
	p := must(Plan(r))(t)
	if ratio := float64(p.Threshold) / float64(base.Threshold); math.Abs(ratio-21) > 0.1 {
		t.Errorf("T grew %v times for L·W = 21", ratio)
	}
	if p.Eps1.Cmp(base.Eps1) == 0 {
		t.Log("the shares are equal, as rounding happened to agree")
	}
}

func TestSplitNeverExceedsTheRun(t *testing.T) {
	r := newRand(t)
	for range 2000 {
		eps := new(big.Rat).SetFloat64(math.Exp(r.Float64()*30 - 20))
		p := Params{Sensitivity: 1 + r.Int64N(100), MaxWeight: 1 + r.Int64N(1000)}
		if err := p.split(eps, false); err != nil {
			continue
		}
		total := new(big.Rat).Add(p.Eps1, p.Eps2)
		if total.Cmp(eps) > 0 {
			t.Fatalf("ε = %v splits into %v", eps, total)
		}
		lost, _ := new(big.Rat).Quo(new(big.Rat).Sub(eps, total), eps).Float64()
		if lost > 1e-5 {
			t.Fatalf("a part %v of ε = %v is lost", lost, eps)
		}
		a, _ := p.Eps1.Float64()
		b, _ := p.Eps2.Float64()
		if math.Abs(b/a/math.Pow(2, 2.0/3)-1) > 1e-4 {
			t.Fatalf("ε₁ : ε₂ = 1 : %v", b/a)
		}
	}
}

func TestParamsSurviveJSON(t *testing.T) {
	for _, r := range []Request{request(), alphaRequest(1)} {
		p := must(Plan(r))(t)
		text := must(json.Marshal(p))(t)
		var back Params
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p, back) {
			t.Errorf("%s\nreads back as\n%+v", text, back)
		}
	}
}

// TestPlanOfAlpha checks the result against Theorem 3.5's conditions, written
// out again, and that one run less would not do.
func TestPlanOfAlpha(t *testing.T) {
	t.Parallel()
	weighted := Request{
		Alpha: 0.9, MaxSupport: 5, Queries: 100, Beta: 0.01, NHat: 2e5, NHatBound: 10,
		Sensitivity: 2, MaxWeight: 10, RunEpsilon: shareOf(1), UniverseSize: big.NewInt(1000), Update: Paper,
	}
	unsure := alphaRequest(0.5) // N̂ is worse known than counts
	unsure.NHatBound = 40_000
	requests := []Request{alphaRequest(1), priorRequest(), weighted, unsure}
	if *long {
		requests = append(requests, alphaRequest(0.15))
	}
	for _, r := range requests {
		p := must(Plan(r))(t)
		t.Logf("α = %v: B = %d, s = %d, T = %d, x = %d, η = %.3g", r.Alpha, p.Updates, p.S, p.Threshold, p.Bound, p.Eta)
		if need := runsNeeded(t, r, p); need > p.Updates {
			t.Errorf("α = %v: %d runs, Theorem 3.5 needs %d", r.Alpha, p.Updates, need)
		}
		x, e := p.SimultaneousBound(r.Beta/2), (r.NHatBound+1)*r.MaxWeight
		if good := float64(p.Threshold + x + e); good > r.Alpha*p.mass() || good < r.Alpha*p.mass()-1 || p.Alpha != r.Alpha {
			t.Errorf("answers within %v of %v rows·W, α = %v, asked %v", good, p.mass(), p.Alpha, r.Alpha)
		}
		if p.Threshold < 3*(x+e) || p.Floor != x+e || p.Replay != 3*(x+e) {
			t.Errorf("T = %d, floor %d, replay at %d with x + e = %d", p.Threshold, p.Floor, p.Replay, x+e)
		}
		if p.Updates > 1 {
			less := must(r.normal())(t)
			q := must(less.withRuns(p.Updates - 1))(t)
			q, _ = less.guarantee(q, r.Alpha)
			if runsNeeded(t, r, q) <= q.Updates {
				t.Errorf("α = %v: %d runs would do as well", r.Alpha, q.Updates)
			}
		}
	}
}

// TestAlphaIsRoundedUp: the smallest alpha that is named, times N̂·W, is no less than T + x + e.
func TestAlphaIsRoundedUp(t *testing.T) {
	for n := int64(1e6); n < 1e6+300; n++ {
		r := alphaRequest(0)
		r.NHat, r.MaxWeight = n, n%7+1
		p, _ := r.guarantee(Params{NHat: n, MaxWeight: r.MaxWeight, Bound: n % 1000, MaxSupport: 1}, 0)
		room := new(big.Rat).SetFloat64(p.Alpha)
		if room.Mul(room, big.NewRat(n*r.MaxWeight, 1)); room.Cmp(big.NewRat(p.Threshold+p.Floor, 1)) < 0 {
			t.Errorf("N̂ = %d, W = %d: α = %v is too small for %d counts", n, r.MaxWeight, p.Alpha, p.Threshold+p.Floor)
		}
	}
}

// TestPlanFollowsAlpha asks for ever more room, and gets it: a larger T and η,
// fewer variables, and fewer runs, each with more of the budget. The least alpha takes
// the longest to plan, and is for -long.
func TestPlanFollowsAlpha(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Request){
		"paper": func(r *Request) { r.Update, r.Sensitivity, r.MaxWeight = Paper, 3, 7 },
		"prior": func(r *Request) { r.UniverseSize, r.Prior, r.Queries, r.Class = big.NewInt(1e9), true, 0, 5000 },
	} {
		var last Params
		for _, alpha := range []float64{0.06, 0.3, 0.9} {
			if alpha == 0.06 && !*long {
				continue
			}
			r := alphaRequest(alpha)
			r.NHat = 3e7
			change(&r)
			p := must(Plan(r))(t)
			t.Logf("%s, α = %v: B = %d, s = %d, T = %d, x = %d, η = %.3g, k = %d", name, alpha, p.Updates, p.S, p.Threshold, p.Bound, p.Eta, p.Queries)
			if last.Updates > 0 && (p.Threshold <= last.Threshold || p.Eta <= last.Eta || p.Updates >= last.Updates ||
				p.Bound >= last.Bound || p.Eps2.Cmp(last.Eps2) <= 0 || !r.Prior && p.S >= last.S || p.Alpha <= last.Alpha) {
				t.Errorf("%s: α = %v gives %+v, after %+v", name, alpha, p, last)
			}
			if r.Class > 0 && p.Queries != (p.Updates+1)*r.Class {
				t.Errorf("%s: k = %d for %d runs over %d queries", name, p.Queries, p.Updates, r.Class)
			}
			last = p
		}
	}
}

// TestEtaOfRuns holds η = α/2 to Theorem 3.5, B = 4(ln s + 1)/α², where the threshold is below α.
func TestEtaOfRuns(t *testing.T) {
	r := request()
	r.NHat = 1e9
	for _, r.MaxUpdates = range []int64{400, 4000} {
		p, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		alpha := 2 * p.Eta
		if runs := 4 * (math.Log(float64(p.S)) + 1) / (alpha * alpha); math.Abs(runs-float64(p.Updates)) > 1e-6*runs {
			t.Errorf("η = %v goes with %v runs, not %d; T = %d of %v", p.Eta, runs, p.Updates, p.Threshold, p.mass())
		}
	}
}

func priorRequest() Request {
	r := alphaRequest(0.3)
	r.UniverseSize, r.Prior = big.NewInt(1e9), true
	return r
}

func runsNeeded(t *testing.T, r Request, p Params) int64 {
	t.Helper()
	e := float64((r.NHatBound + 1) * r.MaxWeight)
	x := float64(p.SimultaneousBound(r.Beta / 2))
	gamma := (float64(p.Threshold) - x - e) / (p.mass() + e)
	psi := math.Log(float64(p.S))
	if r.Prior {
		psi += math.Log(1000)
	}
	if s := float64(p.S); !r.Prior && s/(math.Log(s)+1) < 4*float64(p.MaxSupport)/(gamma*gamma) &&
		(r.UniverseSize == nil || r.UniverseSize.Uint64() != p.S) {
		t.Errorf("s = %v is too small for γ = %v", s, gamma)
	}
	return int64(math.Ceil(4 * (psi + 1) / (gamma * gamma)))
}

func TestPlanRefusesAnAlphaAndNamesOne(t *testing.T) {
	t.Parallel()
	r := alphaRequest(0.001)
	_, err := Plan(r)
	if sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Fatalf("error %v", err)
	}
	hint := err.(*sqlerr.Error).Hint
	var least float64
	for _, word := range strings.Fields(hint) {
		if json.Unmarshal([]byte(strings.TrimSuffix(word, ";")), &least) == nil && least > 0 {
			break
		}
	}
	t.Logf("hint: %s", hint)
	r.Alpha = least
	p := must(Plan(r))(t)
	if p.Alpha > least || p.Alpha < 0.98*least {
		t.Errorf("the hint says %v, which guarantees %v", least, p.Alpha)
	}
	r.NHat = 1000
	if _, err := Plan(r); err == nil || !strings.Contains(err.(*sqlerr.Error).Hint, "no alpha") {
		t.Errorf("on 1000 rows: %v", err)
	}
	r.NHat = 1e10 // so accurate that the runs cannot be counted out
	if p, err := Plan(r); err == nil && p.Alpha > least {
		t.Errorf("on 1e10 rows: %+v", p)
	}
}

func TestPlanRefuses(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"both":          func(r *Request) { r.Alpha = 0.1 },
		"negative":      func(r *Request) { r.MaxUpdates = -1 },
		"NaN":           func(r *Request) { r.MaxUpdates, r.Alpha = 0, math.NaN() },
		"alpha above 1": func(r *Request) { r.MaxUpdates, r.Alpha = 0, 1.5 },
		"support":       func(r *Request) { r.MaxSupport = 0 },
		"queries":       func(r *Request) { r.Queries = 0 },
		"beta 0":        func(r *Request) { r.Beta = 0 },
		"beta 1":        func(r *Request) { r.Beta = 1 },
		"update":        func(r *Request) { r.Update = "newest" },
		"rows":          func(r *Request) { r.NHat = 0 },
		"weights":       func(r *Request) { r.MaxWeight = 1 << 50 },
		"prior":         func(r *Request) { r.Prior = true },
		"no budget":     func(r *Request) { r.RunEpsilon = func(int64) *big.Rat { return new(big.Rat) } },
		"no epsilon":    func(r *Request) { r.RunEpsilon = nil },
		"empty":         func(r *Request) { r.UniverseSize = new(big.Int) },
	} {
		r := request()
		change(&r)
		if _, err := Plan(r); err == nil {
			t.Errorf("%s: accepted", name)
		} else if _, ok := err.(*sqlerr.Error); !ok {
			t.Errorf("%s: %T", name, err)
		}
	}
}

// analyst asks the query on which the hypothesis is most wrong, as if it knew the
// rows. Most of the rows are alike.
type analyst struct {
	space
	rows map[int]int64 // by place in the pool
	n    int64
}

func newAnalyst(t *testing.T, r *rand.Rand, maxWeight int64) analyst {
	a := analyst{space: codedSpace(t, r, maxWeight), rows: map[int]int64{}}
	for x, share := range skewed(r, len(a.pool)) {
		a.rows[x] = int64(share * 30_000)
	}
	a.rows[r.IntN(len(a.pool))] += 50_000
	a.rows[len(a.pool)-1] += 120_000 // of the largest weight
	for _, n := range a.rows {
		a.n += n
	}
	return a
}

func (a analyst) count(q query.Query) (c int64) {
	for x, tuple := range a.pool {
		c += q.Weight(tuple) * a.rows[x]
	}
	return c
}

func (a analyst) worst(h *Hypothesis) (q query.Query, c int64) {
	off := int64(-1)
	for range 20 {
		p := a.any()
		n := a.count(p)
		if d := abs(n - h.Count(p)); d > off {
			q, c, off = p, n, d
		}
	}
	return q, c
}

// TestAlphaKeepsItsPromise lets such an analyst ask mechanisms that were planned
// for an alpha, with an N̂ as far off as it may be: no answer is further off than
// alpha of the rows, and the runs suffice. Two of the eight settings are asked, in
// which each choice occurs, or all with -long. False-failure rate:
// β = 1e-7 each, 8e-7.
func TestAlphaKeepsItsPromise(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	settings := []int{3, 4}
	if *long {
		settings = []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
	for _, i := range settings {
		const e, beta = 2000, 1e-7
		weight, rule := []int64{1, 3}[i&1], []Update{Projection, Paper}[i>>1&1]
		a := newAnalyst(t, r, weight)
		nHat := a.n + []int64{-e, e}[i>>2]
		p := must(Plan(Request{
			Alpha: 0.25, MaxSupport: uint64(len(a.pool)), Queries: 200, Beta: beta, NHat: nHat, NHatBound: e,
			UniverseSize: big.NewInt(int64(len(a.pool))), Sensitivity: 1 + int64(i&1), MaxWeight: weight, Update: rule,
			Remeasure: i == 3 || i == 4, RunEpsilon: shareOf(2),
		}))(t)
		h, src := NewHypothesis(p, a.u, nil), newSource(r)
		var run *Run
		runs, worst := int64(0), int64(0)
		for range p.Queries {
			if run == nil {
				next := must(StartRun(p, src))(t)
				run = &next
				runs++
			}
			q, c := a.worst(h)
			answer := h.Count(q)
			out := must(run.Test(c, answer, src))(t)
			if out.Fired {
				answer, run = out.Noisy, nil
				if err := h.Update(q, out.Noisy); err != nil {
					t.Fatal(err)
				}
			}
			worst = max(worst, abs(answer-c))
		}
		whole := float64(a.n * weight)
		t.Logf("%s, W = %d, N̂ − n = %d: %d updates of %d, T = %d, x = %d; off by %.3f at most", rule, weight, nHat-a.n,
			h.Updates(), p.Updates, p.Threshold, p.Bound, float64(worst)/whole)
		if runs > p.Updates || float64(worst) > p.Alpha*whole || h.Updates() == 0 {
			t.Errorf("%d runs of %d, off by %.3f, %d updates", runs, p.Updates, float64(worst)/whole, h.Updates())
		}
	}
}

// Parameters that Plan made pass, and with any one of them out of range they do
// not.
func TestCheck(t *testing.T) {
	for _, r := range []Request{
		{MaxUpdates: 20, MaxSupport: 100, Queries: 1000, Beta: 0.05, NHat: 5000, Sensitivity: 2, MaxWeight: 1},
		{MaxUpdates: 1, MaxSupport: 1, Queries: 1, Beta: 0.5, NHat: 1, Sensitivity: 1, MaxWeight: 7, Update: Paper},
		{Alpha: 0.9, MaxSupport: 100, Queries: 1e15, Beta: 1e-12, NHat: 1e6, NHatBound: 20, Sensitivity: 1, MaxWeight: 1},
	} {
		r.RunEpsilon = func(int64) *big.Rat { return big.NewRat(7, 2) }
		if r.Update == "" {
			r.Update = Projection
		}
		good, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
		for i, spoil := range []func(*Params){
			func(p *Params) { p.S = 0 }, func(p *Params) { p.S = math.MaxUint64 }, func(p *Params) { p.MaxSupport = 0 },
			func(p *Params) { p.Updates = -1 }, func(p *Params) { p.Updates = math.MaxInt64 }, func(p *Params) { p.Queries = 0 },
			func(p *Params) { p.MaxWeight = 0 }, func(p *Params) { p.MaxWeight = math.MinInt64 }, func(p *Params) { p.NHat = 0 },
			func(p *Params) { p.NHat = math.MaxInt64 }, func(p *Params) { p.Sensitivity = 0 }, func(p *Params) { p.Sensitivity = limit + 1 },
			func(p *Params) { p.Threshold = 0 }, func(p *Params) { p.Bound = -1 }, func(p *Params) { p.Floor = 0 }, func(p *Params) { p.Replay = -1 },
			func(p *Params) { p.Beta = 1 }, func(p *Params) { p.Beta = math.NaN() }, func(p *Params) { p.Eta = math.NaN() }, func(p *Params) { p.Eta = 2 },
			func(p *Params) { p.Alpha = -1 }, func(p *Params) { p.Alpha = math.Inf(1) }, func(p *Params) { p.Update = "other" },
			func(p *Params) { p.Eps1 = nil }, func(p *Params) { p.Eps1 = new(big.Rat) }, func(p *Params) { p.Eps2 = big.NewRat(-1, 2) },
			func(p *Params) { p.Eps2 = big.NewRat(1, math.MaxInt64) }, func(p *Params) { p.Eps1 = new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 4096)) },
		} {
			bad := good
			spoil(&bad)
			if err := bad.Check(); sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Errorf("spoiled %d: %v", i, err)
			}
		}
	}
}
