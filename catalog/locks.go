package catalog

import (
	"context"
	"encoding/hex"
	"os"
	"time"

	"github.com/gofrs/flock"

	"dpsql/sqlerr"
)

// Lease is the right to make comparisons with the mechanisms of a file. One
// process, and in it one Store, holds it at a time; the system takes it back
// when the process dies, so a mechanism marked leased while nobody holds the
// lease was left by a crash.
type Lease struct{ lock *flock.Flock }

// leasePoll is how often a waiting process tries again.
const leasePoll = 2 * time.Millisecond

// AcquireLease waits for the lease, at most BusyTimeout. It locks a file beside
// the database, which stays there. Errors: Busy, ReadOnly, Cancelled, IO.
func (s *Store) AcquireLease(ctx context.Context) (*Lease, error) {
	if s.ReadOnly() {
		return nil, s.readOnly()
	}
	lock := flock.New(s.path+"-lease", flock.SetPermissions(0o600))
	deadline := time.Now().Add(s.options.BusyTimeout)
	for {
		if ctx.Err() != nil {
			return nil, s.translate(ctx, ctx.Err())
		}
		held, err := lock.TryLock()
		switch {
		case err != nil:
			return nil, fileError("lock", lock.Path(), err)
		case held:
			return &Lease{lock}, nil
		case !time.Now().Before(deadline):
			lock.Close()
			return nil, sqlerr.New(sqlerr.Busy, "another process uses the mechanisms of %s", s.path).WithHint("try again when it is done")
		}
		select {
		case <-ctx.Done():
		case <-time.After(leasePoll):
		}
	}
}

// Release gives the lease back; a second call does nothing.
func (l *Lease) Release() error {
	if err := l.lock.Close(); err != nil {
		return fileError("unlock", l.lock.Path(), err)
	}
	return nil
}

// Flight is the right to buy one answer. Those who want the same one wait for
// it to be stored; the system takes the right back when the process dies.
type Flight struct{ lock *flock.Flock }

// AcquireFlight waits for the right to buy what the digest names, at most
// patience, in this process and others. It locks a file beside the database, which
// is there only as long as the right is held. Errors: Busy, ReadOnly, Cancelled, IO.
func (s *Store) AcquireFlight(ctx context.Context, digest [32]byte, patience time.Duration) (*Flight, error) {
	if s.ReadOnly() {
		return nil, s.readOnly()
	}
	path := s.path + "-flight-" + hex.EncodeToString(digest[:16])
	deadline := time.Now().Add(patience)
	for {
		if ctx.Err() != nil {
			return nil, s.translate(ctx, ctx.Err())
		}
		lock := flock.New(path, flock.SetPermissions(0o600))
		held, err := lock.TryLock()
		switch {
		case err != nil:
			return nil, fileError("lock", path, err)
		case held && isAt(lock, path):
			return &Flight{lock}, nil
		}
		lock.Close() // another's, or one that its holder has just removed
		if held {
			continue
		}
		if !time.Now().Before(deadline) {
			return nil, sqlerr.New(sqlerr.Busy, "the same query is being answered elsewhere").WithHint("try again when it is done")
		}
		select {
		case <-ctx.Done():
		case <-time.After(leasePoll):
		}
	}
}

// isAt reports whether the locked file is the one that has the name now.
func isAt(lock *flock.Flock, path string) bool {
	mine, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(mine, named)
}

// Land gives the right back. The file is removed while it is locked, so that
// nobody can hold a lock on it that others do not see.
func (f *Flight) Land() {
	os.Remove(f.lock.Path())
	f.lock.Close()
}
