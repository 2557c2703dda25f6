package catalog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"dpsql/sqlerr"
)

// resolve returns the absolute path of the file with all symbolic links resolved.
// Every Store must use the same name, since SQLite's side files, the marks and the
// locks stand beside it.
func resolve(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", sqlerr.New(sqlerr.Invalid, "the path of the database is empty or contains a NUL")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fileError("resolve", path, err)
	}
	if full, err := filepath.EvalSymlinks(absolute); err == nil {
		return full, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil {
		return filepath.Join(dir, filepath.Base(absolute)), nil
	}
	return absolute, nil
}

// ReadOnly reports whether a Write must fail, by option or because the file or its
// directory cannot be written.
func (s *Store) ReadOnly() bool {
	if s.options.ReadOnly {
		return true
	}
	return !s.diskWritable()
}

// diskWritable reports whether the file can be written or made. It is true if the
// directory is missing, because making the file then gives the better error.
func (s *Store) diskWritable() bool {
	if s.memory != "" {
		return true
	}
	dir := filepath.Dir(s.path)
	return (writable(dir) || missing(dir)) && (writable(s.path) || missing(s.path))
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return err != nil
}

// identify checks that the file is the one seen before, and reports whether it
// exists. It never opens the file: closing a descriptor would drop the POSIX locks
// that SQLite holds in this process. Symbolic links were resolved when the Store was
// opened, so a link that is there now is the name of another file.
func (s *Store) identify() (exists bool, err error) {
	info, err := os.Lstat(s.path)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false, sqlerr.New(sqlerr.Closed, "the database was closed")
	case s.memory != "":
		return true, nil
	case err != nil && !os.IsNotExist(err):
		return false, fileError("open", s.path, err)
	case err != nil && s.file == nil:
		return false, nil
	case err != nil, s.file != nil && !os.SameFile(s.file, info):
		return false, sqlerr.New(sqlerr.IO, "%s was moved or replaced while it was open", s.path).WithHint("open it again")
	case s.file != nil && info.Size() < 512 && info.Size() < s.file.Size():
		return false, corrupt("%s was cut while it was open", s.path)
	case info.IsDir():
		return false, sqlerr.New(sqlerr.IO, "%s is a directory", s.path)
	case info.Mode().Type() == fs.ModeSymlink:
		return false, sqlerr.New(sqlerr.IO, "%s is a symbolic link to a file that does not exist", s.path).WithHint("name the file itself")
	case !info.Mode().IsRegular():
		return false, sqlerr.New(sqlerr.IO, "%s is not a regular file", s.path)
	}
	s.file = info
	return true, nil
}

// createFile makes an empty database, readable by its owner only, unless the file
// exists.
func (s *Store) createFile() error {
	exists, err := s.identify()
	if err != nil || exists {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(s.path), newFile) // mode 0600
	if err != nil {
		return fileError("create", s.path, err)
	}
	defer os.Remove(temp.Name())
	if err := temp.Close(); err != nil {
		return fileError("create", s.path, err)
	}
	if err := placeNew(temp.Name(), s.path); err != nil && !os.IsExist(err) {
		return fileError("create", s.path, err)
	}
	os.Remove(temp.Name()) // now, so that the file has one name
	_, err = s.identify()
	return err
}

// placeNew renames the finished file temp to path, unless that name is taken
// (os.IsExist). Another process never sees a half-made file.
func placeNew(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil || os.IsExist(err) {
		return err
	}
	// A file system without hard links: claim the name, then replace it.
	claim, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := claim.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// syncDirectory makes new names in a directory durable.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fileError("sync", path, err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fileError("sync", path, err)
	}
	return nil
}

// newFile is the pattern of temporary names, under which new files are made.
const newFile = ".dpsql-new-*"

// checkOneName refuses to write a file that has several names. SQLite keeps the
// write-ahead log beside the name that the file is opened by, and the marks and locks
// stand there too. A writer that uses another name does not see the charges made under
// this one, so each name would have a ledger of its own. The caller has just identified
// the file.
func (s *Store) checkOneName() error {
	if s.memory != "" || s.hardLinks() <= 1 { // some file systems say 0
		return nil
	}
	s.removeNewNames()
	if _, err := s.identify(); err != nil {
		return err
	}
	if names := s.hardLinks(); names > 1 {
		return sqlerr.New(sqlerr.ReadOnly, "%s has %d names (hard links), and each would have a ledger of its own", s.path, names).
			WithHint("close the database everywhere and remove the other names; find -samefile lists them")
	}
	return nil
}

// hardLinks returns how many names the file had when it was last identified.
func (s *Store) hardLinks() uint64 {
	if file := s.identified(); file != nil {
		return countLinks(s.path, file)
	}
	return 1 // it is gone again
}

func (s *Store) identified() os.FileInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file
}

// removeNewNames removes temporary names that the file still has. Its maker is about
// to remove them, or was killed before it could.
func (s *Store) removeNewNames() {
	dir := filepath.Dir(s.path)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if made, _ := filepath.Match(newFile, e.Name()); !made {
			continue
		}
		if info, err := e.Info(); err == nil && os.SameFile(info, s.identified()) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// checkNotMounted refuses to write a file that is mounted by itself, as in a
// container, and not with its folder. Under the mounted name the file has another
// write-ahead log than under its own. Only Linux lists its mounts.
func (s *Store) checkNotMounted() error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !isMounted(mounts, s.path) {
		return nil
	}
	return sqlerr.New(sqlerr.ReadOnly, "%s is mounted by itself, and what stands beside it in its own folder is not here", s.path).
		WithHint("mount the folder that holds it")
}

// isMounted reports whether a path is a mount point. In the list of mounts, mount
// points are the fifth field, with octal escapes for blanks and backslashes.
func isMounted(mounts []byte, path string) bool {
	for line := range bytes.Lines(mounts) {
		fields := strings.Fields(string(line))
		if len(fields) > 4 && unescapeMount(fields[4]) == path {
			return true
		}
	}
	return false
}

func unescapeMount(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if i+3 < len(text) && text[i] == '\\' {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Lease is the right to make comparisons with the mechanisms of a file. One Store of
// one process holds it at a time. The system releases it when the process dies: a
// mechanism marked leased while nobody holds the lease was left by a crash.
type Lease struct{ lock *flock.Flock }

// leasePoll is the time between the attempts of a waiting process.
const leasePoll = 2 * time.Millisecond

// AcquireLease waits at most BusyTimeout for the lease. It locks a file beside the
// database and never removes that file. Errors: Busy, ReadOnly, Cancelled, IO.
func (s *Store) AcquireLease(ctx context.Context) (*Lease, error) {
	lock, err := s.lockBeside(ctx, "-lease", s.options.BusyTimeout,
		sqlerr.New(sqlerr.Busy, "another process uses the mechanisms of %s", s.path).WithHint("try again when it is done"))
	if err != nil {
		return nil, err
	}
	return &Lease{lock}, nil
}

// Held reports whether others still find the lease taken. They do not once its file was
// removed or replaced: then somebody else may have the lease.
func (l *Lease) Held() bool { return hasName(l.lock, l.lock.Path()) }

// lockBeside waits at most patience for the lock of a file beside the database, and then
// returns the error busy.
func (s *Store) lockBeside(ctx context.Context, suffix string, patience time.Duration, busy error) (*flock.Flock, error) {
	if s.ReadOnly() {
		return nil, s.readOnly()
	}
	path, deadline := s.path+suffix, time.Now().Add(patience)
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
			return lock, nil
		}
		lock.Close() // another's, or one that was just removed
		if held {
			continue
		}
		if !time.Now().Before(deadline) {
			return nil, busy
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

// Flight is the right to buy one answer, or to build one thing. Statements that want the same wait
// until it is stored. The system releases the right when the process dies.
type Flight struct {
	store  *Store
	digest [32]byte
	lock   *flock.Flock
	landed chan struct{}
}

// AcquireFlight waits for the right that the digest names: for holders of this Store as long as the context lasts, and at
// most patience for another process. doing says what the holder does. AcquireFlight locks a file
// beside the database. That file exists only while the right is held. Errors: Busy,
// ReadOnly, Cancelled, IO.
func (s *Store) AcquireFlight(ctx context.Context, digest [32]byte, patience time.Duration, doing string) (*Flight, error) {
	f := &Flight{store: s, digest: digest, landed: make(chan struct{})}
	for _, others := s.flights.LoadOrStore(digest, f); others; _, others = s.flights.LoadOrStore(digest, f) {
		if _, err := s.Landed(ctx, digest); err != nil {
			return nil, err
		}
	}
	var err error
	if f.lock, err = s.lockBeside(ctx, "-flight-"+hex.EncodeToString(digest[:16]), patience,
		sqlerr.New(sqlerr.Busy, "%s elsewhere", doing).WithHint("try again when it is done")); err != nil {
		f.end()
		return nil, err
	}
	return f, nil
}

// Landed waits until a holder of this Store gives a right back. It returns false if there is none. Errors: Cancelled.
func (s *Store) Landed(ctx context.Context, digest [32]byte) (bool, error) {
	f, ok := s.flights.Load(digest)
	if !ok {
		return false, nil
	}
	select {
	case <-f.(*Flight).landed:
		return true, nil
	case <-ctx.Done():
		return false, s.translate(ctx, ctx.Err())
	}
}

// end lets those go on who wait in this process.
func (f *Flight) end() {
	f.store.flights.Delete(f.digest)
	close(f.landed)
}

// hasName reports whether the name still belongs to the locked file.
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
	f.end()
}
