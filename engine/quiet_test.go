package engine_test

import (
	"encoding/binary"
	"math/rand/v2"

	"dpsql/engine"
	"dpsql/noise"
)

// quiet draws no noise, so that answers are known. The bits that are not noise, such
// as the seeds of hash functions, are pseudo-random and the same in every run.
type quiet struct{ *rand.ChaCha8 }

// Drawn decides a draw from any law.
func (quiet) Drawn(noise.Law) int64 { return 0 }

// quieten lets a database draw no noise.
func quieten(db *engine.DB) {
	n := uint64(100) // from here on no two records of the golden table share a bucket of a sketch
	db.SetRandom(func() *noise.Source {
		n++
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], n)
		return noise.NewSourceFrom(quiet{rand.NewChaCha8(seed)})
	})
}
