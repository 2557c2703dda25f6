// Package source reads private rows. No other code does, but for the readers of
// other databases below this package. A Reader counts the rows of a table or view:
// those that a query weighs (Count), or those of every cell (Cells). SQLite returns
// the reader of an SQLite file.
//
// Results are true counts. They must pass a mechanism before anyone sees them.
// Errors are safe to show: they name tables and columns, and never quote an error
// of the database, which can carry a value.
//
// A row counts only if the value of every declared column lies in its domain, the
// columns that a query leaves free included. The function canonical decides which
// declared value a stored value stands for. In a table with a unit, a row also needs
// a unit, and at most L rows of each unit are kept. They are chosen once for the
// table, whatever is counted (see Table).
package source

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Querier runs statements. It is a *sql.DB, *sql.Tx or *sql.Conn. The functions of
// this package read the schema first and the rows after it, so they need a
// transaction if another connection may change the schema in between.
type Querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// Reader reads the rows of private tables in one database, on one snapshot.
// All calls see the same schema and rows. All readers agree on which rows count
// and on what their values stand for. Errors are *sqlerr.Error, except
// ErrTooManyCells, and never contain a value of a row.
type Reader interface {
	Checker

	// Count returns the true count of a query over the table's columns: the sum of
	// the weights of the rows that count, at most 2^63-1.
	Count(ctx context.Context, p Permit, t Table, q query.Query) (int64, error)

	// CountUnits returns, for each of several queries over the table's columns, the
	// number of units of which a kept row has a weight. The table must have a unit.
	CountUnits(ctx context.Context, p Permit, t Table, queries []query.Query) ([]int64, error)

	// Keys returns how many units have a kept row with each text in a column. Where a unit is
	// a row, that is the number of rows. Rows with NULL in the column have no key.
	Keys(ctx context.Context, p Permit, t Table, column int) (*Keys, error)

	// Cells projects the universe to the given columns and returns how many rows
	// fall into each of its cells. The coder, which must be over that universe,
	// names the cells. Cells fails with ErrTooManyCells if more than most cells are
	// occupied. Rows that do not count are in no cell.
	Cells(ctx context.Context, p Permit, t Table, columns []int, coder query.Coder, most int) (*Histogram, error)
}

// Permit admits the reading of private rows. The one in dpsql is the receipt for a
// charge. The compiler checks that a caller has a Permit. The reader checks that it is
// good for the table.
type Permit interface {
	// Admits returns nil if rows of the table may be read now.
	Admits(t Table) error
}

// Admit asks a permit for leave to read rows of t. Readers call it before they read a
// row. A nil permit admits nothing.
func Admit(p Permit, t Table) error {
	if p == nil {
		return sqlerr.New(sqlerr.Internal, "private rows are not read: there is no permit")
	}
	return p.Admits(t)
}

// Checker checks schemas. It reads no rows.
type Checker interface {
	// Check reports what the table's source reads. It first checks that the source is a
	// readable table or view of the database and has the unit's column and every
	// declared column. The table may have no columns. With a Period it also checks that the
	// rows are those of one base table and lie in periods by a column of that (NoPeriods); a
	// column that the partition names is not looked at. Errors: Unknown for a source or
	// column that does not exist, Unsupported or Forbidden for one that is refused.
	Check(ctx context.Context, t Table) (Schema, error)

	// Access reports how Reader reaches the rows of a table with periods. It reads the schema
	// alone.
	Access(ctx context.Context, t Table) (Access, error)
}

// Schema is the public description of what a source reads. Bases outside the file
// have names with slashes. A name covers every name that begins with it and a "/".
type Schema struct {
	Bases  []string // tables whose rows it reads, with views resolved; sorted
	Also   []string // tables that may also have some of these rows; sorted
	Before []string // other names under which these rows may already have a budget; sorted
	Period string   // of a table with periods: the column of its one base table that says in which a row lies
	Text   string   // the schema of the source, its tables and the views between; equal texts mean an unchanged source
	Notes  []string // for people: conditions of the declaration that dpsql cannot check
}

// Others returns the other tables whose budget these rows may share.
func (s Schema) Others() []string { return append(slices.Clone(s.Also), s.Before...) }

// Apart ends the Text of a source that has no unit and whose rows are on several
// servers. The servers share no snapshot. A row that moves between them during a
// reading counts once on each, so such a row is not a unit. With a unit at most L
// rows count, wherever they are read.
const Apart = "on several servers\n"

// Table says where the rows of a private table come from, and which of them count.
//
// Without Unit a row is a unit, and all rows inside the domains count. With Unit, rows
// outside the domains and rows whose unit is NULL are dropped first. Then at most
// MaxRows rows of each unit are kept: those with the lowest HMAC-SHA256, under Key, of
// the unit, the row's canonical declared values and its number among the unit's equal
// rows. Databases with the same multiset of units and declared values thus keep the
// same multiset of rows, and adding or removing a unit changes a count by at most
// MaxRows times the query's largest weight, and the cells by at most MaxRows in all.
//
// Units in SQLite are equal if their stored values are equal under SQLite's = with the
// BINARY collation and no affinity: 1 and 1.0 are one unit; 1 and '1', 'a' and 'A', and
// 'a' and the blob x'61' are two.
type Table struct {
	Source  string         // a table or view, by its name in the database; in SQLite, in the main database
	Columns []query.Column // the declared columns
	Unit    string         // the column that names a row's unit, declared or not; "" if a unit is a row
	MaxRows int64          // L ≥ 1, the rows kept of each unit; ignored without Unit
	Public  []string       // the file's tables that are declared public; a view may join them
	Key     []byte         // secret, one a table; chooses the rows kept; ignored without Unit
	Period  *Period        // nil if rows lie in no periods

	// Progress, if not nil, is called with the number of parts read so far when
	// PostgreSQL reads the cells of partitions side by side. It must not call the
	// reader. These numbers do not depend on the rows. When cells of the file are read they are
	// hundredths of Expected, if that is not 0, which is for those who may see the rows.
	Progress func(done, all int)
	Expected int64 // N̂

	// Texts asks Cells to keep what each cell has in the columns without a domain.
	Texts bool
}

// For returns the table for queries over it: the periods in which none of them has a weight need
// not be read. The others are read whole, since the rows that a unit keeps of a period depend on
// all that it has there, and on none of another.
func (t Table) For(queries ...query.Query) Table {
	if t.Period == nil {
		return t
	}
	return t.reading(queries)
}

// CheckUnit returns an Invalid error if t has a unit but no MaxRows or no Key.
func (t Table) CheckUnit() error {
	switch {
	case t.Unit == "":
		return nil
	case t.MaxRows < 1:
		return sqlerr.New(sqlerr.Invalid, "max_rows must be at least 1 where %s is the unit of %s", t.Unit, t.Source)
	case len(t.Key) == 0:
		return sqlerr.New(sqlerr.Invalid, "there is no key to choose the rows of a unit of %s by", t.Source)
	}
	return nil
}

// Over returns an Internal error unless u has the table's columns. A query over another
// universe would weigh the values of other columns.
func (t Table) Over(u *query.Universe) error {
	same := slices.EqualFunc(t.Columns, u.Columns(), func(a, b query.Column) bool {
		return query.SameName(a.Name, b.Name) && a.Domain.Type() == b.Domain.Type() && a.Form == b.Form
	})
	if !same {
		return sqlerr.New(sqlerr.Internal, "the query is not over the columns declared of %s", t.Source)
	}
	return nil
}

// Project returns t with only the columns at the given positions, and without periods. It
// returns an Internal error for a position that t does not have.
func (t Table) Project(columns []int) (Table, error) {
	projected := t
	projected.Period = nil
	projected.Columns = make([]query.Column, len(columns))
	for i, c := range columns {
		if c < 0 || c >= len(t.Columns) {
			return Table{}, sqlerr.New(sqlerr.Internal, "%s has no declared column %d", t.Source, c)
		}
		projected.Columns[i] = t.Columns[c]
	}
	return projected, nil
}

// SQLite returns the reader of an SQLite file's main database. q should be a
// transaction if another connection may change schema or rows.
func SQLite(q Querier) Reader { return sqlite{q} }

// Schemas returns the checker of an SQLite file's main database. It is no Reader.
func Schemas(q Querier) Checker { return CheckerOf(sqlite{q}) }

// CheckerOf returns a checker by a reader. It is no Reader itself, whatever it is asserted to be.
func CheckerOf(r Reader) Checker { return schemas{r} }

type sqlite struct{ q Querier }

type schemas struct{ of Checker }

// Check implements Checker.
func (s schemas) Check(ctx context.Context, t Table) (Schema, error) { return s.of.Check(ctx, t) }

// Access implements Checker.
func (s schemas) Access(ctx context.Context, t Table) (Access, error) { return s.of.Access(ctx, t) }

// failure replaces an error of the database by one that names only the source, because
// the database's own text can carry a value of a row.
func failure(ctx context.Context, err error, source string) error {
	const tooBig = 18 // SQLITE_TOOBIG
	code, what, result := classify(ctx, err)
	if result == tooBig || errors.Is(err, ErrMixed) {
		return rowError{errRow(source)}
	}
	return sqlerr.New(code, "%s while reading %s", what, source)
}

// Refused and MendRow are the words and the hint that replace every error that can depend on a
// row.
const (
	Refused = "the database refused a column or an expression"
	MendRow = "a table, a column, its type on a shard or what a view calls may have changed, or a value in a view be too long; once that is mended open the file again, until then the table is refused"
)

func errRow(source string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Invalid, "%s while reading %s", Refused, source).WithHint(MendRow)
}

// rowError is an error that can depend on a row of an SQLite file.
type rowError struct{ err *sqlerr.Error }

// Error implements error.
func (e rowError) Error() string { return e.err.Error() }

// Unwrap returns the error as people see it.
func (e rowError) Unwrap() error { return e.err }

// OfRow reports whether an error of the reader of an SQLite file can depend on a row.
func OfRow(err error) bool {
	var e rowError
	return errors.As(err, &e)
}

// Unfit is the set of base tables in which reading a row has failed. Views are vouched
// not to fail on any row, and the curator promises it of foreign tables. If one fails
// after all, the error tells of the row without noise. To tell it only once, every
// later read of the table is refused before its rows are looked at. The zero Unfit is
// empty. It is safe for concurrent use.
type Unfit struct {
	mu    sync.Mutex
	bases map[string]bool
}

// Add adds the base tables of a source that failed.
func (u *Unfit) Add(bases []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bases == nil {
		u.bases = make(map[string]bool)
	}
	for _, b := range bases {
		u.bases[b] = true
	}
}

// Refuse returns the error for a source that reads one of the tables, or nil.
func (u *Unfit) Refuse(bases []string, source string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.ContainsFunc(bases, func(b string) bool { return u.bases[b] }) {
		return errRow(source)
	}
	return nil
}

// classify maps an error to a code and a fixed text.
func classify(ctx context.Context, err error) (code sqlerr.Code, words string, result int) {
	code, words, result = sqlerr.OfSQLite(ctx, err)
	if result == 1 { // the schema changed, or an expression of a view failed
		return sqlerr.Invalid, Refused, result
	}
	return code, words, result
}
