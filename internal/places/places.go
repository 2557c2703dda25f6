// Package places shares a number of places among users, who get them in turns.
package places

import (
	"context"
	"slices"
	"sync"

	"dpsql/sqlerr"
)

// Places are for statements that take something which there is little of: time of the processor, memory,
// the rows of a table. A place that is free goes, of the users who wait and have fewer than Each, to the
// one whose last place was given longest ago. So who asks much does not keep others waiting for all of
// that. The exported fields are set before the first use. It is safe for concurrent use.
type Places[U comparable] struct {
	All  int // how many statements have a place at a time
	Each int // how many of these may be one user's
	Most int // how many statements of a user may wait; 0 for any number

	mu      sync.Mutex
	waiting []*waiter[U] // in the order in which they came
	taken   map[U]int    // places, by user
	inside  int          // the sum of taken
	given   int          // places, so far
	last    map[U]int    // of users: given, when they got their last place
}

// waiter is a statement that waits for a place. Its channel is closed when it has one.
type waiter[U comparable] struct {
	user U
	in   chan struct{}
}

// Enter waits for a place of a user. Errors: Busy if too many of the user wait, and the context's.
// There is no place then.
func (p *Places[U]) Enter(ctx context.Context, user U) error {
	w := &waiter[U]{user, make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.give()
	own := 0
	for _, other := range p.waiting {
		if other.user == user {
			own++
		}
	}
	if p.Most > 0 && own > p.Most {
		p.waiting = p.waiting[:len(p.waiting)-1]
		p.mu.Unlock()
		return sqlerr.New(sqlerr.Busy, "%d of your statements wait already, the most that may", p.Most).WithHint("try again")
	}
	p.mu.Unlock()
	select {
	case <-w.in:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 { // the place came meanwhile
		p.Leave(user)
	}
	return ctx.Err()
}

// Leave gives up a place of a user.
func (p *Places[U]) Leave(user U) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inside--
	if p.taken[user]--; p.taken[user] == 0 {
		delete(p.taken, user)
	}
	p.give()
}

// Crowds reports whether somebody waits for a place of a user, and nobody for one of another.
func (p *Places[U]) Crowds(user U) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 0 && !slices.ContainsFunc(p.waiting, func(w *waiter[U]) bool { return w.user != user })
}

// give gives the free places to those who are next.
func (p *Places[U]) give() {
	for p.inside < p.All {
		var next *waiter[U]
		for _, w := range p.waiting {
			if p.taken[w.user] < p.Each && (next == nil || p.last[w.user] < p.last[next.user]) {
				next = w
			}
		}
		if next == nil {
			break
		}
		if p.taken == nil {
			p.taken, p.last = make(map[U]int), make(map[U]int)
		}
		p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter[U]) bool { return w == next })
		p.inside++
		p.given++
		p.taken[next.user]++
		p.last[next.user] = p.given
		close(next.in)
	}
	if p.inside == 0 { // and nobody waits
		clear(p.last)
	}
}

// Place is a place of a user that is taken when it is first needed. One goroutine uses it.
type Place struct {
	Of     *Places[int64]
	User   int64
	Needed bool // it was taken once
	taken  bool
}

// Take waits for the place, unless it was taken. Errors: those of Enter, and the context's in any case.
func (p *Place) Take(ctx context.Context) error {
	if p.taken {
		return ctx.Err()
	}
	err := p.Of.Enter(ctx, p.User)
	p.taken, p.Needed = err == nil, true
	return err
}

// Leave gives the place up if it was taken.
func (p *Place) Leave() {
	if p.taken {
		p.Of.Leave(p.User)
		p.taken = false
	}
}
