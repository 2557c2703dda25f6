package slots_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dpsql/engine/internal/slots"
	"dpsql/sqlerr"
)

const ms = time.Millisecond

// store keeps answer times as a catalog does.
type store struct {
	mu    sync.Mutex
	times map[int64]time.Duration
	fails bool
	saved int
}

func (s *store) of(ids ...int64) func() ([]slots.Table, error) {
	return func() (all []slots.Table, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range ids {
			all = append(all, slots.Table{ID: id, AnswerTime: s.times[id]})
		}
		return all, nil
	}
}

func (s *store) raise(tables []slots.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errors.New("the disk is full")
	}
	s.saved++
	for _, t := range tables {
		s.times[t.ID] = max(s.times[t.ID], t.AnswerTime)
	}
	return nil
}

// world is a schedule with tables whose answer times are 10, 40 and 10 ms.
type world struct {
	*testing.T
	slots.Schedule
	store
	begun time.Time
}

func run(t *testing.T, f func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		f(&world{T: t, store: store{times: map[int64]time.Duration{1: 10 * ms, 2: 40 * ms, 3: 10 * ms}}, begun: time.Now()})
	})
}

func (w *world) take(ctx context.Context, ids ...int64) (*slots.Turn, error) {
	return w.Take(ctx, ana, ids, w.of(ids...), w.raise)
}

// Users.
const (
	ana = iota + 1
	bob
	eve
)

// must takes a turn that has to come.
func (w *world) must(ids ...int64) *slots.Turn {
	t, err := w.take(w.Context(), ids...)
	if err != nil {
		w.Error(err)
	}
	return t
}

// at fails unless it is so late.
func (w *world) at(what string, want time.Duration) {
	w.Helper()
	if got := time.Since(w.begun); got != want {
		w.Errorf("%s at %v, want %v", what, got, want)
	}
}

// The end of a slot is that of its length, however long its work took, and the turn ends as long after.
func TestSlotsEndOnTime(t *testing.T) {
	for _, work := range []time.Duration{0, 1, 9 * ms, 10*ms - 1} {
		run(t, func(w *world) {
			turn := w.must(1)
			turn.Read()
			time.Sleep(work)
			turn.Publish()
			w.at("published", 10*ms)
			turn.Publish()
			w.at("nothing was read since", 10*ms)
			turn.End()
			w.at("the end", 20*ms)
			if turn := w.must(1); turn != nil {
				turn.End()
			}
			w.at("the end of a turn without reading", 40*ms)
		})
	}
}

// Late work leaves at the end of the slot of doubled length from its beginning. Work that is done at
// the very end is late. The next slots have that length, too, and so have those of another process.
func TestLateWorkDoubles(t *testing.T) {
	for _, c := range []struct{ work, want time.Duration }{
		{10 * ms, 20 * ms}, {10*ms + 1, 20 * ms}, {20*ms - 1, 20 * ms}, {20 * ms, 40 * ms}, {39 * ms, 40 * ms}, {1000 * ms, 1280 * ms}} {
		run(t, func(w *world) {
			turn := w.must(1)
			turn.Read()
			time.Sleep(c.work)
			turn.Publish()
			w.at("published", c.want)
			if w.times[1] != c.want || w.times[2] != 40*ms {
				t.Errorf("the answer times are %v", w.times)
			}
			turn.Read()
			turn.End()
			settling := min(c.want, 25*ms)
			w.at("the second slot", 2*(c.want+settling))
			var other slots.Schedule
			again, err := other.Take(w.Context(), ana, []int64{1}, w.of(1), w.raise)
			if err != nil {
				t.Fatal(err)
			}
			again.End()
			w.at("another process", 3*(c.want+settling))
		})
	}
}

// A slot begins a public time after the one before, whatever is committed meanwhile, unless that takes longer.
func TestNextSlotBeginsOnTime(t *testing.T) {
	for commit, want := range map[time.Duration]time.Duration{0: 20 * ms, 9 * ms: 20 * ms, 15 * ms: 25 * ms} {
		run(t, func(w *world) {
			turn := w.must(1)
			turn.Read()
			turn.Publish()
			time.Sleep(commit)
			turn.Read()
			w.at("the second slot", want)
			turn.Publish()
			w.at("its end", want+10*ms)
			turn.End()
			w.at("the end", want+20*ms)
		})
	}
}

// A doubling is stored at the end of the slot that is late, not when its work is done, so that
// nothing that others see depends on when that is.
func TestDoublingIsStoredAtTheEndOfTheSlot(t *testing.T) {
	run(t, func(w *world) {
		turn := w.must(1)
		turn.Read()
		for at, want := range map[time.Duration]time.Duration{10*ms - 1: 10 * ms, 10*ms + 1: 20 * ms, 20*ms + 1: 40 * ms, 40*ms + 1: 80 * ms} {
			go func() {
				time.Sleep(at)
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.times[1] != want {
					t.Errorf("at %v the answer time is %v, want %v", at, w.times[1], want)
				}
			}()
		}
		time.Sleep(50 * ms)
		turn.End()
		w.at("the end", 105*ms)
	})
}

// A doubling that cannot be stored holds in this process, and is stored with the next turn.
func TestDoublingThatCannotBeStored(t *testing.T) {
	run(t, func(w *world) {
		w.fails = true
		turn := w.must(1)
		time.Sleep(15 * ms)
		turn.End()
		w.at("the end", 40*ms)
		w.must(1).End()
		w.at("the end of the next", 80*ms)
		w.fails = false
		w.must(1).End()
		w.at("the end of the third", 120*ms)
		if w.times[1] != 20*ms {
			t.Errorf("the answer times are %v", w.times)
		}
		w.times[1] = 10 * ms // a curator sets it back
		w.must(1).End()
		w.at("the end of the fourth", 140*ms)
	})
}

// What is to be shown later is called at the end of the slot, before whoever waits goes on.
func TestLater(t *testing.T) {
	run(t, func(w *world) {
		turn := w.must(1)
		turn.Read()
		calls := 0
		turn.Later(func() { calls++; w.at("the call", 10*ms) })
		time.Sleep(ms)
		turn.Publish()
		turn.End()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// Turns on a table come in the order in which they were asked for. Those on other tables do not wait.
func TestTurnsAreInOrder(t *testing.T) {
	run(t, func(w *world) {
		var mu sync.Mutex
		var order []int
		var wait sync.WaitGroup
		for i := range 5 {
			wait.Go(func() {
				turn := w.must(1)
				time.Sleep(time.Duration(5-i) * ms)
				turn.End()
				w.at("an end", time.Duration(i+1)*20*ms)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			})
			synctest.Wait()
		}
		wait.Go(func() { w.must(3).End(); w.at("another table", 20*ms) })
		wait.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("the order is %v", order)
		}
	})
}

// A turn on several tables has slots of the longest answer time, and doubles them all. Turns on tables in
// any order do not wait for each other for ever.
func TestTurnsOnSeveralTables(t *testing.T) {
	run(t, func(w *world) {
		var wait sync.WaitGroup
		wait.Go(func() { w.must(2, 1).End(); w.at("both", 65*ms) })
		synctest.Wait()
		wait.Go(func() { w.must(1).End(); w.at("one of them", 85*ms) })
		synctest.Wait()
		wait.Go(func() {
			turn := w.must(1, 2, 2, 1)
			time.Sleep(45 * ms)
			turn.End()
			w.at("both, late", 190*ms)
		})
		wait.Wait()
		if w.times[1] != 20*ms || w.times[2] != 80*ms || w.times[3] != 10*ms {
			t.Errorf("the answer times are %v", w.times)
		}
		for _, ids := range [][]int64{{1, 2, 3}, {3, 1}, {2, 3}, {3, 2, 1}, {1, 2}, {0, 3}, {3, 0, 2}} {
			for range 5 {
				wait.Go(func() { w.must(ids...).End() })
			}
		}
		wait.Wait()
	})
}

// A statement that is cancelled before its turn leaves the queue, and takes no time of the others.
func TestCancelledWhileWaiting(t *testing.T) {
	run(t, func(w *world) {
		var wait sync.WaitGroup
		first := w.must(1)
		ctx, cancel := context.WithTimeout(w.Context(), 5*ms)
		defer cancel()
		wait.Go(func() {
			if _, err := w.take(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			w.at("cancelled", 5*ms)
		})
		synctest.Wait()
		wait.Go(func() { w.must(1).End(); w.at("the next", 40*ms) })
		first.End()
		wait.Wait()
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		if _, err := w.take(ended, 1, 2); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_, err := w.Take(w.Context(), ana, []int64{1, 2}, func() ([]slots.Table, error) { return nil, errors.New("unreadable") }, w.raise)
		if err == nil {
			t.Error("the answer times cannot be read")
		}
		w.must(1).End()
		w.at("a turn after those", 60*ms)
	})
}

// A turn that comes at the moment of a cancel is passed on.
func TestCancelledAsTheTurnComes(t *testing.T) {
	run(t, func(w *world) {
		for range 60 {
			first := w.must(1)
			ctx, cancel := context.WithTimeout(w.Context(), 10*ms)
			var wait sync.WaitGroup
			wait.Go(func() {
				if turn, err := w.take(ctx, 1); err == nil {
					turn.End()
				}
			})
			synctest.Wait()
			first.End() // at 10 ms, too
			wait.Wait()
			cancel()
		}
		if w.must(1) == nil {
			t.Error("no turn")
		}
	})
}

// Users have turns one after another, however many statements of one wait, and of a user in the order in
// which they were asked for. One who asks for the first time comes next.
func TestTurnsAreShared(t *testing.T) {
	run(t, func(w *world) {
		var wait sync.WaitGroup
		var order []int64
		ask := func(user int64) {
			wait.Go(func() {
				turn, err := w.Take(w.Context(), user, []int64{1}, w.of(1), w.raise)
				if err != nil {
					t.Error(err)
				}
				order = append(order, user) // who has the turn is alone
				turn.End()
			})
			synctest.Wait()
		}
		for _, user := range []int64{ana, ana, ana, ana, bob, ana, bob, bob} {
			ask(user)
		}
		time.Sleep(50 * ms) // ana, bob, ana
		ask(eve)
		wait.Wait()
		if want := []int64{ana, bob, ana, eve, bob, ana, bob, ana, ana}; !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
	})
}

// So many statements of a user may wait, and no more. Others may still.
func TestQueueIsLimited(t *testing.T) {
	run(t, func(w *world) {
		var wait sync.WaitGroup
		for range slots.Most + 1 { // one has its turn
			wait.Go(func() { w.must(1).End() })
		}
		synctest.Wait()
		if _, err := w.take(w.Context(), 3, 1); sqlerr.CodeOf(err) != sqlerr.Busy {
			t.Error(err)
		}
		wait.Go(func() {
			turn, err := w.Take(w.Context(), bob, []int64{3, 1}, w.of(3, 1), w.raise)
			if err != nil {
				t.Error(err)
				return
			}
			turn.End()
			w.at("another user", 40*ms)
		})
		synctest.Wait()
		w.must(3).End() // the turn on the other table was given up
		wait.Wait()
		w.must(1).End()
	})
}

// TestCoversNothing: a turn that nobody took covers no table.
func TestCoversNothing(t *testing.T) {
	var none *slots.Turn
	if none.Covers([]int64{1}) || !none.Covers(nil) {
		t.Error("no turn covers a table, or not even none")
	}
}
