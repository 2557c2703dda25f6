//go:build unix

package catalog

import "syscall"

// writable asks the system, without touching the file, whether this process may
// write it; a read-only file system says no to root too.
func writable(path string) bool {
	const write = 2
	return syscall.Access(path, write) == nil
}
