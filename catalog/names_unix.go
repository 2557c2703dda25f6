//go:build unix

package catalog

import (
	"os"
	"syscall"
)

// links returns how many names a file has.
func links(_ string, file os.FileInfo) uint64 {
	if stat, ok := file.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}
