//go:build !linux

package engine_test

import "time"

func osSleep(d time.Duration) { time.Sleep(d) }
