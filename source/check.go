package source

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Check implements Reader. Refused are virtual and temporary tables, and those
// whose names begin with dpsql_ or sqlite_, also behind views, and a view that is
// not understood to work row by row or unit by unit.
func (s sqlite) Check(ctx context.Context, t Table) (Schema, error) {
	q := s.q
	if err := t.CheckUnit(); err != nil {
		return Schema{}, err
	}
	name, err := resolve(ctx, q, t.Source)
	if err != nil {
		return Schema{}, err
	}
	if err := haveColumns(ctx, q, t, name); err != nil {
		return Schema{}, err
	}
	bases, err := basesOf(ctx, q, name, cannotFail)
	if err != nil {
		return Schema{}, err
	}
	objects, err := objectsOf(ctx, q, name)
	if err != nil {
		return Schema{}, err
	}
	if o := objects[query.FoldName(name)]; o.kind == "view" {
		err = understood(ctx, q, t, o, objects, bases)
	}
	return Schema{Bases: bases, Text: schemaText(objects, name, bases)}, err
}

// Bases returns the tables whose rows a public table or view reads, sorted. It
// refuses what Check refuses, but for functions that can fail: an error on a
// public row is no secret.
func Bases(ctx context.Context, q Querier, public string) ([]string, error) {
	name, err := resolve(ctx, q, public)
	if err != nil {
		return nil, err
	}
	return basesOf(ctx, q, name, func(string, any, string) error { return nil })
}

// allowed refuses the names of dpsql's own tables and of SQLite's.
func allowed(name string) error {
	for _, prefix := range []string{"dpsql_", "sqlite_"} {
		if strings.HasPrefix(query.FoldName(name), prefix) {
			return sqlerr.New(sqlerr.Forbidden, "%s cannot be read: names beginning with %s are reserved", name, prefix)
		}
	}
	return nil
}

// resolve returns the name of a source as the schema spells it.
func resolve(ctx context.Context, q Querier, source string) (string, error) {
	if err := allowed(source); err != nil {
		return "", err
	}
	var name, kind string
	err := q.QueryRowContext(ctx, `SELECT name, type FROM pragma_table_list
		WHERE schema = 'main' AND name = ? COLLATE NOCASE`, source).Scan(&name, &kind)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", sqlerr.New(sqlerr.Unknown, "no such table or view: %s", source).
			WithHint("a source is a table or view of the same file; import one, or create it with SQLite")
	case err != nil:
		return "", failure(ctx, err, source)
	case kind != "table" && kind != "view":
		return "", errVirtual(source)
	}
	return name, nil
}

func errVirtual(source string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s reads a virtual table or a table-valued function", source).
		WithHint("only ordinary tables, and views over them, can be declared")
}

// haveColumns refuses declared columns, and a unit, that the source does not have.
func haveColumns(ctx context.Context, q Querier, t Table, source string) error {
	names, err := columnNames(ctx, q, source)
	if err != nil {
		return err
	}
	have := make(map[string]bool)
	for _, name := range names {
		have[query.FoldName(name)] = true
	}
	var needed []string
	for _, c := range t.Columns {
		needed = append(needed, c.Name)
	}
	if t.Unit != "" {
		needed = append(needed, t.Unit)
	}
	for _, name := range needed {
		if !have[query.FoldName(name)] {
			return sqlerr.New(sqlerr.Unknown, "%s has no column %s", source, name).
				WithHint("its columns are %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// columnNames lists the columns, generated ones included.
func columnNames(ctx context.Context, q Querier, source string) ([]string, error) {
	return texts(ctx, q, source, `SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`, source)
}

// texts returns the single text column of a statement over the schema.
func texts(ctx context.Context, q Querier, source, statement string, args ...any) ([]string, error) {
	found, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, failure(ctx, err, source)
	}
	defer found.Close()
	var out []string
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			return nil, failure(ctx, err, source)
		}
		out = append(out, s)
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, source)
	}
	return out, nil
}
