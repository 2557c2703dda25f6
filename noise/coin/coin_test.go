package coin_test

import (
	"bytes"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/sqlerr"
)

func chacha(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// TestCoinsAreAsNoise: a source of coins has the bits of its reader, and draws from them as
// package noise does.
func TestCoinsAreAsNoise(t *testing.T) {
	l, err := law.NewLaplace(big.NewRat(5, 2))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := make([]int64, 5000), make([]int64, 5000)
	if err := coin.InBulk(l)(ours, coin.NewSourceFrom(chacha(1))); err != nil {
		t.Fatal(err)
	}
	if err := noise.InBulk(l)(theirs, noise.NewSourceFrom(chacha(1))); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ours, theirs) {
		t.Error("coins draw otherwise than noise from the same bits")
	}
	s, want := coin.NewSourceFrom(chacha(2)), noise.NewSourceFrom(chacha(2))
	var key, other [16]byte
	if s.Bytes(key[:]) != nil || want.Bytes(other[:]) != nil || key != other {
		t.Errorf("key %x, want %x", key, other)
	}
	for range 100 {
		a, _ := s.Below(1000)
		b, _ := want.Below(1000)
		c, _ := s.Uint64()
		d, _ := want.Uint64()
		if a != b || c != d {
			t.Fatalf("%d and %d, want %d and %d", a, c, b, d)
		}
	}
}

// TestCoinsFail: a source without bits fails, and so does the zero source.
func TestCoinsFail(t *testing.T) {
	for name, s := range map[string]*coin.Source{"empty": coin.NewSourceFrom(bytes.NewReader(nil)), "zero": new(coin.Source)} {
		if _, err := s.Uint64(); sqlerr.CodeOf(err) != sqlerr.IO {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := coin.NewSource().Uint64(); err != nil {
		t.Error(err)
	}
}
