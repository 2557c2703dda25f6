// Package scratch keeps the files of tests in memory, where a machine has room there. A quarter of the
// time of the tests would go by until a disk has what they write. What they hold of processes that are
// killed is the same: what a process has written to memory outlives it too.
package scratch

import (
	"os"
	"slices"
	"strings"
)

// room is what must be free in memory, in bytes: a multiple of what the tests of all packages write.
const room = 2 << 30

// InMemory makes this process and its children keep temporary files in memory, unless TMPDIR says
// where they are. Benchmarks keep them on the disk, whose time they measure. It is for TestMain.
func InMemory() {
	benchmark := func(arg string) bool { return strings.HasPrefix(arg, "-test.bench=") }
	if slices.ContainsFunc(os.Args, benchmark) || os.Getenv("TMPDIR") != "" {
		return
	}
	if dir := memory(); dir != "" {
		os.Setenv("TMPDIR", dir)
	}
}
