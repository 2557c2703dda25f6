package catalog

import (
	"context"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// maxUnnoticed is how long commits of programs other than this one can stay
// unnoticed by Recent.
const maxUnnoticed = 100 * time.Millisecond

// Recent is Version at a fraction of its cost, which is that of several system
// calls: it notices at once what any Store, of this process or another, has
// committed, and within a tenth of a second what other programs have. What
// charges or reads rows asks Version, or looks within its transaction.
func (s *Store) Recent(ctx context.Context) (Version, error) {
	c := &s.commits
	c.mu.Lock()
	v, at := c.latest, c.asked
	n, counted := c.load()
	fresh := counted && n == c.before && v.Known() && time.Since(at) < maxUnnoticed
	if !fresh {
		n, counted = c.join(s.markPath(), false)
		at = time.Now()
	}
	file := c.file
	c.mu.Unlock()
	if fresh {
		return v, nil
	}
	v, err := s.Version(ctx) // of commits up to the n-th at least
	if err == nil && counted {
		c.mu.Lock()
		if c.file == file {
			c.latest, c.asked, c.before = v, at, n
		}
		c.mu.Unlock()
	}
	return v, err
}

// commits counts the commits of Stores to one database, in memory that all of
// them share: a number behind the marks in their file, once there is one. A
// process that dies between a commit and counting it has told nobody of the
// commit. Where the file cannot be shared nothing is counted, and Recent is
// Version.
type commits struct {
	mu     sync.Mutex
	shared sharedNumber
	file   os.FileInfo // which file is shared
	closed bool

	latest Version   // the last one that was asked for
	asked  time.Time // when
	before uint64    // the count before that
}

// load returns the count, as for all others with mu held.
func (c *commits) load() (n uint64, ok bool) { return c.plus(0) }

// plus adds to the count and returns it. One in a file that was cut off
// meanwhile is none.
func (c *commits) plus(more uint64) (n uint64, ok bool) {
	if c.shared.number == nil {
		return 0, false
	}
	defer func() {
		if recover() != nil {
			n, ok = 0, false
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if more == 0 { // it may be read only
		return c.shared.number.Load(), true
	}
	return c.shared.number.Add(more), true
}

// join shares the count of the file that is at the path now, and returns it.
func (c *commits) join(path string, writer bool) (n uint64, ok bool) {
	if info, err := os.Stat(path); err == nil && c.file != nil && os.SameFile(info, c.file) && (c.shared.writable || !writer) {
		return c.load()
	}
	c.leave()
	if c.closed {
		return 0, false
	}
	f, err := openCount(path, writer)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < countEnd {
		return 0, false
	}
	if c.shared, err = share(f, writer); err != nil {
		return 0, false
	}
	c.file = info
	return c.load()
}

// The count stands behind the marks.
const (
	countAt  = marks * markSize
	countEnd = countAt + 8
)

// openCount opens the file of the marks; a writer gives it room for the count.
func openCount(path string, writer bool) (*os.File, error) {
	if !writer {
		return os.Open(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Size() < countEnd {
		_ = f.Truncate(countEnd) // else its size says that there is no room
	}
	return f, nil
}

// count counts a commit. What cannot be counted is noticed later.
func (c *commits) count(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.join(path, true)
	c.plus(1)
}

// close ends the sharing.
func (c *commits) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.leave()
}

func (c *commits) leave() {
	c.shared.close()
	c.shared, c.file, c.latest = sharedNumber{}, nil, Version{}
}

// sharedNumber is a number in memory that processes share.
type sharedNumber struct {
	number   *atomic.Uint64 // nil: there is none
	writable bool
	memory   []byte
}
