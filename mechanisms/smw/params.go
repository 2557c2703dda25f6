package smw

import (
	"math/big"

	"dpsql/noise"
	"dpsql/sqlerr"
)

// Params are the public parameters of one mechanism. They encode to JSON and
// back exactly: rationals as text, floats by their shortest decimals.
type Params struct {
	S          uint64 `json:"s"`           // number of variables of the hypothesis
	Updates    int64  `json:"updates"`     // B, the number of runs
	MaxSupport uint64 `json:"max_support"` // m
	MaxWeight  int64  `json:"max_weight"`  // W
	Queries    int64  `json:"queries"`     // k
	NHat       int64  `json:"n_hat"`       // N̂, rows
	// Sensitivity is L, the rows one unit can change.
	Sensitivity int64   `json:"sensitivity"`
	Beta        float64 `json:"beta"`

	// Eps1 and Eps2 are the shares of one run's ε spent on τ and on the
	// comparisons; the sum of all shares is at most Request.RunEpsilon(Updates).
	Eps1 *big.Rat `json:"eps1"`
	Eps2 *big.Rat `json:"eps2"`
	// Eps3, where it is not nil, is the share that counts a query anew when it
	// fires; it is within that sum.
	Eps3 *big.Rat `json:"eps3,omitempty"`

	Threshold int64 `json:"threshold"` // T, counts
	Bound     int64 `json:"bound"`     // counts: SimultaneousBound of Beta, or of Beta/2 with Alpha

	// Alpha is the accuracy guaranteed for all k answers with probability at
	// least 1 − β, as a fraction of the rows. It is 0 where B was given:
	// then answers are good within T + x_β for as long as runs last, and that
	// they last is not promised.
	Alpha float64 `json:"alpha"`

	Update Update  `json:"update"`
	Eta    float64 `json:"eta"`    // η of the paper's step
	Floor  int64   `json:"floor"`  // noisy counts are clipped to [Floor, N̂·W − Floor] before a projection
	Replay int64   `json:"replay"` // an earlier pair is projected again when off by more counts than this
}

// mass returns N̂·W, the count that the whole hypothesis stands for.
func (p Params) mass() float64 { return float64(p.NHat) * float64(p.MaxWeight) }

// change returns L·W, the most that one unit changes a count by.
func (p Params) change() *big.Rat {
	l := new(big.Int).Mul(big.NewInt(p.Sensitivity), big.NewInt(p.MaxWeight))
	return new(big.Rat).SetInt(l)
}

// laws returns the laws of τ, discrete Laplace of scale L·W/ε₁, and of ν, of
// scale 2·L·W/ε₂.
func (p Params) laws() (tau, nu noise.Law, err error) {
	if p.Eps1 == nil || p.Eps2 == nil || p.Eps1.Sign() <= 0 || p.Eps2.Sign() <= 0 {
		return nil, nil, sqlerr.New(sqlerr.Corrupt, "smw: the stored parameters lack the ε of a run")
	}
	tau, err = noise.NewLaplace(new(big.Rat).Quo(p.change(), p.Eps1))
	if err != nil {
		return nil, nil, err
	}
	twice := new(big.Rat).Add(p.change(), p.change())
	nu, err = noise.NewLaplace(twice.Quo(twice, p.Eps2))
	return tau, nu, err
}

// FiredLaw returns the law of the noise in an answer that fired, where that is
// counted anew (Request.Remeasure): discrete Laplace of scale L·W/ε₃. It is nil
// where the answer is what the comparison said, of which no law holds given
// that it fired.
func (p Params) FiredLaw() (noise.Law, error) {
	if p.Eps3 == nil {
		return nil, nil
	}
	if p.Eps3.Sign() <= 0 {
		return nil, sqlerr.New(sqlerr.Corrupt, "smw: the stored parameters lack the ε of a run")
	}
	return noise.NewLaplace(new(big.Rat).Quo(p.change(), p.Eps3))
}

// share is 1/(1 + 2^(2/3)): of ε₁ : ε₂ = 1 : 2^(2/3), which makes the variance
// of ν − τ smallest (Lyu, Su and Li 2017).
var share = [2]int64{386488, 1000000}

// split sets Eps1 and Eps2 for runs of the given ε. The scales of the noise are
// rounded up to rationals of about 20 bits, which samplers handle in machine
// words, and the shares follow from the scales: their sum is at most eps, and
// within 2⁻¹⁹ of it.
func (p *Params) split(eps *big.Rat, remeasure bool) error {
	if eps == nil || eps.Sign() <= 0 {
		return errNoBudget()
	}
	if remeasure { // a third of it counts anew
		third := new(big.Rat).Quo(eps, big.NewRat(3, 1))
		p.Eps3 = new(big.Rat).Quo(p.change(), short(new(big.Rat).Quo(p.change(), third)))
		eps = new(big.Rat).Sub(eps, p.Eps3)
	}
	part := new(big.Rat).Mul(eps, big.NewRat(share[0], share[1]))
	tau := short(new(big.Rat).Quo(p.change(), part))
	p.Eps1 = new(big.Rat).Quo(p.change(), tau)

	rest := new(big.Rat).Sub(eps, p.Eps1)
	twice := new(big.Rat).Add(p.change(), p.change())
	nu := short(new(big.Rat).Quo(twice, rest))
	p.Eps2 = new(big.Rat).Quo(twice, nu)
	if nu.Cmp(new(big.Rat).SetInt64(limit>>16)) > 0 {
		return errNoBudget()
	}
	return nil
}

func errNoBudget() error {
	return sqlerr.New(sqlerr.Budget, "the mechanism's epsilon, divided into this many runs, leaves no usable noise").
		WithHint("ask for fewer updates or a larger epsilon")
}

// short returns the smallest multiple of 2^−j that is at least r, where j ≥ 0
// is the smallest with r·2^j ≥ 2^20.
func short(r *big.Rat) *big.Rat {
	num, den := new(big.Int).Set(r.Num()), r.Denom()
	one := big.NewInt(1)
	least := new(big.Int).Lsh(den, 20)
	j := uint(0)
	for num.Cmp(least) < 0 && j < 1<<10 {
		num.Lsh(num, 1)
		j++
	}
	num.Add(num, new(big.Int).Sub(den, one)).Quo(num, den)
	return new(big.Rat).SetFrac(num, new(big.Int).Lsh(one, j))
}
