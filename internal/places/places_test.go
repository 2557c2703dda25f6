package places_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dpsql/internal/places"
	"dpsql/sqlerr"
)

// Users.
const (
	ana = iota + 1
	carl
	eve
)

// However many statements of one user wait, another waits for one of these at most where each has a place
// less than there are, and for none if she is the only other one.
func TestPlacesAreShared(t *testing.T) {
	for _, c := range []struct {
		name      string
		all, each int
		ask       []int64 // in this order, at once; each works for 1 s
		want      []int64 // the order in which they begin
		last      time.Duration
	}{
		{"one place", 1, 1, []int64{eve, eve, eve, ana, carl, ana}, []int64{eve, ana, carl, eve, ana, eve}, 5 * time.Second},
		{"one of two each", 2, 1, []int64{eve, eve, eve, ana, ana}, []int64{eve, ana, eve, ana, eve}, 2 * time.Second},
		{"one alone", 2, 1, []int64{eve, eve, eve}, []int64{eve, eve, eve}, 2 * time.Second},
		{"three users", 2, 1, []int64{eve, eve, eve, carl, carl, ana}, []int64{eve, carl, ana, eve, carl, eve}, 2 * time.Second},
		{"two of three each", 3, 2, []int64{eve, eve, eve, eve, ana, carl}, []int64{eve, eve, ana, carl, eve, eve}, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &places.Places[int64]{All: c.all, Each: c.each}
			begun := time.Now()
			var wait sync.WaitGroup
			var mu sync.Mutex
			var order []int64
			inside, last := map[int64]int{}, time.Duration(0)
			for i, user := range c.ask {
				wait.Go(func() {
					time.Sleep(time.Duration(i)) // in this order
					if err := p.Enter(t.Context(), user); err != nil {
						t.Error(err)
					}
					mu.Lock()
					order, last = append(order, user), time.Since(begun)
					if inside[user]++; inside[user] > c.each {
						t.Errorf("%s: user %d has %d places", c.name, user, inside[user])
					}
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					inside[user]--
					mu.Unlock()
					p.Leave(user)
				})
			}
			wait.Wait()
			if !slices.Equal(order, c.want) || last.Truncate(time.Second) != c.last {
				t.Errorf("%s: %v, the last at %v; want %v and %v", c.name, order, last, c.want, c.last)
			}
		})
	}
}

// Whoever of one user waits, and nobody of another, crowds.
func TestCrowds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &places.Places[string]{All: 3, Each: 1}
		want := func(when string, of ...bool) {
			t.Helper()
			synctest.Wait()
			if got := []bool{p.Crowds("ana"), p.Crowds("eve")}; !slices.Equal(got, of) {
				t.Errorf("%s: ana %v, eve %v; want %v", when, got[0], got[1], of)
			}
		}
		enter := func(user string) {
			if err := p.Enter(t.Context(), user); err != nil {
				t.Error(err)
			}
		}
		enter("ana")
		enter("eve")
		want("nobody waits", false, false)
		go enter("eve")
		want("eve waits", false, true)
		go enter("ana")
		want("both wait", false, false)
		p.Leave("eve")
		want("ana waits", true, false)
		p.Leave("ana")
		want("nobody waits any more", false, false)
	})
}

// Who stops waiting leaves no trace, also at the moment at which the place comes.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &places.Places[int64]{All: 1, Each: 1, Most: 2}
		for range 100 {
			if err := p.Enter(t.Context(), eve); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			var wait sync.WaitGroup
			for range 2 {
				wait.Go(func() {
					if err := p.Enter(ctx, eve); err == nil {
						p.Leave(eve)
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			if err := p.Enter(ctx, eve); sqlerr.CodeOf(err) != sqlerr.Busy {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
			p.Leave(eve)
			wait.Wait()
			cancel()
		}
		if err := p.Enter(t.Context(), ana); err != nil {
			t.Error(err)
		}
	})
}
