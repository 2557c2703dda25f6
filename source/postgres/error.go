package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/source"
	"dpsql/sqlerr"
)

// failure replaces an error of the server or of the connection by one that names only
// the source. The original can carry a value of a row or a password.
func failure(ctx context.Context, err error, source string) error {
	var own *sqlerr.Error
	if errors.As(err, &own) {
		return own
	}
	return faultOf(ctx, err).errorFor(source)
}

// fault is the code, text and hint that replace an error of the server.
type fault struct {
	code  sqlerr.Code
	words string
	hint  string
}

func (f fault) errorFor(source string) *sqlerr.Error {
	e := sqlerr.New(f.code, "%s while reading %s", f.words, source)
	if f.hint != "" {
		e = e.WithHint("%s", f.hint)
	}
	return e
}

var (
	faultCancelled  = fault{sqlerr.Cancelled, "cancelled", ""}
	faultConnection = fault{sqlerr.IO, "the connection to the database failed", "see that the server runs and that the connection string of the source is right"}
	faultUnknown    = fault{sqlerr.Internal, "the database failed", ""}
)

// faults has a fault for each SQLSTATE that cannot depend on a row, by its longest
// listed prefix (PostgreSQL's documentation, appendix A).
var faults = map[string]fault{
	"08":    faultConnection,
	"57P":   faultConnection,
	"28":    {sqlerr.Forbidden, "the server refused the user", "see the user, password and certificate that the connection string names"},
	"3D":    {sqlerr.Unknown, "the server has no such database", "see the database that the connection string names"},
	"42501": {sqlerr.Forbidden, "the server did not permit it", "GRANT SELECT to the user of the connection, on a table without row security for that user"},
	"3F":    {sqlerr.Invalid, "the database refused a column or an expression", "look at its definition: a schema may be gone"},
	"25":    {sqlerr.Unsupported, "the database refused something that is not reading", "a view must not call functions that write"},
	"40":    {sqlerr.IO, "the database gave the transaction up", "ask again"},
	"53":    {sqlerr.IO, "the server lacks memory, disk or connections", ""},
	"54":    {sqlerr.Unsupported, "the statement is too large for the server", ""},
	"55":    {sqlerr.Busy, "the table is locked by another", ""},
	"57014": {sqlerr.IO, "the server stopped the statement", "its statement_timeout may be too short: set it in the connection string"},
	"58":    {sqlerr.IO, "the server's system failed", ""},
	"HV":    {sqlerr.IO, "a foreign server failed", "see that every shard runs and can be reached from the server"},
	"XX001": {sqlerr.Corrupt, "the database is damaged", ""},
	"XX002": {sqlerr.Corrupt, "the database is damaged", ""},
}

func faultOf(ctx context.Context, err error) fault {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return faultCancelled
	}
	if ofRow(err) {
		return faultRow
	}
	state := stateOf(err)
	for n := len(state); n > 0; n-- {
		if f, ok := faults[state[:n]]; ok {
			return f
		}
	}
	if state == "" {
		return faultConnection // without a SQLSTATE the error is the connection's
	}
	return faultUnknown
}

// stateOf returns the server's SQLSTATE, or "" if the error is not the server's.
func stateOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// lost reports whether reading again on another connection may succeed: the connection
// or the server is gone, or a standby ended the transaction.
func lost(ctx context.Context, err error) bool {
	var own *sqlerr.Error
	if errors.As(err, &own) || ctx.Err() != nil {
		return false
	}
	state := stateOf(err)
	for _, class := range []string{"08", "57P", "40"} {
		if strings.HasPrefix(state, class) {
			return true
		}
	}
	return state == "" && !ofRow(err)
}

// faultRow replaces every error that can depend on a row.
var faultRow = fault{sqlerr.Invalid, source.Refused, source.MendRow}

// rowStates are the prefixes of the SQLSTATEs that can depend on a row: features not
// supported for a value, cardinality, data, constraints, functions, collations and
// operators, values beyond the server's limits, and faults inside it.
var rowStates = []string{"0A", "21", "22", "23", "2F", "38", "39", "42", "44", "54000", "P0", "XX000"}

// ofRow reports whether an error can depend on a row: one of the server, or that it does not
// sort rows as it must.
func ofRow(err error) bool {
	if errors.Is(err, source.ErrMixed) {
		return true
	}
	state := stateOf(err)
	for _, s := range rowStates {
		if strings.HasPrefix(state, s) {
			return state != "42501" // a missing privilege
		}
	}
	return false
}
