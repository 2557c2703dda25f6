//go:build unix

package catalog

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// share maps the file's count, which the file has room for.
func share(f *os.File, writable bool) (sharedNumber, error) {
	access := unix.PROT_READ
	if writable {
		access |= unix.PROT_WRITE
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, countEnd, access, unix.MAP_SHARED)
	if err != nil {
		return sharedNumber{}, err
	}
	return sharedNumber{(*atomic.Uint64)(unsafe.Pointer(&memory[countAt])), writable, memory}, nil
}

func (n sharedNumber) close() {
	if n.memory != nil {
		_ = unix.Munmap(n.memory)
	}
}
