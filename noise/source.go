package noise

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"math/bits"

	"dpsql/noise/law"
	"dpsql/sqlerr"
)

// bufferSize is the size of one read. It spreads the cost of a call into the
// operating system or its generator over many draws.
const bufferSize = 1 << 9

// maxEmptyReads is the number of empty reads after which a reader counts as
// broken.
const maxEmptyReads = 100

// Source is a buffered stream of random bits. If its reader fails, the call
// that needs the missing bits and every later call return the first error.
// There is no other origin of bits to fall back to. A Source serves one
// goroutine at a time. The zero Source returns an error.
type Source struct {
	reader   io.Reader
	drawer   drawer // the reader, if it is one
	pos, end int    // buf[pos:end] has been read and not yet used
	pool     uint64 // bits for bit(), the next one lowest
	pooled   int    // number of bits in pool
	failed   error  // set once the reader has failed
	buf      [bufferSize]byte
}

// NewSource returns a source over the operating system's generator.
func NewSource() *Source { return NewSourceFrom(rand.Reader) }

// NewSourceFrom returns a source over r. A guarantee of privacy holds only if r
// is a cryptographic generator. Other readers are for tests.
func NewSourceFrom(r io.Reader) *Source {
	d, _ := r.(drawer)
	return &Source{reader: r, drawer: d}
}

// drawer is a reader that decides whole draws, instead of the bits they are
// made of. Only tests have one.
type drawer interface{ Drawn(law.Law) int64 }

// Uint64 returns 64 uniform bits.
func (s *Source) Uint64() (uint64, error) {
	if s.end-s.pos < 8 {
		if err := s.fill(8); err != nil {
			return 0, err
		}
	}
	u := binary.LittleEndian.Uint64(s.buf[s.pos:])
	s.pos += 8
	return u, nil
}

// Bytes fills p with uniform bytes. On error p is cleared.
func (s *Source) Bytes(p []byte) error {
	for rest := p; len(rest) > 0; {
		if s.pos == s.end {
			if err := s.fill(1); err != nil {
				clear(p)
				return err
			}
		}
		n := copy(rest, s.buf[s.pos:s.end])
		s.pos += n
		rest = rest[n:]
	}
	return nil
}

// Below returns a uniform integer in [0, n). It refuses n = 0.
//
// The method is Lemire's multiplication with rejection ("Fast random integer
// generation in an interval", 2019), which is exactly uniform.
func (s *Source) Below(n uint64) (uint64, error) {
	if n <= 1 {
		if n == 0 {
			return 0, sqlerr.New(sqlerr.Internal, "no integer lies in [0, 0)")
		}
		return 0, nil
	}
	u, err := s.Uint64()
	if err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(u, n)
	if lo >= n {
		return hi, nil
	}
	for reject := -n % n; lo < reject; {
		if u, err = s.Uint64(); err != nil {
			return 0, err
		}
		hi, lo = bits.Mul64(u, n)
	}
	return hi, nil
}

// belowBig returns a uniform integer in [0, n), n > 0, by rejection.
func (s *Source) belowBig(n *big.Int) (*big.Int, error) {
	size := n.BitLen()
	raw := make([]byte, (size+7)/8)
	for v := new(big.Int); ; {
		if err := s.Bytes(raw); err != nil {
			return nil, err
		}
		raw[0] >>= uint(8*len(raw) - size)
		if v.SetBytes(raw).Cmp(n) < 0 {
			return v, nil
		}
	}
}

// bit returns one uniform bit.
func (s *Source) bit() (uint64, error) {
	if s.pooled == 0 {
		u, err := s.Uint64()
		if err != nil {
			return 0, err
		}
		s.pool, s.pooled = u, 64
	}
	b := s.pool & 1
	s.pool >>= 1
	s.pooled--
	return b, nil
}

// words returns between 1 and n unused 8-byte words, as bytes that stay valid
// until the next call of a method of s.
func (s *Source) words(n int) ([]byte, error) {
	if s.end-s.pos < 8 {
		if err := s.fill(8); err != nil {
			return nil, err
		}
	}
	n = min(n, (s.end-s.pos)/8)
	block := s.buf[s.pos : s.pos+8*n]
	s.pos += 8 * n
	return block, nil
}

// giveBack puts back the last n bytes that words returned.
func (s *Source) giveBack(n int) { s.pos -= n }

// fill makes at least need unused bytes available, or fails for good. As
// io.Reader asks, it first uses bytes that arrive together with an error.
func (s *Source) fill(need int) error {
	s.end = copy(s.buf[:], s.buf[s.pos:s.end])
	s.pos = 0
	for empty := 0; s.end < need; {
		if s.reader == nil {
			s.fail(errors.New("no reader"))
		}
		if s.failed != nil {
			s.pos, s.end, s.pooled = 0, 0, 0
			return s.failed
		}
		n, err := s.reader.Read(s.buf[s.end:])
		if n < 0 || n > len(s.buf)-s.end {
			n, err = 0, errors.New("invalid count from Read")
		}
		s.end += n
		if empty++; n > 0 {
			empty = 0
		}
		if err == nil && empty == maxEmptyReads {
			err = io.ErrNoProgress
		}
		s.fail(err)
	}
	return nil
}

// fail records the first error of the reader.
func (s *Source) fail(err error) {
	if err != nil && s.failed == nil {
		s.failed = sqlerr.New(sqlerr.IO, "random bits could not be read: %v", err)
	}
}

// bernoulliExp returns true with probability exp(-n/d), d > 0 (CKS20, Algorithm
// 1).
func (s *Source) bernoulliExp(n, d uint64) (bool, error) {
	for whole := n / d; whole > 0; whole-- {
		if ok, err := s.bernoulliExpOne(); err != nil || !ok {
			return false, err
		}
	}
	return s.bernoulliExpFraction(n%d, d)
}

// bernoulliExpFraction returns true with probability exp(-n/d), n <= d. The
// first k at which Bernoulli(n/(dk)) fails is odd with that probability.
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

// bernoulli returns true with probability n/(dk), n <= d. If dk does not fit
// uint64, it draws for 1/k and n/d separately.
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

// bernoulliExpOne returns true with probability exp(-1). It is
// bernoulliExpFraction for n = d without the step k = 1, which never fails, and
// with one bit for k = 2.
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

// bernoulliBig returns true with probability n/(dk), n <= d.
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
