package server

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/sqlerr"
)

// states are the SQLSTATEs of our codes.
var states = map[sqlerr.Code]string{
	sqlerr.Malformed:   "42601", // syntax_error
	sqlerr.Unsupported: "0A000", // feature_not_supported
	sqlerr.Unknown:     "42P01", // undefined_table; see objectStates
	sqlerr.Exists:      "42P07", // duplicate_table
	sqlerr.Invalid:     "22023", // invalid_parameter_value
	sqlerr.Uncovered:   "55000", // object_not_in_prerequisite_state
	sqlerr.Budget:      "53400", // configuration_limit_exceeded
	sqlerr.Forbidden:   "42501", // insufficient_privilege
	sqlerr.Busy:        "55P03", // lock_not_available
	sqlerr.ReadOnly:    "25006", // read_only_sql_transaction
	sqlerr.Corrupt:     "XX001", // data_corrupted
	sqlerr.IO:          "58030", // io_error
	sqlerr.Cancelled:   "57014", // query_canceled
	sqlerr.Closed:      "57P01", // admin_shutdown
	sqlerr.Internal:    "XX000", // internal_error
}

// stateError is an error of the protocol, with its SQLSTATE.
type stateError struct {
	state, message, hint string
	position             int // 1-based character of the text; 0 if none
}

func (e *stateError) Error() string { return e.message }

func failure(state, format string, args ...any) *stateError {
	return &stateError{state: state, message: fmt.Sprintf(format, args...)}
}

func (e *stateError) withHint(hint string) *stateError {
	e.hint = hint
	return e
}

func (e *stateError) at(position int) *stateError {
	e.position = position
	return e
}

// fatalError ends the connection.
type fatalError struct{ state, message string }

func (e *fatalError) Error() string { return e.message }

func fatal(state, format string, args ...any) *fatalError {
	return &fatalError{state, fmt.Sprintf(format, args...)}
}

func (e *fatalError) response() *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: e.state, Message: e.message}
}

// response returns an error as the client gets it. at moves a position in a statement to that
// in the text that the client sent; nil keeps it.
func response(err error, at func(position int) int) *pgproto3.ErrorResponse {
	r := &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR"}
	position := 0
	var own *stateError
	var e *sqlerr.Error
	switch {
	case errors.As(err, &own):
		r.Code, r.Message, r.Hint, position = own.state, own.message, own.hint, own.position
	case errors.As(err, &e):
		r.Code, r.Message, r.Hint, position = state(e), e.Message, e.Hint, e.Position
	default: // its text could hold a private value
		r.Code, r.Message = states[sqlerr.Internal], "the statement failed inside dpsql"
	}
	if position > 0 && at != nil {
		position = at(position)
	}
	r.Position = int32(position)
	return r
}

// objectStates are the SQLSTATEs of Unknown and Exists for some kinds of object.
var objectStates = map[sqlerr.Object]string{
	sqlerr.Column:    "42703", // undefined_column
	sqlerr.Function:  "42883", // undefined_function
	sqlerr.Type:      "42704", // undefined_object
	sqlerr.Parameter: "42704",
	sqlerr.Thing:     "42710", // duplicate_object
}

func state(e *sqlerr.Error) string {
	if e.Code == sqlerr.Unknown || e.Code == sqlerr.Exists {
		return cmp.Or(objectStates[e.Object], states[e.Code])
	}
	return states[e.Code]
}

// stack returns where a fault happened: files and lines, no values.
func stack() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	var b strings.Builder
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&b, "%s:%d ", filepath.Base(frame.File), frame.Line)
		if !more {
			return b.String()
		}
	}
}
