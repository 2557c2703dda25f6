// Package schemas looks at what is no secret: the schemas of private tables and the
// contents of tables that were declared public. It is the way round the receipts of
// package pay, so it reads no private row: it looks at private tables through a
// source.Checker alone, which cannot count.
package schemas

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// Unchanged refuses a table of the file whose source is no longer what was declared. Its
// schema may have changed, or it may read a table that is no longer public, whose rows
// could have another budget that nobody has charged. Only schemas are looked at, which
// are public.
func Unchanged(ctx context.Context, tx *catalog.Tx, t *view.Table) error {
	bases, err := sameInFile(ctx, tx, t)
	if err != nil {
		return err
	}
	return Covered(tx, t, bases)
}

// sameInFile is sameSchema for a table of the file.
func sameInFile(ctx context.Context, tx *catalog.Tx, t *view.Table) (bases []string, err error) {
	publics, err := tx.Publics()
	if err != nil {
		return nil, err
	}
	schema, err := SameSchema(ctx, source.SQLite(tx.SQL()), t, publics)
	return schema.Bases, err
}

// SameSchema returns what a table's source reads. It refuses a source whose schema is no
// longer the declared one or is no longer understood. Publics are the tables of the file
// that are public now.
func SameSchema(ctx context.Context, from source.Checker, t *view.Table, publics []string) (schema source.Schema, err error) {
	if t.Source == "" {
		return schema, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).
			WithHint("it is an exported release: only its queries are answered here")
	}
	rows := t.Rows()
	rows.Public = publics
	if schema, err = from.Check(ctx, rows); err != nil {
		return schema, err
	}
	if schema.Text != t.SourceSchema {
		return schema, sqlerr.New(sqlerr.Invalid, "the schema of %s changed since %s was declared", t.Place(), t.Name).
			WithHint("DROP PRIVATE TABLE %s and declare it again; its budget goes on", t.Name)
	}
	return schema, nil
}

// Covered refuses base tables that are neither public nor covered by the budget of t. Tables
// in also may have the same rows, so they must not have another budget.
func Covered(tx *catalog.Tx, t *view.Table, bases []string, also ...string) error {
	private := Distinct(bases)
	if t.Outside == nil {
		var err error
		if private, err = PrivateBases(tx, bases); err != nil {
			return err
		}
	}
	a, err := tx.AccountFor(private, also...)
	switch {
	case err != nil:
		return err
	case a != nil && a.ID == t.Account:
		return nil
	case t.Outside != nil:
		return sqlerr.New(sqlerr.Invalid, "%s reads tables that the budget of %s does not cover", t.Place(), t.Name).
			WithHint("does %s name another database now? DROP PRIVATE TABLE %s and declare it anew for what is there; if these are the same rows, "+
				"carried there, the new budget does not know what was spent on them", t.Outside.DSNEnv, t.Name)
	}
	return sqlerr.New(sqlerr.Invalid, "%s reads tables that are no longer public, which its budget does not cover", t.Source).
		WithHint("declare them public again, or DROP PRIVATE TABLE %s and declare it anew", t.Name)
}

// StillCovered checks that the source of a table in the file is what was declared,
// and that its account covers every base table. If bases is nil it resolves them
// first. It returns them.
func StillCovered(ctx context.Context, store *catalog.Store, t *view.Table, bases []string) ([]string, error) {
	err := store.Read(ctx, func(tx *catalog.Tx) error {
		if bases == nil {
			var err error
			if bases, err = sameInFile(ctx, tx, t); err != nil {
				return err
			}
		}
		return Covered(tx, t, bases)
	})
	return bases, err
}

// PrivateBases returns the base tables that are not declared public. A view may join
// public ones, and they carry no budget.
func PrivateBases(tx *catalog.Tx, bases []string) ([]string, error) {
	var private []string
	for _, base := range bases {
		public, err := tx.IsPublic(base)
		if err != nil {
			return nil, err
		}
		if !public {
			private = append(private, base)
		}
	}
	return private, nil
}

// Distinct sorts the names of base tables outside the file. Of names that differ in case
// only it keeps the first, since names are compared without case.
func Distinct(bases []string) []string {
	sorted := slices.SortedFunc(slices.Values(bases), func(a, b string) int {
		return cmp.Or(strings.Compare(query.FoldName(a), query.FoldName(b)), strings.Compare(a, b))
	})
	return slices.CompactFunc(sorted, query.SameName)
}

// Moving says what a table without a unit relies on where its rows are on several
// servers.
const Moving = "the rows are on several servers, which share no snapshot: a row that moves from one to another while it is read counts twice, which placement = fixed rules out"
