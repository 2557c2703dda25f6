package engine

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"dpsql/noise"
)

// quiet is a stream of random bits out of which the real samplers draw 0
// whatever their law, so that answers are known: an exact stand-in for noise.
// Each word is chosen by who reads it. The rest, such as the seeds of hash
// functions, is pseudo-random and the same in every run.
type quiet struct{ rest *rand.ChaCha8 }

// quieten lets a database draw no noise.
func quieten(db *DB) {
	var n uint64
	db.random = func() *noise.Source {
		n++
		return newQuiet(n)
	}
}

func newQuiet(n uint64) *noise.Source {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], n)
	return noise.NewSourceFrom(quiet{rand.NewChaCha8(seed)})
}

// Read gives one word, or one byte where bytes are read, so that none is left
// for another reader.
func (q quiet) Read(p []byte) (int, error) {
	word, size := q.word()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], word)
	return copy(p, b[:size]), nil
}

// word returns the bits for the innermost function of package noise that
// decides how they are read:
//   - a table takes 0 for the magnitude 0,
//   - Bernoulli(1/e) fails at its fourth step on the bit 0 and 2⁶²,
//   - the magnitude of a discrete Laplace draw is the remainder, 0 by the word 1,
//     plus a multiple that the failure above makes 0,
//   - a sign bit 0 is positive.
//
// A discrete Gaussian draw keeps such a proposal of 0 or tries again.
func (q quiet) word() (word uint64, size int) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for size = 8; ; {
		f, more := frames.Next()
		_, name, _ := strings.Cut(f.Function, "dpsql/noise.")
		switch name {
		case "(*Source).Bytes":
			size = 1
		case "(*Table).Fill", "(*Source).bit", "(*laplace).magnitudeBig":
			return 0, size
		case "(*Source).bernoulliExpOne":
			return 1 << 62, size
		case "(*laplace).magnitude":
			return 1, size
		case "(*Source).bernoulli", "(*Source).bernoulliBig":
			return q.rest.Uint64(), size
		}
		if !more {
			return q.rest.Uint64(), size
		}
	}
}

// TestQuiet draws from laws of all kinds: small and large, with parts that fit
// 64 bits and that do not, and from tables.
func TestQuiet(t *testing.T) {
	huge := new(big.Rat).SetFrac(new(big.Int).Exp(big.NewInt(7), big.NewInt(40), nil), new(big.Int).Exp(big.NewInt(6), big.NewInt(40), nil))
	src := newQuiet(1)
	for _, x := range []*big.Rat{big.NewRat(1, 3), big.NewRat(1, 1), big.NewRat(7, 2), big.NewRat(12345, 7), big.NewRat(1<<40, 3), huge} {
		laplace, err := noise.NewLaplace(x)
		if err != nil {
			t.Fatal(err)
		}
		gaussian, err := noise.NewGaussian(x)
		if err != nil {
			t.Fatal(err)
		}
		draws := make([]int64, 50)
		if table, err := noise.NewTable(laplace); err == nil {
			draws[0] = 1
			if err := table.Fill(draws, src); err != nil {
				t.Error(err)
			}
		}
		for i := range draws {
			for _, law := range []noise.Law{laplace, gaussian} {
				if k, err := law.Draw(src); err != nil || k != 0 || draws[i] != 0 {
					t.Errorf("%v: got %d, %v and %d from its table, want 0", law, k, err, draws[i])
				}
			}
		}
	}
}
