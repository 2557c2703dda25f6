// Package seeds says what tests draw that make their inputs at random: the same in every run, so that
// none is red by chance, or something else for the asking.
//
//	DPSQL_SEED=new go test ./...     draws what no run drew before
//	DPSQL_SEED=17 go test ./...      draws what that run drew
//
// With new, a property of rapid is tried on 400 drawn cases, else on 40.
//
// The noise of the mechanisms has no seed: a test of it says how rarely it fails a correct program.
package seeds

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	_ "pgregory.net/rapid" // defines its flag
)

// run is the seed of this run of the tests. It is not 0, with which rapid draws one of its own.
var run = fromEnvironment()

func fromEnvironment() uint64 {
	text := os.Getenv("DPSQL_SEED")
	if text == "new" {
		return 1 + rand.Uint64N(1<<63)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n > 0 {
		return n
	}
	if text != "" {
		panic("DPSQL_SEED is neither new nor a positive number")
	}
	return 1
}

// init seeds the tests that draw through rapid, and says how often they draw. -rapid.seed and
// -rapid.checks count more.
func init() {
	checks := "40"
	if os.Getenv("DPSQL_SEED") == "new" {
		checks = "400"
	}
	err := flag.Set("rapid.seed", strconv.FormatUint(run, 10))
	if err == nil {
		err = flag.Set("rapid.checks", checks)
	}
	if err != nil {
		panic(err)
	}
}

// Of returns the seed of a test, which it logs.
func Of(t testing.TB) uint64 {
	t.Helper()
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	t.Logf("DPSQL_SEED=%d", run)
	return h.Sum64() ^ run
}
