package main

import (
	"errors"
	"io/fs"
	"os"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// failure is an error with its place: the statement that failed and, in a
// script, the file, line and column.
type failure struct {
	err       *sqlerr.Error
	statement string
	file      string // "" outside scripts
	line      int
	column    int
}

// Error returns the error without its place.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the error itself.
func (f *failure) Unwrap() error { return f.err }

// locate adds the place of the input that failed, unless an inner script has
// added its own.
func locate(err error, file string, input engine.Input) error {
	var f *failure
	if err == nil || errors.Is(err, errQuit) || errors.As(err, &f) {
		return err
	}
	f = &failure{err: public(err), statement: input.Text, file: file}
	f.line, f.column = input.Locate(f.err.Position)
	return f
}

// public returns the error to show: errors of unknown kinds lose their text,
// which could carry a value.
func public(err error) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e
	}
	return sqlerr.New(sqlerr.Internal, "the statement failed inside dpsql")
}

// cannotOpen words the system's refusal to open a script.
func cannotOpen(name string, err error) error {
	e := sqlerr.New(sqlerr.IO, "cannot open %s: %v", name, systemReason(err))
	if errors.Is(err, fs.ErrNotExist) {
		return e.WithHint("a path is relative to the script that names it, else to the working directory")
	}
	return e
}

// systemReason returns the reason alone of an error about a file.
func systemReason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}
