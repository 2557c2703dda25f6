package noise

import (
	"math/big"
	"math/bits"
)

// bernoulliExp is true with probability exp(-n/d), d > 0 (CKS20, Algorithm 1).
func (s *Source) bernoulliExp(n, d uint64) (bool, error) {
	for whole := n / d; whole > 0; whole-- {
		if ok, err := s.bernoulliExpOne(); err != nil || !ok {
			return false, err
		}
	}
	return s.bernoulliExpFraction(n%d, d)
}

// bernoulliExpFraction is true with probability exp(-n/d), n <= d: the first k
// at which Bernoulli(n/(dk)) fails is odd with that probability.
func (s *Source) bernoulliExpFraction(n, d uint64) (bool, error) {
	if n == 0 {
		return true, nil
	}
	for k := uint64(1); ; k++ {
		ok, err := s.bernoulli(n, d, k)
		if err != nil {
			return false, err
		}
		if !ok {
			return k&1 == 1, nil
		}
	}
}

// bernoulli is true with probability n/(dk), n <= d. Where dk does not fit it
// draws for 1/k and n/d apart.
func (s *Source) bernoulli(n, d, k uint64) (bool, error) {
	hi, product := bits.Mul64(d, k)
	if hi == 0 {
		u, err := s.Below(product)
		return u < n, err
	}
	if u, err := s.Below(k); err != nil || u != 0 {
		return false, err
	}
	u, err := s.Below(d)
	return u < n, err
}

// bernoulliExpOne is true with probability exp(-1): bernoulliExpFraction for
// n = d, with the step k = 1, which never fails, left out and one bit for k = 2.
func (s *Source) bernoulliExpOne() (bool, error) {
	if b, err := s.bit(); err != nil || b != 0 {
		return false, err
	}
	for k := uint64(3); ; k++ {
		u, err := s.Below(k)
		if err != nil {
			return false, err
		}
		if u != 0 {
			return k&1 == 1, nil
		}
	}
}

// bernoulliExpBig is bernoulliExp for numbers of any size.
func (s *Source) bernoulliExpBig(n, d *big.Int) (bool, error) {
	whole, rest := new(big.Int).QuoRem(n, d, new(big.Int))
	for one := big.NewInt(1); whole.Sign() > 0; whole.Sub(whole, one) {
		if ok, err := s.bernoulliExpOne(); err != nil || !ok {
			return false, err
		}
	}
	if rest.Sign() == 0 {
		return true, nil
	}
	for k := uint64(1); ; k++ {
		ok, err := s.bernoulliBig(rest, d, k)
		if err != nil {
			return false, err
		}
		if !ok {
			return k&1 == 1, nil
		}
	}
}

// bernoulliBig is true with probability n/(dk), n <= d.
func (s *Source) bernoulliBig(n, d *big.Int, k uint64) (bool, error) {
	if u, err := s.Below(k); err != nil || u != 0 {
		return false, err
	}
	u, err := s.belowBig(d)
	if err != nil {
		return false, err
	}
	return u.Cmp(n) < 0, nil
}
