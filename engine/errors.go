package engine

import (
	"context"
	"errors"

	"dpsql/sqlerr"
)

// public returns the error as a user may see it: ours as they are, the end of
// the context as cancelled, and anything else without its text, which could
// carry a private value.
func public(ctx context.Context, err error) *sqlerr.Error {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	}
	return sqlerr.New(sqlerr.Internal, "the statement failed inside dpsql")
}
