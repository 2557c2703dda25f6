//go:build !linux

package slots

import "time"

// nap does nothing: here all is watched.
func nap(time.Duration) {}
