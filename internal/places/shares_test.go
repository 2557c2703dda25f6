package places

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns has a user with many connections ask all the time, alone and beside others.
func TestTurns(t *testing.T) {
	processors := runtime.NumCPU()
	lanes := max(1, processors-1)
	// flood has connections of a user take turns of 2 ms for a second, and returns how many they had and how many they had at a time.
	flood := func(turns *Shares, user string, connections int) func() (had, most int) {
		var all sync.WaitGroup
		var had, now, most atomic.Int32
		stop := time.Now().Add(time.Second)
		for range connections {
			all.Go(func() {
				for time.Now().Before(stop) {
					end := turns.Turn(user)
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(2 * time.Millisecond)
					had.Add(1)
					now.Add(-1)
					end()
				}
			})
		}
		return func() (int, int) {
			all.Wait()
			return int(had.Load()), int(most.Load())
		}
	}
	for name, of := range map[string]struct {
		others    int // connections of another user
		had, most int // turns of the user at least, and at a time at most
		atMost    int // turns of the user: one of each connection more than fit
	}{
		"alone":                   {0, 20 * 499, 20, 20*500 + 20},
		"beside one who asks":     {1, lanes * 230, lanes, lanes*250 + 20},
		"beside one who asks all": {40, lanes * 490, lanes, lanes*500 + 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := NewShares()
				time.Sleep(2 * together)
				var waited atomic.Int64
				switch of.others {
				case 0:
				case 1: // asks now and then
					go func() {
						for range 20 {
							at := time.Now()
							end := turns.Turn("ana")
							waited.Add(int64(time.Since(at)))
							end()
							time.Sleep(50 * time.Millisecond)
						}
					}()
					synctest.Wait()
				default:
					defer flood(turns, "ana", of.others)()
					synctest.Wait()
				}
				had, most := flood(turns, "eve", 20)()
				if had < of.had || had > of.atMost || most > of.most {
					t.Errorf("%d turns, %d at a time; want %d to %d, and %d", had, most, of.had, of.atMost, of.most)
				}
				if waited := time.Duration(waited.Load()); waited > 0 {
					t.Errorf("the other waited %v", waited)
				}
			})
		})
	}
}

// TestTurnsThatWait has all turns of a user taken by what goes on for long.
func TestTurnsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewShares()
		turns.Turn("ana")
		for range runtime.NumCPU() + 5 {
			end := turns.Turn("eve")
			defer end() // long after
		}
		time.Sleep(time.Minute)
		turns.Turn("ana")
		crowds, again := turns.turns.Crowds("eve"), time.Now()
		for range max(1, runtime.NumCPU()-1) {
			turns.Turn("eve")
		}
		if waited := time.Since(again); crowds || waited > 0 {
			t.Errorf("somebody waits still: %v; who comes waits %v", crowds, waited)
		}
	})
}
