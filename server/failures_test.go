package server

import (
	"fmt"
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	f := newFailures()
	now := time.Unix(1e9, 0)
	f.now = func() time.Time { return now }
	var delays []time.Duration
	for range 12 {
		delays = append(delays, f.delay("ana", "10.0.0.1"))
		f.failed("ana", "10.0.0.1")
	}
	if got, want := fmt.Sprint(delays), "[0s 0s 0s 0s 250ms 500ms 1s 2s 4s 8s 8s 8s]"; got != want {
		t.Errorf("delays %s, want %s", got, want)
	}
	for who, want := range map[[2]string]time.Duration{{"ana", "10.0.0.2"}: 8 * time.Second, {"bob", "10.0.0.1"}: 8 * time.Second, {"bob", "10.0.0.2"}: 0} {
		if got := f.delay(who[0], who[1]); got != want {
			t.Errorf("%v waits %v, want %v", who, got, want)
		}
	}
	f.succeeded("ana", "10.0.0.1")
	if got := f.delay("ana", "10.0.0.1"); got != 0 {
		t.Errorf("after a login: %v", got)
	}
	for range 5 {
		f.failed("ana", "10.0.0.1")
	}
	now = now.Add(forgetFailures + time.Second)
	if got := f.delay("ana", "10.0.0.1"); got != 0 {
		t.Errorf("after %v: %v", forgetFailures, got)
	}
	for i := range 3 * mostFailures {
		f.failed(fmt.Sprint(i), "10.0.0.1")
	}
	if len(f.all) > mostFailures+2 {
		t.Errorf("%d names are remembered", len(f.all))
	}
}
