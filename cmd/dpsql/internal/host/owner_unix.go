//go:build unix

package host

import (
	"io/fs"
	"os"
	"syscall"
)

// ownerOf returns the user whom a file belongs to, if the system knows one.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

// Owner returns the user whom the file of that name belongs to, if the system knows one.
func Owner(path string) (uid int, known bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return ownerOf(info)
}
