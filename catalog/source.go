package catalog

import (
	"math/big"
	"slices"
	"strings"
	"time"

	"dpsql/catalog/internal/ledger"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Postgres is the kind of a source that is a PostgreSQL database.
const Postgres = "postgres"

// Source is a database outside the file that holds private rows. Its connection string
// is a secret, so the catalog stores only the name of the environment variable that
// holds the string.
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

// encoding takes the timeout as it is stored, since not every stored number of seconds
// is a duration.
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

// PublicColumn is a column of a public table that was declared REAL.
type PublicColumn struct {
	Public string // the table
	Name   string
	Steps  query.Steps
}

// AddPublic declares a raw table public, so that domains and joins may read it. The
// columns given are REAL columns with their steps. Errors: Invalid when the table is
// public already or a base of a private table.
func (tx *Tx) AddPublic(name string, columns ...PublicColumn) error {
	accounts, err := tx.Accounts()
	if err != nil {
		return err
	}
	if len(accountsOf(accounts, name)) > 0 {
		return sqlerr.New(sqlerr.Invalid, "%s holds the rows of a private table and cannot be public", name)
	}
	if public, err := tx.IsPublic(name); err != nil || public {
		if err == nil {
			err = sqlerr.New(sqlerr.Invalid, "%s is already public", name)
		}
		return err
	}
	if _, err := tx.exec(`INSERT INTO dpsql_public (name, declared_at) VALUES (?, ?)`, name, formatTime(tx.stamp())); err != nil {
		return err
	}
	if err := tx.addToRoll(rollPublics, name); err != nil {
		return err
	}
	for _, c := range columns {
		c.Public = name
		if err := tx.addPublicColumn(c); err != nil {
			return err
		}
	}
	return nil
}

// IsPublic reports whether the raw table was declared public.
func (tx *Tx) IsPublic(name string) (bool, error) {
	all, err := tx.Publics()
	return slices.ContainsFunc(all, func(p string) bool { return query.SameName(p, name) }), err
}

// Publics lists the names of the public tables, sorted.
func (tx *Tx) Publics() ([]string, error) {
	all, err := list(tx, scanText, `SELECT name FROM dpsql_public NOT INDEXED ORDER BY CAST(name AS TEXT)`)
	if err == nil {
		err = checkComplete(tx, rollPublics, all, func(name *string) string { return *name })
	}
	return all, err
}

// DropPublic removes the declaration. Errors: Unknown.
func (tx *Tx) DropPublic(name string) error {
	all, err := tx.Publics()
	if err != nil {
		return err
	}
	stored := pick(all, func(p *string) bool { return query.SameName(*p, name) })
	if stored == nil {
		return sqlerr.New(sqlerr.Unknown, "%s is not a public table", name)
	}
	columns, err := tx.PublicColumns(*stored)
	if err != nil {
		return err
	}
	for _, c := range columns {
		if _, err := tx.exec(`DELETE FROM dpsql_public_columns WHERE public = ? AND name = ?`, c.Public, c.Name); err != nil {
			return err
		}
		if err := tx.removeFromRoll(rollSteps, string(c.encoding())); err != nil {
			return err
		}
	}
	if err := tx.dropKeyList(*stored); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM dpsql_public WHERE name = ?`, *stored); err != nil {
		return err
	}
	return tx.removeFromRoll(rollPublics, *stored)
}

// PublicColumns lists by name the columns of a public table that were declared with
// steps.
func (tx *Tx) PublicColumns(public string) ([]PublicColumn, error) {
	all, err := list(tx, scanPublicColumn, `SELECT public, name, lowest, highest, step, or_null FROM dpsql_public_columns NOT INDEXED ORDER BY CAST(name AS TEXT)`)
	if err == nil {
		err = checkComplete(tx, rollSteps, all, func(c *PublicColumn) string { return string(c.encoding()) })
	}
	return slices.DeleteFunc(all, func(c PublicColumn) bool { return !query.SameName(c.Public, public) }), err
}

func (tx *Tx) addPublicColumn(c PublicColumn) error {
	lowest, highest, step := c.Steps.Texts()
	_, err := tx.exec(`INSERT INTO dpsql_public_columns (public, name, lowest, highest, step, or_null) VALUES (?, ?, ?, ?, ?, ?)`,
		c.Public, c.Name, lowest, highest, step, c.Steps.HasNull())
	if err != nil {
		return err
	}
	return tx.addToRoll(rollSteps, string(c.encoding()))
}

func scanPublicColumn(row record) (c PublicColumn, err error) {
	var texts [3]string
	var orNull bool
	if err := row.Scan(&c.Public, &c.Name, &texts[0], &texts[1], &texts[2], &orNull); err != nil {
		return c, err
	}
	var numbers [3]*big.Rat
	for i, text := range texts {
		if strings.Trim(text, "-.0123456789") == "" && len(text) <= maxDecimal {
			numbers[i], _ = new(big.Rat).SetString(text)
		}
		if numbers[i] == nil {
			return c, corrupt("the steps of column %s of %s cannot be read", c.Name, c.Public)
		}
	}
	if c.Steps, err = query.NewSteps(numbers[0], numbers[1], numbers[2], orNull); err != nil {
		err = corrupt("the steps of column %s of %s are none", c.Name, c.Public)
	}
	return c, err
}

// maxDecimal bounds the text of a stored number.
const maxDecimal = 4096

// encoding is the key of the column's record.
func (c *PublicColumn) encoding() ledger.Encoding {
	lowest, highest, step := c.Steps.Texts()
	return ledger.Encode("public column").Texts(c.Public, c.Name, lowest, highest, step).Flag(c.Steps.HasNull())
}

// KeyList says that a public table lists keys that a column of a private table had when they were
// discovered. The private table is known by its name: it may be declared anew.
type KeyList struct{ Public, Table, Column string }

// AddKeyList stores what a public table lists.
func (tx *Tx) AddKeyList(l KeyList) error {
	if _, err := tx.exec(`INSERT INTO dpsql_key_lists (public, table_name, column_name) VALUES (?, ?, ?)`, l.Public, l.Table, l.Column); err != nil {
		return err
	}
	return tx.addToRoll(rollKeyLists, string(l.encoding()))
}

// KeyLists returns the lists of keys, by the names of the public tables.
func (tx *Tx) KeyLists() ([]KeyList, error) {
	if tx.version < keyListsVersion {
		return nil, nil
	}
	all, err := list(tx, func(row record) (l KeyList, err error) {
		return l, row.Scan(&l.Public, &l.Table, &l.Column)
	}, `SELECT public, table_name, column_name FROM dpsql_key_lists NOT INDEXED ORDER BY CAST(public AS TEXT)`)
	if err != nil {
		return nil, err
	}
	return all, checkComplete(tx, rollKeyLists, all, func(l *KeyList) string { return string(l.encoding()) })
}

// dropKeyList removes what a public table lists, if it is a list.
func (tx *Tx) dropKeyList(public string) error {
	all, err := tx.KeyLists()
	if err != nil {
		return err
	}
	l := pick(all, func(l *KeyList) bool { return query.SameName(l.Public, public) })
	if l == nil {
		return nil
	}
	if _, err := tx.exec(`DELETE FROM dpsql_key_lists WHERE public = ?`, l.Public); err != nil {
		return err
	}
	return tx.removeFromRoll(rollKeyLists, string(l.encoding()))
}

// encoding is the key of the list's record.
func (l *KeyList) encoding() ledger.Encoding {
	return ledger.Encode("list of keys").Texts(l.Public, l.Table, l.Column)
}
