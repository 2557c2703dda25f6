package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"slices"
	"time"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/internal/period"
	"dpsql/query"
)

// These are the unexported parts that the tests in package catalog_test use.

const LatestVersion, FirstVersion, MaxIdle = firstVersion, firstVersion, maxIdle
const PostgresPrefix, RollCatalog, RollLedger = postgresPrefix, rollCatalog, rollLedger

var DSN, Pragma, NewConnector, EngineCode = dsn, pragma, newConnector, engineCode
var ShortDecimal = shortDecimal

// EncodeDomain returns the stored form of a column's domain.
func EncodeDomain(c query.Column) (string, error) {
	stored, err := c.Stored()
	if err != nil {
		return "", err
	}
	return encode(stored.Domain)
}

// DecodeDomain reads what EncodeDomain returned for a column of a type.
func DecodeDomain(typeName, text string) (d query.Domain, f query.Form, err error) {
	stored := query.StoredColumn{Type: typeName}
	if json.Unmarshal([]byte(text), &stored.Domain) != nil {
		return d, f, corrupt("no domain")
	}
	c, ok := stored.Column()
	if !ok {
		return d, f, corrupt("no domain")
	}
	return c.Domain, c.Form, nil
}

func (s *Store) Options() Options                  { return s.options }
func (s *Store) MarkPath() string                  { return s.markPath() }
func (s *Store) ReadMarks() ([]ledger.Mark, error) { return s.readMarks() }
func (l *Lease) Path() string                      { return l.lock.Path() }
func (s *Store) Journal() string                   { return s.journal }
func (s *Store) SetJournal(mode string)            { s.journal = mode }
func (s *Store) PartSize() int                     { return s.partSize }
func (s *Store) SetPartSize(most int)              { s.partSize = most }
func (s *Store) SetNow(now func() time.Time)       { s.now = now }
func (s *Store) Writer() *sql.DB                   { return s.writer }
func (s *Store) SetWriter(db *sql.DB)              { s.writer = db }

// AddVersion gives the store a schema with one version more, as in a later dpsql.
func (s *Store) AddVersion(adds, statements string) {
	s.schema = append(slices.Clone(migrations), migration{firstVersion + 1, adds, statements})
}

// OpenImmutable opens a snapshot of the file as one that does not change, and returns
// its version. The returned function closes it, and fails if the file changed.
func (s *Store) OpenImmutable(ctx context.Context) (version int, end func() error, err error) {
	snap, err := s.immutableSnapshot(ctx)
	if err != nil {
		return 0, nil, err
	}
	return snap.version, func() error {
		err := snap.check()
		snap.tx.Rollback()
		snap.close()
		return err
	}, nil
}

func (tx *Tx) Context() context.Context                           { return tx.ctx }
func (tx *Tx) Version() int                                       { return tx.version }
func (tx *Tx) Head() (*ledger.Chain, error)                       { return tx.head() }
func (tx *Tx) Roll(owner int64, name string) (ledger.Roll, error) { return tx.roll(owner, name) }
func (tx *Tx) Rollback() error                                    { return tx.sql.tx.Rollback() }

// Texts returns the texts that a query selects.
func (tx *Tx) Texts(query string, args ...any) ([]string, error) {
	return list(tx, func(row record) (text string, err error) {
		err = row.Scan(&text)
		return text, err
	}, query, args...)
}

// Forge stores another body of an object, with the checksum that fits.
func (tx *Tx) Forge(id int64, body string) error {
	o, err := find(tx, func(row record) (o object, err error) {
		return o, row.Scan(&o.id, &o.kind, &o.name, &o.parent)
	}, `SELECT id, kind, COALESCE(name, ''), COALESCE(parent, 0) FROM dpsql_objects WHERE id = ?`, id)
	if err != nil {
		return err
	}
	o.body = body
	digest := o.digest()
	_, err = tx.exec(`UPDATE dpsql_objects SET body = ?, digest = ? WHERE id = ?`, body, digest[:], id)
	return err
}

func (v RowsVersion) Writer() *connID { return v.writer }
func (v RowsVersion) Foreign() int64  { return v.foreign }

// SQLiteConn is the connection to which a connector's connection passes statements.
type SQLiteConn = sqliteConn

// Idle returns the number of statements that a connection keeps.
func Idle(conn any) int { return len(conn.(*cachingConn).idle) }

// Interpose puts something between a connection and SQLite.
func Interpose(conn driver.Conn, between func(SQLiteConn) SQLiteConn) {
	c := conn.(*cachingConn)
	c.sqliteConn = between(c.sqliteConn)
}

// MostSpent returns the most that an account has spent in any one period.
func (tx *Tx) MostSpent(account int64) (accounting.Amount, error) {
	spent, err := tx.Spent(account)
	return spent.Most(period.Whole()), err
}
