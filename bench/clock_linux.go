package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// aboutClock says what clock measures.
const aboutClock = "processor time of the whole process, all its threads together: what other processes do shows less in it than in time on the wall"

// clock returns the processor time that the process has used.
func clock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
