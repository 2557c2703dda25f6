package catalog

import (
	"context"
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
