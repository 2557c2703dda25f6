package noise

import (
	"iter"
	"math"
	"math/big"
	"math/bits"

	"dpsql/sqlerr"
)

// laplace is the discrete Laplace law P(k) = (1-a)/(1+a) a^|k| with
// a = exp(-1/scale), scale = num/den in lowest terms.
type laplace struct {
	scale    *big.Rat
	num, den uint64  // the scale, when fits
	fits     bool    // both parts of the scale fit uint64
	approx   float64 // the scale, for tails
}

// NewLaplace returns the discrete Laplace law with P(k) proportional to
// exp(-|k|/scale). With scale = sensitivity/epsilon, adding a draw to a count
// is epsilon-differentially private. The scale must be above 0 and at most
// 1e15.
func NewLaplace(scale *big.Rat) (Law, error) {
	if err := checkSpread("the scale of discrete Laplace noise", scale, big.NewInt(maxSpread)); err != nil {
		return nil, err
	}
	return newLaplace(scale), nil
}

func newLaplace(scale *big.Rat) *laplace {
	l := &laplace{scale: new(big.Rat).Set(scale)}
	if l.fits = scale.Num().IsUint64() && scale.Denom().IsUint64(); l.fits {
		l.num, l.den = scale.Num().Uint64(), scale.Denom().Uint64()
	}
	l.approx, _ = scale.Float64()
	return l
}

func (l *laplace) String() string { return "dlap(" + l.scale.RatString() + ")" }

func (l *laplace) Variance() float64 {
	a, rest := math.Exp(-1/l.approx), -math.Expm1(-1/l.approx)
	return 2 * a / (rest * rest)
}

// Draw is CKS20, Algorithm 2, with t and s the numerator and denominator of the
// scale: a geometric magnitude and a sign, "minus zero" being drawn again.
func (l *laplace) Draw(s *Source) (int64, error) {
	if s.drawer != nil {
		return s.drawer.Drawn(l), nil
	}
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
func (l *laplace) magnitude(s *Source) (int64, error) {
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

// quotient returns floor((u + t v) / d), d > 0, or an error outside int64.
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
func (l *laplace) magnitudeBig(s *Source) (int64, error) {
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

// Tail is the closed form a^k/(1+a) for k >= 1.
func (l *laplace) Tail(k int64) float64 {
	if k <= 0 {
		return reflectTail(l, k)
	}
	x := float64(k) / l.approx
	return roundUp(math.Exp(-x)/(1+math.Exp(-1/l.approx)), 5e-16*(8+x))
}

// within encloses P(|X| <= k) = 1 - 2 a^(k+1)/(1+a).
func (l *laplace) within(k int64, bits uint) interval {
	one := intervalInt(1, bits+guardBits)
	steps := new(big.Rat).SetInt(new(big.Int).Add(big.NewInt(k), big.NewInt(1)))
	power := expNeg(steps.Quo(steps, l.scale), one.bits)
	return one.sub(power.double().div(one.add(l.ratio(one.bits)))).round(bits)
}

// cumulative encloses P(|X| <= k) for k = 0, 1, ...
func (l *laplace) cumulative(bits uint) iter.Seq2[int, interval] {
	return func(yield func(int, interval) bool) {
		one := intervalInt(1, bits+guardBits)
		a := l.ratio(one.bits)
		rest := a.double().div(one.add(a))
		for k := 0; yield(k, one.sub(rest)); k++ {
			rest = rest.mul(a)
		}
	}
}

func (l *laplace) ratio(bits uint) interval { return expNeg(new(big.Rat).Inv(l.scale), bits) }
