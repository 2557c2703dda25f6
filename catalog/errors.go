package catalog

import (
	"context"
	"errors"
	"io/fs"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/sqlerr"
)

// translate is the one place where SQLite's errors become dpsql's. SQLite's text is
// dropped, since it can quote values of rows.
func (s *Store) translate(ctx context.Context, err error) error {
	var known *sqlerr.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		return fileError(file.Op, file.Path, err)
	}
	if _, ok := engineCode(err); ok {
		return s.engineError(err)
	}
	return sqlerr.New(sqlerr.Internal, "a step of the database engine failed")
}

func (s *Store) engineError(err error) error {
	code, _ := engineCode(err)
	switch code {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return s.busy()
	case sqlite3.SQLITE_READONLY:
		return s.readOnly()
	case sqlite3.SQLITE_INTERRUPT:
		return sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	case sqlite3.SQLITE_NOTADB:
		return sqlerr.New(sqlerr.Corrupt, "%s is not an SQLite database", s.path)
	case sqlite3.SQLITE_CORRUPT:
		return sqlerr.New(sqlerr.Corrupt, "the SQLite file %s is damaged", s.path)
	case sqlite3.SQLITE_FULL:
		return sqlerr.New(sqlerr.IO, "no space is left for %s", s.path)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return sqlerr.New(sqlerr.IO, "%s cannot be opened", s.path).WithHint("check that the file and its directory exist and are readable")
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOLFS:
		return sqlerr.New(sqlerr.IO, "reading or writing %s failed (SQLite code %d)", s.path, extendedCode(err))
	case sqlite3.SQLITE_TOOBIG:
		return sqlerr.New(sqlerr.Invalid, "a value is larger than SQLite can store")
	}
	return sqlerr.New(sqlerr.Internal, "a step of the database engine failed (SQLite code %d)", extendedCode(err))
}

func (s *Store) busy() error {
	return sqlerr.New(sqlerr.Busy, "another process is writing %s", s.path).WithHint("try again")
}

func (s *Store) readOnly() error {
	if s.options.ReadOnly {
		return sqlerr.New(sqlerr.ReadOnly, "%s was opened for reading only", s.path)
	}
	return sqlerr.New(sqlerr.ReadOnly, "%s or its directory cannot be written", s.path)
}

// engineCode returns SQLite's primary result code. It reports false for other errors.
func engineCode(err error) (int, bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code() & 0xff, true
}

func extendedCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}

// fileError names the file and the system's reason, never file contents.
func fileError(verb, path string, err error) *sqlerr.Error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return sqlerr.New(sqlerr.IO, "cannot %s %s: %v", verb, path, err)
}

// corrupt returns an error that says that stored state does not verify.
func corrupt(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.Corrupt, format, args...).
		WithHint("the file was changed outside dpsql or is damaged; restore a backup")
}
