package scram

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Failures slows down who guesses passwords. A proof of a password is counted as a failure before it is looked
// at, whether there is such a user or not, and taken back if it is none. Those of a name are looked at one
// after another, each some time after the one before; those from where its last login came are
// apart, so that nobody elsewhere makes her wait. Those of an address only wait, and less. All doors of a
// database have one Failures. It is safe for concurrent use.
type Failures struct {
	mu    sync.Mutex
	all   map[string]misses
	homes map[string]string // the network of the last login of each name that had one
	now   func() time.Time
}

type misses struct {
	count int
	last  time.Time
	next  time.Time // when the next one may begin
}

const (
	freeFailures   = 3                // that cost no time
	firstDelay     = time.Second / 4  // of the next one, doubled for each that follows
	longestDelay   = 8 * time.Second  // less than what a login may take; who would wait longer is refused
	lighter        = 10               // so many failures of an address are as one of a name
	addressDelay   = time.Second      // the longest for an address
	forgetFailures = 15 * time.Minute // after the last
	mostFailures   = 10_000           // names and addresses to remember
)

// named and placed return what the failures of a name and of an address are kept by. No user has
// a longer name than is kept.
func named(user string) string { return "user " + user[:min(len(user), 64)] }

func placed(network string) string { return "from " + network }

// NewFailures returns Failures without any.
func NewFailures() *Failures {
	return &Failures{all: make(map[string]misses), homes: make(map[string]string), now: time.Now}
}

// Attempt is the proof of a login, of a name from a network.
type Attempt struct {
	name, network string
	counted       []string      // what it was counted for
	Wait          time.Duration // before the proof may be looked at
}

// Begin counts a login as one that failed, and says how long it has to wait. It refuses, and counts nothing,
// where that would be too long.
func (f *Failures) Begin(user, network string) (a Attempt, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	a = Attempt{name: named(user), network: network, counted: []string{named(user), placed(network)}}
	if f.homes[a.name] == network {
		a.counted = []string{"home of " + a.name}
	}
	if a.Wait = max(0, f.at(a.counted[0]).next.Sub(now)); a.Wait > longestDelay {
		return a, false
	}
	own := a.Wait
	for i, of := range a.counted {
		if len(f.all) >= mostFailures {
			f.clean()
		}
		m := f.at(of)
		m.count, m.last = m.count+1, now
		if i == 0 {
			m.next = now.Add(own + delay(m.count))
		} else {
			a.Wait = max(own, min(delay(m.count/lighter), addressDelay))
		}
		f.all[of] = m
	}
	return a, true
}

// delay returns the time after so many failures.
func delay(count int) time.Duration {
	if count <= freeFailures {
		return 0
	}
	return min(firstDelay<<min(count-freeFailures-1, 10), longestDelay)
}

func (f *Failures) at(of string) misses {
	if m := f.all[of]; f.now().Sub(m.last) <= forgetFailures {
		return m
	}
	return misses{}
}

// clean forgets what is old, and then what failed least, until a tenth is free.
func (f *Failures) clean() {
	for count := 0; len(f.all) > mostFailures*9/10; count++ {
		for of := range f.all {
			if f.at(of).count <= count {
				delete(f.all, of)
			}
		}
	}
}

// TakeBack takes back what was counted for a login whose proof was not looked at, or is right.
func (f *Failures) TakeBack(a Attempt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range a.counted {
		if m := f.at(of); m.count > 0 {
			m.next = m.next.Add(-delay(m.count))
			m.count--
			f.all[of] = m
		}
	}
}

// Succeeded forgets the failures of a name.
func (f *Failures) Succeeded(a Attempt) {
	f.TakeBack(a)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, a.counted[0])
	f.homes[a.name] = a.network
}

// Network returns what one client may have many addresses of, with ports or without: an address of IPv4, or the first
// 64 bits of one of IPv6.
func Network(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	prefix, _ := a.WithZone("").Prefix(64) // never fails for IPv6
	return prefix.String()
}
