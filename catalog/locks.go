package catalog

import (
	"context"
	"encoding/hex"
	"os"
	"time"

	"github.com/gofrs/flock"

	"dpsql/sqlerr"
)

// Lease is the right to make comparisons with the mechanisms of a file. One Store of
// one process holds it at a time. The system releases it when the process dies: a
// mechanism marked leased while nobody holds the lease was left by a crash.
type Lease struct{ lock *flock.Flock }

// leasePoll is the time between the attempts of a waiting process.
const leasePoll = 2 * time.Millisecond

// AcquireLease waits for the lease, for at most BusyTimeout. It locks a file beside the
// database, which stays there. Errors: Busy, ReadOnly, Cancelled, IO.
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

// Release gives the lease back. A second call does nothing.
func (l *Lease) Release() error {
	if err := l.lock.Close(); err != nil {
		return fileError("unlock", l.lock.Path(), err)
	}
	return nil
}

// Flight is the right to buy one answer. Statements that want the same answer wait
// until it is stored. The system releases the right when the process dies.
type Flight struct{ lock *flock.Flock }

// AcquireFlight waits for the right to buy the answer that the digest names, for at most
// patience, in this process and others. It locks a file beside the database, which
// exists only while the right is held. Errors: Busy, ReadOnly, Cancelled, IO.
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
		case held && hasName(lock, path):
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

// hasName reports whether the locked file is the one that has the name now.
func hasName(lock *flock.Flock, path string) bool {
	mine, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(mine, named)
}

// Land gives the right back. It removes the file while it is locked, so nobody can hold
// a lock on it that others do not see.
func (f *Flight) Land() {
	os.Remove(f.lock.Path())
	f.lock.Close()
}
