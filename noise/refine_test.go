package noise

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"dpsql/sqlerr"
)

// TestFillRefines feeds words that leave the draw open, followed by 64 bits
// that settle it on one side or the other of the threshold.
func TestFillRefines(t *testing.T) {
	for _, text := range []string{"dlap(1/2)", "dlap(5/2)", "dgauss(17/3)", "dgauss(400)"} {
		table := mustTable(t, text)
		last := len(table.cdf) - 1
		for _, k := range []int{0, 1, last / 2, last - 1} {
			for _, word := range []uint64{table.cdf[k] << 1, table.cdf[k]<<1 | 1} {
				below, above := int64(k), int64(k+1)
				for above <= int64(last) && table.cdf[above] == table.cdf[k] {
					above++
				}
				for below > 0 && table.cdf[below-1] == table.cdf[k] {
					below--
				}
				if word&1 == 1 {
					below, above = -below, -above
				}
				checkRefined(t, table, word, 0, below)
				checkRefined(t, table, word, math.MaxUint64, above)
			}
		}
	}
}

// checkRefined expects the draws of an ordinary word, of an open word finished
// by more, and of the same ordinary word again: nothing is lost around it.
func checkRefined(t *testing.T, table *Table, word, more uint64, want int64) {
	t.Helper()
	var stream []byte
	for _, w := range []uint64{3, word, more, 3} {
		stream = binary.LittleEndian.AppendUint64(stream, w)
	}
	plain, _ := search(table.cdf, 3)
	got := make([]int64, 3)
	if err := table.Fill(got, NewSourceFrom(bytes.NewReader(stream))); err != nil {
		t.Fatal(err)
	}
	if got[0] != plain || got[1] != want || got[2] != plain {
		t.Errorf("%s: open word %#x with %#x gives %v, want %d between two %d", table.law, word, more, got, want, plain)
	}
}

// TestLocateFollowsTheTail compares locate with sums of exact weights beyond
// the end of the table, and asks for more bits where U is still open.
func TestLocateFollowsTheTail(t *testing.T) {
	for _, text := range []string{"dlap(5/2)", "dgauss(17/3)"} {
		table := mustTable(t, text)
		tails := naiveTails(table.law, 300, 1500)
		for _, k := range []int{0, 1, 5, len(table.cdf), len(table.cdf) + 3} {
			const bits = 600
			for _, side := range []int64{-1, 1} { // just below and above F(k)
				u := float(1)
				u.Sub(u, tails[k+1]).Sub(u, tails[k+1])
				scaled, _ := u.SetMantExp(u, bits).Int(nil)
				scaled.Add(scaled, big.NewInt(side))
				want := int64(k) + (side+1)/2
				if got, ok := locate(table.law, scaled, bits); !ok || got != want {
					t.Errorf("%s: locate next to F(%d) = %d, %v; want %d", text, k, got, ok, want)
				}
			}
		}
		ones := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
		if k, ok := locate(table.law, ones, 127); ok {
			t.Errorf("%s: 127 ones were located at %d", text, k)
		}
	}
}

// TestRefineSurfacesReadErrors cuts the stream behind a word that needs more.
func TestRefineSurfacesReadErrors(t *testing.T) {
	table := mustTable(t, "dlap(5/2)")
	open := binary.LittleEndian.AppendUint64(nil, table.cdf[3]<<1)
	for extra := range 8 {
		s := NewSourceFrom(bytes.NewReader(append(open, make([]byte, extra)...)))
		if err := table.Fill(make([]int64, 1), s); sqlerr.CodeOf(err) != sqlerr.IO {
			t.Errorf("%d bytes behind an open word: error %v, want code io", extra, err)
		}
	}
}
