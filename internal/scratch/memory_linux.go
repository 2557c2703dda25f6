package scratch

import "syscall"

// memory returns a directory in memory that has room, or "".
func memory() string {
	const dir, write = "/dev/shm", 2
	var s syscall.Statfs_t
	if syscall.Access(dir, write) != nil || syscall.Statfs(dir, &s) != nil || s.Bavail*uint64(s.Bsize) < room {
		return ""
	}
	return dir
}
