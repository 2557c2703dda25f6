package catalog

import (
	"os"
	"syscall"
)

// countLinks returns how many names a file has. It opens the file without access:
// closing such a handle releases no locks.
func countLinks(path string, _ os.FileInfo) uint64 {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return 1
	}
	const everyone = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	h, err := syscall.CreateFile(name, 0, everyone, nil, syscall.OPEN_EXISTING, 0, 0)
	if err != nil {
		return 1
	}
	defer syscall.CloseHandle(h)
	var about syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(h, &about); err != nil {
		return 1
	}
	return uint64(about.NumberOfLinks)
}

// writable looks at the permission bits. Where they promise too much, SQLite refuses
// the write itself.
func writable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o200 != 0
}
