//go:build unix

package catalog

import (
	"os"
	"syscall"
)

// countLinks returns how many names a file has.
func countLinks(_ string, file os.FileInfo) uint64 {
	if stat, ok := file.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// writable asks the system, without touching the file, whether this process may
// write it; a read-only file system says no to root too.
func writable(path string) bool {
	const write = 2
	return syscall.Access(path, write) == nil
}
