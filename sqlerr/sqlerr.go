// Package sqlerr is the one error type that reaches a user: a code for
// programs, a message and a hint for people, and a position in the statement.
//
// A message may name tables, columns and options; it never carries a value
// read from a private row, nor the text of an error of the underlying engine,
// which can contain one.
package sqlerr

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Code classifies an error for programs.
type Code string

// The codes, as listed in the SQL reference.
const (
	Malformed   Code = "malformed"   // the text is not SQL
	Unsupported Code = "unsupported" // SQL, but outside the dialect
	Unknown     Code = "unknown"     // no such table, column, release, mechanism
	Invalid     Code = "invalid"     // a value or option that cannot be accepted
	Uncovered   Code = "uncovered"   // no release or mechanism can answer this query
	Budget      Code = "budget"      // the account cannot pay for this
	Forbidden   Code = "forbidden"   // the role may not do this
	Busy        Code = "busy"        // another process holds what is needed
	ReadOnly    Code = "readonly"    // the file cannot be written
	Corrupt     Code = "corrupt"     // stored state does not verify
	IO          Code = "io"          // the operating system refused
	Cancelled   Code = "cancelled"   // the context ended
	Internal    Code = "internal"    // a fault of dpsql
)

// Object is a kind of object, for programs that tell more kinds of Unknown apart than the code does.
type Object uint8

// The kinds of object.
const (
	Relation  Object = iota // a table, release, mechanism, user or source, and any other object
	Column                  // of a table
	Function                // or an operator, for arguments of some types
	Type                    // of a cast
	Parameter               // a setting of the session
)

// Error is a refusal or failure as the user sees it.
type Error struct {
	Code     Code
	Object   Object // what kind of object is unknown, if the code is Unknown
	Message  string // lower case, no trailing stop
	Hint     string // what to do instead; may be empty
	Position int    // 1-based character in the statement; 0 when none applies
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// New returns an error with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Of returns a copy of e that says which kind of object it is about.
func (e *Error) Of(o Object) *Error {
	c := *e
	c.Object = o
	return &c
}

// WithHint returns a copy of e with the hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// At returns a copy of e with the position, unless e already has one.
func (e *Error) At(position int) *Error {
	if e.Position != 0 {
		return e
	}
	c := *e
	c.Position = position
	return &c
}

// Locate gives an error of ours the position of the word it is about, as At does. Any
// other error is returned as it is.
func Locate(err error, position int) error {
	var e *Error
	if errors.As(err, &e) {
		return e.At(position)
	}
	return err
}

// Move gives an error of ours the position that to returns for its own, as where the text
// it is about is a part of a longer one. Any other error, and one without a position, is
// returned as it is.
func Move(err error, to func(position int) int) error {
	var e *Error
	if !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	c := *e
	c.Position = to(e.Position)
	return &c
}

// CodeOf returns the code of the first Error in err's chain, Internal for any
// other error and "" for nil.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return Internal
}

// Guard runs f and turns a panic into an Internal error that says where it
// happened. What the panic said is dropped, because it could hold a private
// value.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = New(Internal, "dpsql itself failed%s", panicSite()).
				WithHint("this is a fault of dpsql: please report the statement and this place")
		}
	}()
	return f()
}

// panicSite returns the file and line that panicked.
func panicSite() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
