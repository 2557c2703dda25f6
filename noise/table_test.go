package noise

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/noise/law"
	"dpsql/noise/law/lawtest"
	"dpsql/sqlerr"
)

func mustTable(t testing.TB, text string) *Table {
	t.Helper()
	table, err := NewTable(mustParse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestFill checks the table sampler against 12 laws. It would fail a correct
// sampler with probability 5e-7, by checkLaw; the seeds are fixed.
func TestFill(t *testing.T) {
	for i, text := range []string{
		"dlap(1/100)", "dlap(3/10)", "dlap(1)", "dlap(5/2)", "dlap(10)", "dlap(1000/37)", "dlap(1000)",
		"dgauss(1/100)", "dgauss(1/4)", "dgauss(17/3)", "dgauss(10007/100)", "dgauss(1000000)",
	} {
		draws := make([]int64, sized(100_000, 300_000))
		if err := mustTable(t, text).Fill(draws, stream(t, 300+uint64(i))); err != nil {
			t.Fatal(err)
		}
		checkLaw(t, mustParse(t, text), draws)
	}
}

// naiveThresholds returns floor(2^63 P(|X| <= k)) from sums of exact weights.
func naiveThresholds(tails []*big.Float, n int) []uint64 {
	c := make([]uint64, n)
	for k := range c {
		p := lawtest.Float(1)
		p.Sub(p, tails[k+1]).Sub(p, tails[k+1])
		c[k], _ = p.SetMantExp(p, magnitudeBits).Uint64()
	}
	return c
}

func TestThresholdsAgainstSums(t *testing.T) {
	for _, text := range []string{"dlap(1/100)", "dlap(1)", "dlap(5/2)", "dlap(10)", "dgauss(1/4)", "dgauss(17/3)", "dgauss(2500)"} {
		table := mustTable(t, text)
		n := len(table.cdf)
		want := naiveThresholds(lawtest.Tails(table.law, n, 2*n+100), n)
		for k, c := range table.cdf {
			if c != want[k] {
				t.Fatalf("%s: threshold %d is %d, want %d", text, k, c, want[k])
			}
			if (c == 1<<63-1) != (k == n-1) {
				t.Fatalf("%s: threshold %d of %d is %d", text, k, n, c)
			}
		}
	}
}

// TestFillAgainstSearch holds the guided search to a plain one, on random words
// and on the words next to every threshold and every guide entry.
func TestFillAgainstSearch(t *testing.T) {
	const seed = 9
	t.Logf("PCG seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, text := range []string{"dlap(1/100)", "dlap(5/2)", "dlap(200)", "dgauss(17/3)"} {
		table := mustTable(t, text)
		words := []uint64{0, 1, 2, 3, math.MaxUint64 - 2, math.MaxUint64 - 3}
		for range 2000 {
			words = append(words, r.Uint64())
		}
		for _, c := range table.cdf {
			words = append(words, (c-1)<<1, (c-1)<<1|1, (c+1)<<1, (c+1)<<1|1)
		}
		for g := range table.guide {
			u := uint64(g) << table.shift
			words = append(words, u<<1, (u-1)<<1, (u+1)<<1|1)
		}
		for _, word := range words {
			want, decided := search(table.cdf, word)
			var got [1]int64
			n := table.fillBlock(got[:], binary.LittleEndian.AppendUint64(nil, word))
			if (n == 1) != decided || got[0] != want {
				t.Fatalf("%s: word %#x gives %d (%d drawn), want %d", text, word, got[0], n, want)
			}
		}
	}
}

// search is fillBlock for one word without a guide.
func search(cdf []uint64, word uint64) (int64, bool) {
	for k, c := range cdf {
		switch {
		case word>>1 == c:
			return 0, false
		case word>>1 < c && word&1 == 1:
			return -int64(k), true
		case word>>1 < c:
			return int64(k), true
		}
	}
	return 0, false
}

func TestFillSurfacesReadErrors(t *testing.T) {
	table := mustTable(t, "dlap(5/2)")
	const n = 50
	whole := make([]int64, n)
	if err := table.Fill(whole, NewSourceFrom(chacha(10))); err != nil {
		t.Fatal(err)
	}
	for cut := range 8*n + 20 {
		got := make([]int64, n)
		s := failAfter(10, cut, 1+cut%11)
		err := table.Fill(got, s)
		if cut < 8*n {
			if sqlerr.CodeOf(err) != sqlerr.IO || table.Fill(got[:1], s) != err {
				t.Fatalf("cut at %d: error %v, want code io for good", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		for i, x := range got {
			if x != whole[i] {
				t.Fatalf("cut at %d: draw %d is %d, want %d", cut, i, x, whole[i])
			}
		}
	}
	if err := table.Fill(nil, failAfter(10, 0, 1)); err != nil {
		t.Errorf("an empty Fill read bits: %v", err)
	}
}

func TestFillIsIndependentOfSlicing(t *testing.T) {
	table := mustTable(t, "dgauss(17/3)")
	whole, pieces := make([]int64, 5000), make([]int64, 5000)
	s := NewSourceFrom(chacha(11))
	if err := table.Fill(whole, NewSourceFrom(chacha(11))); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pieces); {
		n := min(1+i%1500, len(pieces)-i)
		if err := table.Fill(pieces[i:i+n], s); err != nil {
			t.Fatal(err)
		}
		i += n
	}
	for i := range whole {
		if whole[i] != pieces[i] {
			t.Fatalf("draw %d is %d in one piece, %d in several", i, whole[i], pieces[i])
		}
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	table := mustTable(t, "dlap(5/2)")
	s, dst := NewSource(), make([]int64, 4096)
	if n := testing.AllocsPerRun(50, func() {
		if err := table.Fill(dst, s); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Fill allocates %v times", n)
	}
}

func TestNewTableRefuses(t *testing.T) {
	for _, text := range []string{
		"dlap(1520)", "dlap(1000000000000000)", "dgauss(67108863)", "dgauss(1000000000000000000000000000000)",
	} {
		if _, err := NewTable(mustParse(t, text)); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%s: error %v, want code unsupported", text, err)
		}
	}
	if _, err := NewTable(foreign{mustParse(t, "dlap(1)")}); err == nil {
		t.Error("a law of another package was accepted")
	}
	if _, err := NewTable(nil); err == nil {
		t.Error("no law was accepted")
	}
}

func TestLargestTables(t *testing.T) {
	for _, text := range []string{"dlap(1480)", "dgauss(49000000)"} {
		table := mustTable(t, text)
		if len(table.cdf) > maxTable || len(table.cdf) < maxTable*9/10 {
			t.Errorf("%s: %d entries", text, len(table.cdf))
		}
	}
}

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
		tails := lawtest.Tails(table.law, 300, 1500)
		for _, k := range []int{0, 1, 5, len(table.cdf), len(table.cdf) + 3} {
			const bits = 600
			for _, side := range []int64{-1, 1} { // just below and above F(k)
				u := lawtest.Float(1)
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

// foreign is a law of another package.
type foreign struct{ law.Law }

// TestNoNoiseOfAnotherLaw: a law that is not of package law has tails, and no draws.
func TestNoNoiseOfAnotherLaw(t *testing.T) {
	if _, err := Draw(foreign{mustParse(t, "dlap(1)")}, stream(t, 1)); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a draw of a law of another package: %v", err)
	}
}
