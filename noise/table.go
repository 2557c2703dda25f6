package noise

import (
	"encoding/binary"
	"math/big"
	"math/bits"

	"dpsql/noise/law"
	"dpsql/sqlerr"
)

// maxTable is the largest number of magnitudes a table may hold.
const maxTable = 1 << 16

// hopelessVariance is a variance above which a table is surely too large: a
// sigma of 8192 or a scale of 5792.
const hopelessVariance = 1 << 26

// magnitudeBits is the number of bits of a word that choose the magnitude; the
// lowest bit of the word is the sign.
const magnitudeBits = 63

// minGuide and maxGuide bound the size of the guide index. A larger guide needs
// fewer comparisons, as long as it stays in the fastest cache.
const (
	minGuide = 1 << 9
	maxGuide = 1 << 13
)

// Table draws from one law in bulk, by inversion of its distribution function
// through a table. It is immutable and safe for concurrent use with separate
// sources.
//
// Claim: the draws follow the law exactly, like those of a Sampler. Let
// F(k) = P(|X| <= k) and U uniform on [0, 1). The magnitude with
// F(k-1) <= U < F(k) has the law of |X|, and with an independent fair sign it
// has the law of X. Let u be the first 63 bits of U and c(k) = floor(2^63 F(k)),
// which the constructor takes from enclosures of F(k) narrow enough to prove
// it. Then u < c(k) proves U < F(k) and u > c(k) proves U > F(k), so u decides
// unless it equals some c(k). In that case, whose probability is at most
// len(c)/2^63, further bits of U are drawn and compared with ever narrower
// enclosures of F until they decide; this ends with probability 1. The table
// ends at the first k with c(k) = 2^63 - 1, which no u exceeds, so the tail
// beyond it is part of the undecided case: nothing is truncated and nothing is
// rounded. The argument takes the source's bits to be uniform and independent.
type Table struct {
	law   law.Enclosed
	cdf   []uint64 // c(k)
	guide []uint16 // guide[g]: the first k with c(k) >= g·2^shift
	shift uint     // u >> shift is u's place in the guide
}

// NewTable returns a table for l, which must come from this package. It refuses
// laws that need more than 2^16 magnitudes: a scale above about 1500, a sigma
// above about 7500.
func NewTable(l law.Law) (*Table, error) {
	exact, ok := l.(law.Enclosed)
	if !ok {
		return nil, sqlerr.New(sqlerr.Internal, "no noise table for a law of another package")
	}
	if exact.Variance() > hopelessVariance {
		return nil, errTableTooLarge(exact)
	}
	cdf, err := thresholds(exact)
	if err != nil {
		return nil, err
	}
	t := &Table{law: exact, cdf: cdf}
	t.index()
	return t, nil
}

func errTableTooLarge(l law.Law) error {
	return sqlerr.New(sqlerr.Unsupported, "a noise table for %s would need more than %d entries", l, maxTable).
		WithHint("draw from the law itself")
}

// thresholds returns c(0), c(1), ..., up to 2^63 - 1.
func thresholds(l law.Enclosed) ([]uint64, error) {
	for precision := uint(magnitudeBits + 1); ; precision *= 2 {
		cdf, decided := thresholdsAt(l, precision)
		switch {
		case !decided:
		case cdf[len(cdf)-1] < 1<<magnitudeBits-1:
			return nil, errTableTooLarge(l)
		default:
			return cdf, nil
		}
	}
}

// thresholdsAt is thresholds at one precision. It returns false when that
// leaves an entry undecided, and returns a list that has not ended at maxTable
// entries as it is.
func thresholdsAt(l law.Enclosed, precision uint) ([]uint64, bool) {
	var cdf []uint64
	last := big.NewInt(1<<magnitudeBits - 1)
	for k, f := range l.Cumulative(precision) {
		lo, hi, bits := f.Ends()
		lo = new(big.Int).Rsh(lo, bits-magnitudeBits)
		hi = new(big.Int).Rsh(hi, bits-magnitudeBits)
		if hi.Cmp(last) > 0 { // F(k) < 1, whatever the enclosure says
			hi = last
		}
		if lo.Cmp(hi) != 0 {
			return nil, false
		}
		cdf = append(cdf, lo.Uint64())
		if lo.Cmp(last) == 0 || k+1 == maxTable {
			break
		}
	}
	return cdf, true
}

// index builds the guide.
func (t *Table) index() {
	size := min(max(minGuide, 1<<bits.Len(uint(8*len(t.cdf)))), maxGuide)
	t.shift = magnitudeBits - uint(bits.Len(uint(size))-1)
	t.guide = make([]uint16, size)
	k := 0
	for g := range t.guide {
		for t.cdf[k] < uint64(g)<<t.shift {
			k++
		}
		t.guide[g] = uint16(k)
	}
}

// OneByOne returns a function that overwrites a slice with independent draws of the
// law's exact sampler. Only the source can cause an error; what the slice holds must then
// not be used.
func OneByOne(l law.Law) func(dst []int64, s *Source) error {
	each := Of(l)
	return func(dst []int64, s *Source) error {
		for i := range dst {
			var err error
			if dst[i], err = each.Draw(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// InBulk is OneByOne from a Table, unless the law is too wide for one. Both samplers are
// exact; a table is quicker.
func InBulk(l law.Law) func(dst []int64, s *Source) error {
	t, err := NewTable(l)
	if err != nil {
		return OneByOne(l)
	}
	return t.Fill
}

// Fill overwrites dst with independent draws. Only the source can cause an
// error; dst must then not be used.
func (t *Table) Fill(dst []int64, s *Source) error {
	if s.drawer != nil {
		for i := range dst {
			dst[i] = s.drawer.Drawn(t.law)
		}
		return nil
	}
	for len(dst) > 0 {
		block, err := s.words(len(dst))
		if err != nil {
			return err
		}
		n := t.fillBlock(dst, block)
		dst = dst[n:]
		if 8*n == len(block) {
			continue
		}
		s.giveBack(len(block) - 8*n - 8)
		word := binary.LittleEndian.Uint64(block[8*n:])
		if dst[0], err = t.refine(word, s); err != nil {
			return err
		}
		dst = dst[1:]
	}
	return nil
}

// fillBlock draws from the words of block, up to the first word whose 63 bits
// leave the draw undecided. It returns the number of draws.
func (t *Table) fillBlock(dst []int64, block []byte) int {
	cdf, guide, shift := t.cdf, t.guide, t.shift
	n := len(block) / 8
	for i := range dst[:n] {
		word := binary.LittleEndian.Uint64(block[8*i:])
		u := word >> 1
		k := int(guide[u>>shift])
		for u > cdf[k] {
			k++
		}
		if u == cdf[k] {
			return i
		}
		dst[i] = signed(int64(k), word)
	}
	return n
}

// signed returns k with the sign that the lowest bit of word stands for.
func signed(k int64, word uint64) int64 {
	negative := -int64(word & 1)
	return (k ^ negative) - negative
}

// refine finishes a draw that the bits of word leave undecided.
func (t *Table) refine(word uint64, s *Source) (int64, error) {
	u := new(big.Int).SetUint64(word >> 1)
	for n := uint(magnitudeBits); ; {
		more, err := s.Uint64()
		if err != nil {
			return 0, err
		}
		u.Or(u.Lsh(u, 64), new(big.Int).SetUint64(more))
		n += 64
		if k, ok := locate(t.law, u, n); ok {
			return signed(k, word), nil
		}
	}
}

// locate returns the k with F(k-1) <= U < F(k) for every U in [u, u+1)/2^n. It
// returns false if there is no such k, or the enclosure cannot tell.
func locate(l law.Enclosed, u *big.Int, n uint) (int64, bool) {
	for k, f := range l.Cumulative(n) {
		least, most, bits := f.Ends()
		lo := new(big.Int).Lsh(u, bits-n)
		hi := new(big.Int).Add(u, big.NewInt(1))
		switch {
		case hi.Lsh(hi, bits-n).Cmp(least) <= 0:
			return int64(k), true
		case lo.Cmp(most) < 0:
			return 0, false
		}
	}
	return 0, false
}
