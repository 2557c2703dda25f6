// Package scratch spends memory on the time of tests. It keeps their files there, where a machine has room:
// a quarter of their time would go by until a disk has what they write. What they hold of processes that
// are killed is the same: what a process has written to memory outlives it too. And it collects garbage
// seldom.
package scratch

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// room is what must be free in memory, in bytes: a multiple of what the tests of all packages write.
const room = 2 << 30

// CollectSeldom makes this process collect garbage when its heap is five times what is in use, and not
// twice, which is an eighth of what the tests of a package compute. It is for TestMain.
func CollectSeldom() { debug.SetGCPercent(400) }

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
