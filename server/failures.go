package server

import (
	"sync"
	"time"
)

// failures slows down who guesses passwords. Failed logins are counted for each name and each
// address that was given, whether there is such a user or not.
type failures struct {
	mu  sync.Mutex
	all map[string]misses
	now func() time.Time
}

type misses struct {
	count int
	last  time.Time
}

const (
	freeFailures   = 3                // that cost no time
	firstDelay     = time.Second / 4  // of the next one, doubled for each that follows
	longestDelay   = 8 * time.Second  // less than what a login may take
	forgetFailures = 15 * time.Minute // after the last
	mostFailures   = 10_000           // names and addresses to remember
)

// named and placed return what the failures of a name and of an address are kept by. No user has
// a longer name than is kept.
func named(user string) string { return "user " + user[:min(len(user), 64)] }

func placed(address string) string { return "from " + address }

func newFailures() failures { return failures{all: make(map[string]misses), now: time.Now} }

// delay returns how long the next login of a name from an address has to wait.
func (f *failures) delay(user, address string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := max(f.count(named(user)), f.count(placed(address)))
	if count <= freeFailures {
		return 0
	}
	return min(firstDelay<<min(count-freeFailures-1, 10), longestDelay)
}

func (f *failures) count(of string) int {
	entry := f.all[of]
	if f.now().Sub(entry.last) > forgetFailures {
		return 0
	}
	return entry.count
}

// failed counts a login that failed.
func (f *failures) failed(user, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range []string{named(user), placed(address)} {
		if len(f.all) >= mostFailures {
			f.clean()
		}
		f.all[of] = misses{f.count(of) + 1, f.now()}
	}
}

// clean forgets what is old, and if nothing is, the tenth part of everything.
func (f *failures) clean() {
	for of := range f.all {
		if f.count(of) == 0 {
			delete(f.all, of)
		}
	}
	for of := range f.all {
		if len(f.all) < mostFailures*9/10 {
			break
		}
		delete(f.all, of)
	}
}

// succeeded forgets the failures of a name and an address.
func (f *failures) succeeded(user, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, named(user))
	delete(f.all, placed(address))
}
