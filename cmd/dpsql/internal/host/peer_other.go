//go:build !linux && !darwin

package host

import "net"

// PeerUID returns the user of the process that opened a connection over a Unix socket. It is
// not known on this system: it reports false.
func PeerUID(net.Conn) (uid int, ok bool) { return 0, false }

func monotonic() int64 { return 0 } // there is no systemd
