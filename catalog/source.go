package catalog

import (
	"time"

	"dpsql/catalog/internal/ledger"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Postgres is the kind of a source that is a PostgreSQL database.
const Postgres = "postgres"

// Source is a database outside the file that holds private rows. How to reach
// it is a secret, of which the catalog knows only the name of the environment
// variable that has it.
type Source struct {
	ID        int64
	Name      string
	Kind      string        // Postgres
	DSNEnv    string        // the name of the environment variable
	Timeout   time.Duration // of one statement there, in whole seconds; 0 for none
	CreatedAt time.Time
}

const selectSource = `SELECT id, name, kind, dsn_env, timeout, created_at, digest FROM dpsql_sources NOT INDEXED `

func scanSource(row record) (s Source, err error) {
	var seconds int64
	var at string
	var digest []byte
	if err = row.Scan(&s.ID, &s.Name, &s.Kind, &s.DSNEnv, &seconds, &at, &digest); err != nil {
		return s, err
	}
	s.Timeout = time.Duration(seconds) * time.Second
	if s.CreatedAt, err = parseTime(at); err != nil {
		return s, err
	}
	return s, checkDigest("source "+s.Name, s.encoding(seconds), digest)
}

// encoding is told the timeout as it is stored: a duration cannot have all
// numbers of seconds.
func (s *Source) encoding(seconds int64) ledger.Encoding {
	return ledger.Encode("source").Numbers(s.ID).Texts(s.Name, s.Kind, s.DSNEnv).Numbers(seconds).Texts(formatTime(s.CreatedAt))
}

// Sources lists the declared sources by name.
func (tx *Tx) Sources() ([]Source, error) {
	all, err := list(tx, scanSource, selectSource+`WHERE dropped_at IS NULL ORDER BY CAST(name AS TEXT)`)
	if err != nil {
		return nil, err
	}
	return all, checkComplete(tx, rollSources, all, func(s *Source) string { return key(s.ID) })
}

// Source returns the source of that name, nil when there is none.
func (tx *Tx) Source(name string) (*Source, error) {
	all, err := tx.Sources()
	return pick(all, func(s *Source) bool { return query.SameName(s.Name, name) }), err
}

// SourceByID returns the source in which a private table has its rows. Errors:
// Corrupt when there is none.
func (tx *Tx) SourceByID(id int64) (*Source, error) {
	all, err := tx.Sources()
	if err != nil {
		return nil, err
	}
	if s := pick(all, func(s *Source) bool { return s.ID == id }); s != nil {
		return s, nil
	}
	return nil, corrupt("source %d is missing from the catalog", id)
}

// AddSource stores a declaration and sets s.ID and s.CreatedAt. Errors: Invalid
// when the name is taken.
func (tx *Tx) AddSource(s *Source) error {
	existing, err := tx.Source(s.Name)
	switch {
	case err != nil:
		return err
	case existing != nil:
		return sqlerr.New(sqlerr.Invalid, "the source %s exists", existing.Name)
	}
	created, seconds := tx.stamp(), int64(s.Timeout/time.Second)
	id, err := tx.insert(`INSERT INTO dpsql_sources (name, kind, dsn_env, timeout, created_at) VALUES (?, ?, ?, ?, ?)`,
		s.Name, s.Kind, s.DSNEnv, seconds, formatTime(created))
	if err != nil {
		return err
	}
	s.ID, s.CreatedAt = id, created
	if err := tx.seal("dpsql_sources", id, s.encoding(seconds)); err != nil {
		return err
	}
	return tx.addToRoll(rollSources, key(id))
}

// DropSource removes the declaration. Errors: Unknown; Invalid while a private
// table has its rows there.
func (tx *Tx) DropSource(name string) error {
	s, err := tx.Source(name)
	switch {
	case err != nil:
		return err
	case s == nil:
		return sqlerr.New(sqlerr.Unknown, "there is no source %s", name)
	}
	tables, err := tx.Tables()
	if err != nil {
		return err
	}
	if t := pick(tables, func(t *Table) bool { return t.SourceID == s.ID }); t != nil {
		return sqlerr.New(sqlerr.Invalid, "%s has the rows of the private table %s", s.Name, t.Name).
			WithHint("DROP PRIVATE TABLE %s first", t.Name)
	}
	if _, err := tx.exec(`UPDATE dpsql_sources SET dropped_at = ? WHERE id = ?`, formatTime(tx.stamp()), s.ID); err != nil {
		return err
	}
	return tx.removeFromRoll(rollSources, key(s.ID))
}
