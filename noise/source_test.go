package noise

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"testing"

	"dpsql/noise/law/lawtest"
	"dpsql/sqlerr"
)

var errBroken = errors.New("broken")

// failing yields the first left bytes of a stream, at most chunk at a time,
// and then one error only: a later Read would succeed.
type failing struct {
	r           io.Reader
	left, chunk int
	failed      bool
}

func (f *failing) Read(p []byte) (int, error) {
	if f.left == 0 && !f.failed {
		f.failed = true
		return 0, errBroken
	}
	n := min(len(p), f.chunk)
	if !f.failed {
		n = min(n, f.left)
		f.left -= n
	}
	return io.ReadFull(f.r, p[:n])
}

func failAfter(seed uint64, n, chunk int) *Source {
	return NewSourceFrom(&failing{r: chacha(seed), left: n, chunk: chunk})
}

func TestSourceYieldsTheReadersBytes(t *testing.T) {
	want := make([]byte, 3*bufferSize)
	chacha(1).Read(want)
	for _, chunk := range []int{1, 7, 8, 1000, bufferSize} {
		s := failAfter(1, len(want), chunk)
		got := make([]byte, 5)
		if err := s.Bytes(got); err != nil {
			t.Fatal(err)
		}
		for len(got)+8 <= len(want) {
			u, err := s.Uint64()
			if err != nil {
				t.Fatal(err)
			}
			got = binary.LittleEndian.AppendUint64(got, u)
		}
		rest := make([]byte, len(want)-len(got))
		if err := s.Bytes(rest); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append(got, rest...), want) {
			t.Fatalf("chunk %d: bytes differ from the reader's", chunk)
		}
	}
}

func TestSourceErrorIsSticky(t *testing.T) {
	for n := range 20 {
		s := failAfter(2, n, 3)
		for range n / 8 {
			if _, err := s.Uint64(); err != nil {
				t.Fatal(err)
			}
		}
		_, first := s.Uint64()
		if sqlerr.CodeOf(first) != sqlerr.IO {
			t.Fatalf("after %d bytes: error %v, want code io", n, first)
		}
		p := []byte{1}
		if err := s.Bytes(p); err != first || p[0] != 0 {
			t.Fatalf("after %d bytes: Bytes = %v, %v", n, p, err)
		}
		if _, err := s.Below(3); err != first {
			t.Fatalf("after %d bytes: Below = %v", n, err)
		}
		if _, err := s.bit(); err != first {
			t.Fatalf("after %d bytes: bit = %v", n, err)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestSourceRefusesBrokenReaders(t *testing.T) {
	readers := map[string]io.Reader{
		"nil":      nil,
		"empty":    readerFunc(func([]byte) (int, error) { return 0, nil }),
		"negative": readerFunc(func([]byte) (int, error) { return -1, nil }),
		"too much": readerFunc(func(p []byte) (int, error) { return len(p) + 1, nil }),
		"end":      readerFunc(func([]byte) (int, error) { return 0, io.EOF }),
		"7 of 8":   readerFunc(func([]byte) (int, error) { return 7, io.EOF }),
	}
	for name, r := range readers {
		if _, err := NewSourceFrom(r).Uint64(); sqlerr.CodeOf(err) != sqlerr.IO {
			t.Errorf("%s: error %v, want code io", name, err)
		}
	}
	if _, err := new(Source).Uint64(); sqlerr.CodeOf(err) != sqlerr.IO {
		t.Errorf("zero Source: error %v, want code io", err)
	}
}

func TestSourceUsesBytesThatComeWithAnError(t *testing.T) {
	s := NewSourceFrom(readerFunc(func(p []byte) (int, error) { p[0] = 9; return 8, errBroken }))
	if u, err := s.Uint64(); u != 9 || err != nil {
		t.Errorf("Uint64 = %d, %v; want 9", u, err)
	}
	if _, err := s.Uint64(); err == nil {
		t.Error("the error that came with bytes was lost")
	}
}

func TestSystemSource(t *testing.T) {
	a, b := NewSource(), NewSource()
	x, errX := a.Uint64()
	y, errY := b.Uint64()
	if errX != nil || errY != nil || x == y { // equal with probability 2^-64
		t.Errorf("two sources gave %d, %v and %d, %v", x, errX, y, errY)
	}
}

// TestBelow counts the draws in each third, 9 times: a false-failure rate of 9e-9,
// by improbable.
func TestBelow(t *testing.T) {
	s := stream(t, 3)
	if _, err := s.Below(0); err == nil {
		t.Error("Below(0) succeeded")
	}
	// With n = 3·2^62 the products reject a quarter of all words.
	const draws = 60000
	for _, n := range []uint64{1, 2, 3, 6, 1000, 3 << 62} {
		thirds := [3]float64{}
		for range draws {
			u, err := s.Below(n)
			if err != nil || u >= n {
				t.Fatalf("Below(%d) = %d, %v", n, u, err)
			}
			thirds[uint64(3*float64(u)/float64(n))%3]++
		}
		if n%3 != 0 {
			continue
		}
		for i, c := range thirds {
			if improbable(c, draws, 1.0/3) {
				t.Errorf("Below(%d): %v draws in third %d of %d", n, c, i, draws)
			}
		}
	}
}

// TestBelowRejects feeds words just inside and outside the accepted range.
func TestBelowRejects(t *testing.T) {
	// For n = 3, 2^64 mod 3 = 1: exactly the word 0 is rejected.
	words := make([]byte, 16)
	binary.LittleEndian.PutUint64(words[8:], 1<<63)
	if u, err := NewSourceFrom(bytes.NewReader(words)).Below(3); u != 1 || err != nil {
		t.Errorf("Below(3) = %d, %v; want 1 from the second word", u, err)
	}
	if _, err := NewSourceFrom(bytes.NewReader(words[:8])).Below(3); err == nil {
		t.Error("a rejected word was used")
	}
}

// TestBelowBig is TestBelow for big numbers.
func TestBelowBig(t *testing.T) {
	s := stream(t, 4)
	const draws = 30000
	for _, n := range []*big.Int{big.NewInt(3), big.NewInt(257 * 3), lawtest.Rat("300000000000000000000000000001").Num()} {
		thirds := [3]float64{}
		for range draws {
			u, err := s.belowBig(n)
			if err != nil || u.Cmp(n) >= 0 {
				t.Fatalf("belowBig(%d) = %d, %v", n, u, err)
			}
			u.Mul(u, big.NewInt(3)).Quo(u, n)
			thirds[u.Int64()]++
		}
		for i, c := range thirds {
			if improbable(c, draws, 1.0/3) {
				t.Errorf("belowBig(%d): %v draws in third %d of %d", n, c, i, draws)
			}
		}
	}
}
