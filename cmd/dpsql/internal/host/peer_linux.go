package host

import (
	"net"

	"golang.org/x/sys/unix"
)

// nobody is how the kernel shows a user of another user namespace who has no number in this
// one. All such users look alike.
const nobody = 65534

// PeerUID returns the user of the process that opened a connection over a Unix socket, as the
// kernel knows it. It reports false for any other connection, and for a user who is nobody.
func PeerUID(c net.Conn) (uid int, ok bool) {
	u, isUnix := c.(*net.UnixConn)
	if !isUnix {
		return 0, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, false
	}
	var peer *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) { peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || asked != nil || peer.Uid == nobody {
		return 0, false
	}
	return int(peer.Uid), true
}

// monotonic returns microseconds of CLOCK_MONOTONIC.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano() / 1000
}
