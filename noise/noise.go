// Package noise draws the integer noise that makes answers private: exact
// samplers for the discrete Laplace and the discrete Gaussian law of package law, and
// a table sampler for bulk use. Whoever imports it can draw; whoever does not cannot.
//
// What it promises: every draw follows the stated law exactly, given uniform
// random bits. Parameters are rationals, and no floating point number takes
// part in a draw. A failure to read random bits ends the draw with an error;
// weaker bits or no noise never replace it. Exactness matters because floating
// point samplers leak through the low bits of their results (Mironov, "On
// significance of the least significant bits for differential privacy", 2012).
//
// What it does not promise: constant running time. How long a draw takes
// depends on its value.
//
// The samplers are those of Canonne, Kamath and Steinke, "The Discrete
// Gaussian for Differential Privacy" (2020), called CKS20 below.
package noise

import (
	"math"
	"math/big"
	"math/bits"

	"dpsql/noise/law"
	"dpsql/sqlerr"
)

// Sampler draws from one law, exactly. It is immutable and safe for concurrent use,
// as long as each Source is used by one goroutine.
type Sampler struct {
	law   law.Law
	exact interface {
		draw(s *Source) (int64, error)
	}
}

// Of returns the sampler of a law.
func Of(l law.Law) Sampler {
	switch l := l.(type) {
	case *law.Laplace:
		return Sampler{l, newExactLaplace(l.Scale())}
	case *law.Gaussian:
		return Sampler{l, newExactGaussian(l.Sigma2())}
	}
	return Sampler{law: l}
}

// Draw returns one exact draw of a law. It fails when the source fails. It also fails
// when the drawn value lies outside int64, which has probability below exp(-9000) for
// any law of package law, and for a law of another package.
func Draw(l law.Law, s *Source) (int64, error) { return Of(l).Draw(s) }

// Draw is Draw of the sampler's law. It saves the preparation.
func (p Sampler) Draw(s *Source) (int64, error) {
	switch {
	case s.drawer != nil:
		return s.drawer.Drawn(p.law), nil
	case p.exact == nil:
		return 0, sqlerr.New(sqlerr.Internal, "no noise of a law of another package")
	}
	return p.exact.draw(s)
}

// exactGaussian draws from the discrete Gaussian law P(k) ∝ exp(-k²/(2 sigma²)), with
// sigma² = n/d in lowest terms and t = floor(sigma) + 1.
type exactGaussian struct {
	proposal *exactLaplace // discrete Laplace of scale t
	step, n  *big.Int      // step = d t
	denom    *big.Int      // 2 n d t²
	fast     *fastGaussian
}

// fastGaussian holds the parameters of an exactGaussian that fit uint64.
type fastGaussian struct{ step, n, denom uint64 }

func newExactGaussian(sigma2 *big.Rat) *exactGaussian {
	n, d := sigma2.Num(), sigma2.Denom()
	t := new(big.Int).Quo(n, d)
	t.Add(t.Sqrt(t), big.NewInt(1))
	g := &exactGaussian{proposal: newExactLaplace(new(big.Rat).SetInt(t)), n: n, step: new(big.Int).Mul(d, t)}
	g.denom = new(big.Int).Mul(n, t)
	g.denom.Lsh(g.denom.Mul(g.denom, g.step), 1)
	if g.denom.IsUint64() {
		g.fast = &fastGaussian{g.step.Uint64(), n.Uint64(), g.denom.Uint64()}
	}
	return g
}

// draw is CKS20, Algorithm 3: a discrete Laplace proposal y of scale t, kept
// with probability exp(-(|y| - sigma²/t)² / (2 sigma²)). Over the common
// denominator that exponent is (|y| d t - n)² / (2 n d t²).
func (g *exactGaussian) draw(s *Source) (int64, error) {
	for {
		y, err := g.proposal.draw(s)
		if err != nil {
			return 0, err
		}
		keep, err := g.keep(s, y)
		if err != nil {
			return 0, err
		}
		if keep {
			return y, nil
		}
	}
}

func (g *exactGaussian) keep(s *Source, y int64) (bool, error) {
	magnitude := uint64(max(y, -y))
	if g.fast != nil {
		if square, ok := g.fast.square(magnitude); ok {
			return s.bernoulliExp(square, g.fast.denom)
		}
	}
	square := new(big.Int).SetUint64(magnitude)
	square.Sub(square.Mul(square, g.step), g.n)
	return s.bernoulliExpBig(square.Mul(square, square), g.denom)
}

// square returns (|y| d t - n)², and false when it does not fit.
func (f *fastGaussian) square(magnitude uint64) (uint64, bool) {
	hi, x := bits.Mul64(magnitude, f.step)
	if hi != 0 {
		return 0, false
	}
	if x >= f.n {
		x -= f.n
	} else {
		x = f.n - x
	}
	hi, x = bits.Mul64(x, x)
	return x, hi == 0
}

// exactLaplace draws from the discrete Laplace law P(k) = (1-a)/(1+a) a^|k| with
// a = exp(-1/scale), scale = num/den in lowest terms.
type exactLaplace struct {
	scale    *big.Rat
	num, den uint64 // the scale, when fits
	fits     bool   // both parts of the scale fit uint64
}

func newExactLaplace(scale *big.Rat) *exactLaplace {
	l := &exactLaplace{scale: scale}
	if l.fits = scale.Num().IsUint64() && scale.Denom().IsUint64(); l.fits {
		l.num, l.den = scale.Num().Uint64(), scale.Denom().Uint64()
	}
	return l
}

// draw is CKS20, Algorithm 2, with t and s the numerator and denominator of the
// scale. It draws a geometric magnitude and a sign, and draws again on "minus
// zero".
func (l *exactLaplace) draw(s *Source) (int64, error) {
	for {
		magnitude, err := l.magnitude(s)
		if err != nil {
			return 0, err
		}
		negative, err := s.bit()
		switch {
		case err != nil:
			return 0, err
		case negative == 0:
			return magnitude, nil
		case magnitude != 0:
			return -magnitude, nil
		}
	}
}

// magnitude draws k >= 0 with probability proportional to exp(-k/scale).
func (l *exactLaplace) magnitude(s *Source) (int64, error) {
	if !l.fits {
		return l.magnitudeBig(s)
	}
	for {
		u, err := s.Below(l.num)
		if err != nil {
			return 0, err
		}
		ok, err := s.bernoulliExpFraction(u, l.num)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		v, err := s.geometric()
		if err != nil {
			return 0, err
		}
		return quotient(u, l.num, v, l.den)
	}
}

// quotient returns floor((u + t v) / d), d > 0, and an error if that lies
// outside int64.
func quotient(u, t, v, d uint64) (int64, error) {
	hi, lo := bits.Mul64(t, v)
	lo, carry := bits.Add64(lo, u, 0)
	hi += carry
	if hi >= d {
		return 0, errTooLarge()
	}
	q, _ := bits.Div64(hi, lo, d)
	if q > math.MaxInt64 {
		return 0, errTooLarge()
	}
	return int64(q), nil
}

// magnitudeBig is magnitude for scales whose parts do not fit uint64.
func (l *exactLaplace) magnitudeBig(s *Source) (int64, error) {
	t, d := l.scale.Num(), l.scale.Denom()
	for {
		u, err := s.belowBig(t)
		if err != nil {
			return 0, err
		}
		ok, err := s.bernoulliExpBig(u, t)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		v, err := s.geometric()
		if err != nil {
			return 0, err
		}
		x := new(big.Int).SetUint64(v)
		x.Add(x.Mul(x, t), u)
		if !x.Quo(x, d).IsInt64() {
			return 0, errTooLarge()
		}
		return x.Int64(), nil
	}
}

// geometric draws v >= 0 with probability (1 - 1/e) e^-v.
func (s *Source) geometric() (uint64, error) {
	for v := uint64(0); ; v++ {
		ok, err := s.bernoulliExpOne()
		if err != nil {
			return 0, err
		}
		if !ok {
			return v, nil
		}
	}
}

func errTooLarge() error {
	return sqlerr.New(sqlerr.Internal, "a noise draw does not fit 64 bits")
}
