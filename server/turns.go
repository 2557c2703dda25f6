package server

import (
	"runtime"
	"sync"
	"time"
)

// turns are those of users at the processors, one a message. While another user has sent something within the
// last second, a user has at most all processors but one; and if she is the only one of whom more waits, a
// pause follows each of her turns that is as long. So a processor is free for who asks little, who waits for
// nobody else's turn. With eight connections that prepare and keep what they can, a user made others' free
// answers take 9.2 ms in place of 1.7; with turns they take 3.4 in place of 1.7 (p99 on two processors, TestFloods).
//
// A turn tells nothing of private rows: a statement that reads some has ended it, see engine.Session.SetWaits.
type turns struct {
	mu      sync.Mutex
	lanes   map[string]*lane // of the users who have turns
	waits   int              // lanes in which somebody waits
	last    string           // the user who came last
	lastAt  time.Time        // when she did
	otherAt time.Time        // when the last of others came
}

// lane has the turns of one user.
type lane struct {
	taken   int             // turns, with the pauses that follow them
	waiting []chan struct{} // in the order in which they came; each is closed when its turn begins
}

const (
	longTurn = 200 * time.Millisecond // after it who has the turn goes on without
	together = time.Second            // in which users who come are there at the same time
)

func newTurns() *turns { return &turns{lanes: make(map[string]*lane)} }

// take waits for a turn of a user, which end ends. If no other user is there it needs none. A statement that
// reads rows has it until it waits for its slot, see package slots.
func (t *turns) take(user string) (end func()) {
	t.mu.Lock()
	if t.alone(user) {
		t.mu.Unlock()
		return func() {}
	}
	l := t.lanes[user]
	if l == nil {
		l = new(lane)
		t.lanes[user] = l
	}
	if l.taken < max(1, runtime.NumCPU()-1) {
		l.taken++
		t.mu.Unlock()
	} else {
		turn := make(chan struct{})
		if l.waiting = append(l.waiting, turn); len(l.waiting) == 1 {
			t.waits++
		}
		t.mu.Unlock()
		<-turn
	}
	begun, long := time.Now(), time.AfterFunc(longTurn, func() { t.give(user, l) })
	return func() {
		if !long.Stop() {
			return
		}
		t.mu.Lock()
		pause := t.waits == 1 && len(l.waiting) > 0
		t.mu.Unlock()
		if pause {
			time.AfterFunc(time.Since(begun), func() { t.give(user, l) })
			return
		}
		t.give(user, l)
	}
}

// alone notes that a user comes, and reports whether no other has for a while.
func (t *turns) alone(user string) bool {
	now := time.Now()
	if t.last != user {
		t.last, t.otherAt = user, t.lastAt
	}
	t.lastAt = now
	return now.Sub(t.otherAt) > together
}

// give gives a turn that is over to who has waited longest.
func (t *turns) give(user string, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(l.waiting) == 0 {
		if l.taken--; l.taken == 0 {
			delete(t.lanes, user)
		}
		return
	}
	close(l.waiting[0])
	if l.waiting = l.waiting[1:]; len(l.waiting) == 0 {
		t.waits--
	}
}
