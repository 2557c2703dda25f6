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
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
)

// Code classifies an error for programs. It is a target of errors.Is: errors.Is(err, sqlerr.Budget).
type Code string

// Error makes a Code an error, with no more to say than its name.
func (c Code) Error() string { return string(c) }

// The codes, as listed in the SQL reference.
const (
	Malformed   Code = "malformed"   // the text is not SQL
	Unsupported Code = "unsupported" // SQL, but outside the dialect
	Unknown     Code = "unknown"     // no such table, column, release, mechanism
	Exists      Code = "exists"      // what is to be created is there
	Invalid     Code = "invalid"     // a value or option that cannot be accepted
	Uncovered   Code = "uncovered"   // no release or mechanism can answer this query
	Budget      Code = "budget"      // the account cannot pay for this
	Forbidden   Code = "forbidden"   // the role may not do this
	Busy        Code = "busy"        // another process holds what is needed
	ReadOnly    Code = "readonly"    // the file cannot be written
	Corrupt     Code = "corrupt"     // stored state does not verify
	IO          Code = "io"          // the operating system refused
	Cancelled   Code = "cancelled"   // the context ended
	Closed      Code = "closed"      // the database was closed
	Internal    Code = "internal"    // a fault of dpsql
)

// Object is a kind of object, for programs that tell more kinds of Unknown and Exists apart than the codes do.
type Object uint8

// The kinds of object.
const (
	Relation  Object = iota // a table, release, mechanism, user or source, and any other object
	Column                  // of a table
	Function                // or an operator, for arguments of some types
	Type                    // of a cast
	Parameter               // a setting of the session
	Thing                   // a release, mechanism, user or source that exists
)

// Error is a refusal or failure as the user sees it.
type Error struct {
	Code     Code
	Object   Object // what kind of object is unknown or exists, if the code is Unknown or Exists
	Message  string // lower case, no trailing stop
	Hint     string // what to do instead; may be empty
	Position int    // 1-based character in the statement; 0 when none applies

	cause error
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns what the error is because of: the end of a context, or what an argument of the caller's says of itself.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is the error's code.
func (e *Error) Is(target error) bool { return target == e.Code }

// Because returns a copy of e that unwraps to cause, which never stems from a row.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Format implements fmt.Formatter: %+v has the hint, too.
func (e *Error) Format(s fmt.State, verb rune) {
	text := e.Error()
	if s.Flag('+') && e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), text)
}

// LogValue implements slog.LogValuer: a log has the code, the message, the hint and the position.
func (e *Error) LogValue() slog.Value {
	return slog.GroupValue(slog.String("code", string(e.Code)), slog.String("message", e.Message), slog.String("hint", e.Hint), slog.Int("position", e.Position))
}

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
