// Package slots holds answers back until times that do not depend on private rows.
//
// A statement that reads private rows takes a turn. A table has one turn at a time. The work of a
// turn is done in slots, whose length is the answer time of its tables. What the work finds is
// shown at the end of its slot, never before: that is what Publish and End wait for. The next slot of
// the turn begins, or the turn ends and the reply goes, a public time after that. Work that is not done
// by the end of its slot is late. At that moment the answer times of its tables are doubled, and the
// slot has the doubled length, from the time when it began. So when a slot ends follows from when it
// began, and from how often it was doubled.
//
// That is predictive mitigation (Askarov, Zhang and Myers, Predictive Black-Box Mitigation of
// Timing Channels, CCS 2010) with doubling, a schedule of its own for each table, and no way
// back but a curator's. docs/decisions/036-answer-times.md has the proof.
package slots

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"dpsql/internal/places"
)

// Most is how many statements of a user may wait for one table.
const Most = 64

// Mechanisms is a table's place among lanes that no table has: that of all mechanisms.
const Mechanisms int64 = 0

// Table is a table, or Mechanisms, and its answer time.
type Table struct {
	ID         int64
	AnswerTime time.Duration
}

// Schedule gives out turns. The zero Schedule is ready. It is safe for concurrent use.
type Schedule struct {
	mu    sync.Mutex
	lanes map[int64]*places.Places[int64] // the turns on each table, one at a time
	least map[int64]time.Duration         // doubled answer times that could not be stored
}

// Turn is the right to read the rows of some tables, in slots. One goroutine uses it.
type Turn struct {
	schedule *Schedule
	user     int64
	ids      []int64 // of the tables, ascending
	tables   []Table // in any order
	raise    func([]Table) error

	ended time.Time // the end of the last slot; zero before

	mu    sync.Mutex
	slot  *slot    // nil between slots
	later []func() // to be called at the end of the slot
}

// slot is the time from begin on, until over is closed.
type slot struct {
	begin, end time.Time
	read       bool      // private rows were read in it
	ready      time.Time // when its work was done; zero before
	timer      *time.Timer
	over       chan struct{}
}

// Take waits for a turn of a user on tables. Of those who wait for a table the user gets it whose last
// turn is longest ago, so who asks much does not keep others waiting for all of that. It asks for their answer times once it has the turn, and begins
// the first slot. raise is to store answer times, and not to lower any. Errors: Busy if too
// many of the user wait; the context's, and that of answerTimes, with which there is no turn.
func (s *Schedule) Take(ctx context.Context, user int64, tables []int64, answerTimes func() ([]Table, error), raise func([]Table) error) (*Turn, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(tables)))
	for i, id := range ids { // in this order, so that no two turns wait for each other
		if err := s.lane(id).Enter(ctx, user); err != nil {
			s.leave(user, ids[:i])
			return nil, err
		}
	}
	t := &Turn{schedule: s, user: user, ids: ids, raise: raise}
	var err error
	if t.tables, err = answerTimes(); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.leave(user, ids)
		return nil, err
	}
	s.remember(t)
	t.begin()
	return t, nil
}

// lane returns the turns on a table.
func (s *Schedule) lane(id int64) *places.Places[int64] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes == nil {
		s.lanes = make(map[int64]*places.Places[int64])
	}
	if s.lanes[id] == nil {
		s.lanes[id] = &places.Places[int64]{All: 1, Each: 1, Most: Most}
	}
	return s.lanes[id]
}

// leave gives the tables to those whose turn is next.
func (s *Schedule) leave(user int64, tables []int64) {
	for _, id := range tables {
		s.lane(id).Leave(user)
	}
}

// remember raises answer times to those that could not be stored, and tries to store them again.
func (s *Schedule) remember(t *Turn) {
	s.mu.Lock()
	again := false
	for i := range t.tables {
		if least := s.least[t.tables[i].ID]; least > t.tables[i].AnswerTime {
			t.tables[i].AnswerTime, again = least, true
		}
	}
	s.mu.Unlock()
	if again {
		s.store(t)
	}
}

// store stores the answer times of a turn. Where that fails, this process keeps to them all the
// same.
func (s *Schedule) store(t *Turn) {
	err := t.raise(t.tables)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, table := range t.tables {
		if err == nil {
			delete(s.least, table.ID)
			continue
		}
		if s.least == nil {
			s.least = make(map[int64]time.Duration)
		}
		s.least[table.ID] = table.AnswerTime
	}
}

// Covers reports whether the turn is for all of these tables. A nil turn is for none.
func (t *Turn) Covers(tables []int64) bool {
	for _, id := range tables {
		if t == nil || !slices.Contains(t.ids, id) {
			return false
		}
	}
	return true
}

// begin begins a slot.
func (t *Turn) begin() {
	s := &slot{begin: t.settle(), over: make(chan struct{})}
	length := t.length()
	s.end = s.begin.Add(length)
	t.slot = s
	t.mu.Lock() // the timer may fire before it is kept
	defer t.mu.Unlock()
	s.timer = time.AfterFunc(time.Until(s.end)-coarse, func() { t.expire(s) })
}

// length returns the longest of the answer times.
func (t *Turn) length() time.Duration {
	longest := time.Millisecond
	for _, table := range t.tables {
		longest = max(longest, table.AnswerTime)
	}
	return longest
}

// expire doubles a slot whose work was not done before its end. If it is done now, the slot is over at the
// end that it has then.
func (t *Turn) expire(s *slot) {
	sleepUntil(s.end)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.ready.IsZero() && s.ready.Before(s.end) {
		close(s.over)
		return
	}
	for i := range t.tables {
		t.tables[i].AnswerTime *= 2
	}
	s.end = s.begin.Add(t.length())
	t.schedule.store(t) // work that is done meanwhile waits for it
	s.timer.Reset(time.Until(s.end) - coarse)
}

// Read says that private rows are about to be read. It begins a slot if none has begun.
func (t *Turn) Read() {
	if t.slot == nil {
		t.begin()
	}
	t.slot.read = true
}

// Publish is called before anything is written that others can see. It waits for the end of the
// slot if rows were read in it.
func (t *Turn) Publish() {
	if t.slot != nil && t.slot.read {
		t.wait()
	}
}

// Later has f called at the end of the slot.
func (t *Turn) Later(f func()) { t.later = append(t.later, f) }

// wait waits for the end of the slot, itself unless its end is watched already.
func (t *Turn) wait() {
	s := t.slot
	now := time.Now() // the work is done now, whatever it has to wait for
	t.mu.Lock()
	s.ready = now
	stopped := now.Before(s.end) && s.timer.Stop()
	t.mu.Unlock()
	if stopped {
		sleepUntil(s.end)
	} else {
		<-s.over
	}
	t.slot, t.ended = nil, s.end
	for _, f := range t.later {
		f()
	}
	t.later = nil
}

// Settling returns how long a turn does nothing more after a slot of a length: as long, at most
// 25 ms. What the slot found is committed meanwhile, and the machine forgets how much it worked in the
// slot: a processor that has just read rows answers quicker or slower than one that waited.
func Settling(length time.Duration) time.Duration { return min(length, 25*time.Millisecond) }

// settle waits until the turn has settled after its last slot. It returns that time, or the present
// if commits took longer or there was no slot.
func (t *Turn) settle() time.Time {
	now := time.Now()
	if t.ended.IsZero() {
		return now
	}
	settled := t.ended.Add(Settling(t.length()))
	if settled.Before(now) {
		return now
	}
	sleepUntil(settled)
	return settled
}

// End waits for the end of the slot, settles and gives up the turn. It must be called once.
func (t *Turn) End() {
	if t.slot != nil {
		t.wait()
	}
	t.settle()
	t.schedule.leave(t.user, t.ids)
}

// Two bounds of how late a sleeper is on a machine that has nothing else to do: one that a timer of
// the runtime wakes, and one that the operating system wakes.
const (
	coarse = 3 * time.Millisecond
	fine   = 300 * time.Microsecond
)

// sleepUntil waits for a moment. The runtime waits for timers in whole milliseconds, which it counts
// from when the process had nothing to do any more: that is when work ended, so a timer alone
// would tell it. So the operating system is asked for the last milliseconds, and the last of
// these are watched.
func sleepUntil(at time.Time) {
	time.Sleep(time.Until(at) - coarse)
	nap(time.Until(at) - fine)
	stood := 0
	for now := time.Now(); now.Before(at); {
		runtime.Gosched()
		next := time.Now()
		if stood++; next.After(now) {
			now, stood = next, 0
		} else if stood == standing {
			time.Sleep(at.Sub(next))
			return
		}
	}
}

// standing is how often a clock is looked at that stands still, as clocks of tests do, before it is
// left to the runtime.
const standing = 10_000
