package server

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"dpsql/internal/places"
)

// turns are those of users at the processors, one a message. While another user has sent something within the
// last second, a user has at most all processors but one; and if she is the only one of whom more waits, a
// pause follows each of her turns that is as long. So a processor is free for who asks little, who waits for
// nobody else's turn. With eight connections that prepare and keep what they can, a user made others' free
// answers take 9.2 ms in place of 1.7; with turns they take 3.4 in place of 1.7 (p99 on two processors, TestFloods).
//
// A turn tells nothing of private rows: a statement that reads some has ended it, see engine.Session.SetWaits.
type turns struct {
	places places.Places[string] // turns, with the pauses that follow them; as many as each user may have

	mu      sync.Mutex
	last    string    // the user who came last
	lastAt  time.Time // when she did
	otherAt time.Time // when the last of others came
}

const (
	longTurn = 200 * time.Millisecond // after it who has the turn goes on without
	together = time.Second            // in which users who come are there at the same time
)

func newTurns() *turns {
	return &turns{places: places.Places[string]{All: math.MaxInt, Each: max(1, runtime.NumCPU()-1)}}
}

// take waits for a turn of a user, which end ends. If no other user is there it needs none. A statement that
// reads rows has it until it waits for its slot, see package slots.
func (t *turns) take(user string) (end func()) {
	if t.alone(user) {
		return func() {}
	}
	t.places.Enter(context.Background(), user) // fails only by its context
	leave := func() { t.places.Leave(user) }
	begun, long := time.Now(), time.AfterFunc(longTurn, leave)
	return func() {
		switch {
		case !long.Stop():
		case t.places.Crowds(user):
			time.AfterFunc(time.Since(begun), leave)
		default:
			leave()
		}
	}
}

// alone notes that a user comes, and reports whether no other has for a while.
func (t *turns) alone(user string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.last != user {
		t.last, t.otherAt = user, t.lastAt
	}
	t.lastAt = now
	return now.Sub(t.otherAt) > together
}
