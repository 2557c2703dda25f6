package projection

import (
	"runtime"
	"sync"
)

// denseBatch is how many coordinates of a sparse vector are multiplied at a
// time: enough to keep every core busy, few enough to stay in the cache.
const denseBatch = 512

// eachBlock computes √T·A·v block by block, on all cores, and hands the rows of
// each block to use, with the number of the worker that computed it. Calls of
// different workers are concurrent, those of one are not.
func (f signs) eachBlock(v []weighted, rows uint64, workers int, use func(worker int, block uint32, sums *[blockRows]int64)) {
	blocks := blocksOf(rows)
	var wg sync.WaitGroup
	for w := range uint64(workers) {
		first, last := w*blocks/uint64(workers), (w+1)*blocks/uint64(workers)
		wg.Go(func() {
			var t multiplier
			var sums [blockRows]int64
			for b := first; b < last; b++ {
				f.multiply(v, uint32(b), &t, &sums)
				use(int(w), uint32(b), &sums)
			}
		})
	}
	wg.Wait()
}

// blocksOf returns the number of blocks that hold the rows.
func blocksOf(rows uint64) uint64 { return (rows + blockRows - 1) / blockRows }

// workersFor returns how many workers serve the rows: all cores, but no more
// than there are blocks.
func workersFor(rows uint64) int {
	return int(min(uint64(runtime.GOMAXPROCS(0)), blocksOf(rows)))
}
