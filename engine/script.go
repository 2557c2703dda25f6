package engine

import (
	"io"

	"dpsql/sqlfront"
)

// Input is one statement or dot-command of a script, with where it starts.
type Input = sqlfront.Input

// Scanner cuts a script into inputs as it arrives.
type Scanner = sqlfront.Scanner

// NewScanner returns a scanner of r.
func NewScanner(r io.Reader) *Scanner { return sqlfront.NewScanner(r) }

// Incomplete reports whether text is the beginning of a statement that goes
// on: no terminating semicolon yet, or an open string or comment.
func Incomplete(text string) bool { return sqlfront.Incomplete(text) }

// Parameters returns the names of the arguments a statement takes, in their
// order; "" for those without a name.
func Parameters(text string) ([]string, error) { return sqlfront.Parameters(text) }
