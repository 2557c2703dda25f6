package catalog

import (
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// AddPublic declares a raw table public: domains and joins may read it. Errors:
// Invalid when it is public already or a base of a private table.
func (tx *Tx) AddPublic(name string) error {
	accounts, err := tx.Accounts()
	if err != nil {
		return err
	}
	if accountOf(accounts, name) != nil {
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
	return tx.join(rollPublics, name)
}

// IsPublic reports whether the raw table was declared public.
func (tx *Tx) IsPublic(name string) (bool, error) {
	all, err := tx.Publics()
	return slices.ContainsFunc(all, func(p string) bool { return query.SameName(p, name) }), err
}

// Publics lists the names of the public tables, sorted.
func (tx *Tx) Publics() ([]string, error) {
	if tx.publics != nil {
		return slices.Clone(tx.publics), nil
	}
	all, err := list(tx, scanText, `SELECT name FROM dpsql_public NOT INDEXED ORDER BY CAST(name AS TEXT)`)
	if err == nil {
		err = complete(tx, rollPublics, all, func(name *string) string { return *name })
	}
	if err == nil {
		tx.publics = append([]string{}, all...)
	}
	return all, err
}

// DropPublic takes the declaration back. Errors: Unknown.
func (tx *Tx) DropPublic(name string) error {
	all, err := tx.Publics()
	if err != nil {
		return err
	}
	stored := pick(all, func(p *string) bool { return query.SameName(*p, name) })
	if stored == nil {
		return sqlerr.New(sqlerr.Unknown, "%s is not a public table", name)
	}
	if _, err := tx.exec(`DELETE FROM dpsql_public WHERE name = ?`, *stored); err != nil {
		return err
	}
	return tx.quit(rollPublics, *stored)
}
