package places

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"
)

// Shares are what each user has of a server, by all its doors together: turns at the processors, and bytes that are
// kept for her.
//
// Turns are one a message. While another user has sent something within the
// last second, a user has at most all processors but one; and if she is the only one of whom more waits, a
// pause follows each of her turns that is as long. So a processor is free for who asks little, who waits for
// nobody else's turn. With eight connections that prepare and keep what they can, a user made others' free
// answers take 9.2 ms in place of 1.7; with turns they take 3.4 in place of 1.7 (p99 on two processors, TestFloods).
//
// A turn tells nothing of private rows: a statement that reads some has ended it, see engine.Session.SetWaits.
type Shares struct {
	turns Places[string] // turns, with the pauses that follow them; as many as each user may have

	mu      sync.Mutex
	last    string    // the user who came last
	lastAt  time.Time // when she did
	otherAt time.Time // when the last of others came
	held    map[string]int
}

const (
	longTurn = 200 * time.Millisecond // after it who has the turn goes on without
	together = time.Second            // in which users who come are there at the same time
	threads  = 16                     // how many goroutines may compute at a time, at least
)

// NewShares returns the shares of a server whose users have come by no door yet.
//
// It has the system share the processor among statements. With a thread for each processor, a goroutine that
// is woken by its client waits for all that compute, each of which may go on for 10 ms: a user with some
// connections made others' logins take 124 ms in place of 19 (TestFloods).
func NewShares() *Shares {
	runtime.GOMAXPROCS(max(threads, runtime.GOMAXPROCS(0)))
	return &Shares{turns: Places[string]{All: math.MaxInt, Each: max(1, runtime.NumCPU()-1)}, held: make(map[string]int)}
}

// Turn waits for a turn of a user, which end ends. If no other user is there it needs none. A statement that
// reads rows has it until it waits for its slot, see package slots.
func (s *Shares) Turn(user string) (end func()) {
	if s.alone(user) {
		return func() {}
	}
	s.turns.Enter(context.Background(), user) // fails only by its context
	leave := func() { s.turns.Leave(user) }
	begun, long := time.Now(), time.AfterFunc(longTurn, leave)
	return func() {
		switch {
		case !long.Stop():
		case s.turns.Crowds(user):
			time.AfterFunc(time.Since(begun), leave)
		default:
			leave()
		}
	}
}

// alone notes that a user comes, and reports whether no other has for a while.
func (s *Shares) alone(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.last != user {
		s.last, s.otherAt = user, s.lastAt
	}
	s.lastAt = now
	return now.Sub(s.otherAt) > together
}

// MostHeld is how many bytes may be kept for a user.
const MostHeld = 256 << 20

// Hold notes that about so many bytes more are kept for a user, or fewer, if they are then at most some bound. It
// returns whether they are.
func (s *Shares) Hold(user string, more, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.held[user] + more
	if all > most {
		return false
	}
	if s.held[user] = all; all == 0 {
		delete(s.held, user)
	}
	return true
}

// Statement returns about how many bytes a statement of so long a text takes, with its tokens and trees, if it has many
// short expressions.
func Statement(text int) int { return 2<<10 + 250*text }
