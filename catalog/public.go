package catalog

import "dpsql/sqlerr"

// AddPublic declares a raw table public: domains and joins may read it. Errors:
// Invalid when it is public already or a base of a private table.
func (tx *Tx) AddPublic(name string) error {
	base, err := find(tx, scanInt, `SELECT account FROM dpsql_bases WHERE name = ?`, name)
	if err != nil {
		return err
	}
	if base != nil {
		return sqlerr.New(sqlerr.Invalid, "%s holds the rows of a private table and cannot be public", name)
	}
	if public, err := tx.IsPublic(name); err != nil || public {
		if err == nil {
			err = sqlerr.New(sqlerr.Invalid, "%s is already public", name)
		}
		return err
	}
	_, err = tx.exec(`INSERT INTO dpsql_public (name, declared_at) VALUES (?, ?)`, name, formatTime(tx.stamp()))
	return err
}

// IsPublic reports whether the raw table was declared public.
func (tx *Tx) IsPublic(name string) (bool, error) {
	found, err := find(tx, scanText, `SELECT name FROM dpsql_public WHERE name = ?`, name)
	return found != nil, err
}

// Publics lists the names of the public tables, sorted.
func (tx *Tx) Publics() ([]string, error) {
	return list(tx, scanText, `SELECT name FROM dpsql_public ORDER BY name`)
}

// DropPublic takes the declaration back. Errors: Unknown.
func (tx *Tx) DropPublic(name string) error {
	unknown := sqlerr.New(sqlerr.Unknown, "%s is not a public table", name)
	if tx.version == 0 {
		return unknown
	}
	return tx.change(unknown, `DELETE FROM dpsql_public WHERE name = ?`, name)
}
