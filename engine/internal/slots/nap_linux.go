package slots

import (
	"syscall"
	"time"
)

// nap sleeps by the operating system's clock, for so long or shorter.
func nap(d time.Duration) {
	if d > 0 {
		left := syscall.NsecToTimespec(int64(d))
		syscall.Nanosleep(&left, nil) // a signal ends it before its time, and what is left is watched
	}
}
