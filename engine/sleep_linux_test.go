package engine_test

import (
	"syscall"
	"time"
)

// osSleep sleeps by the operating system's clock. The runtime's timers are those of the server too, whose
// times are measured.
func osSleep(d time.Duration) {
	left := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}
