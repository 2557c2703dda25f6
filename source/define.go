package source

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Definer changes the schema; *sql.Tx satisfies it.
type Definer interface {
	Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// CreateView makes a view, whose definition follows its name: AS SELECT …. SQLite parses it,
// and no row is read. It refuses a view that no table could be declared on, as Bases does. After
// an error the caller rolls back.
func CreateView(ctx context.Context, q Definer, name, definition string) error {
	if err := Allowed(name); err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, `CREATE VIEW main.`+query.Quoted(name)+" "+definition); err != nil {
		return undefinable(ctx, err, name)
	}
	if _, err := q.ExecContext(ctx, `EXPLAIN SELECT * FROM main.`+query.Quoted(name)); err != nil {
		return undefinable(ctx, err, name)
	}
	_, err := Bases(ctx, q, name)
	return err
}

// undefinable is the error for a definition that SQLite does not compile. Compiling reads the
// definition and the schema, so what SQLite says has no row in it.
func undefinable(ctx context.Context, err error, name string) error {
	var coded interface{ Code() int }
	if ctx.Err() != nil || !errors.As(err, &coded) || coded.Code()&0xff != 1 {
		return failure(ctx, err, name)
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "SQL logic error: "), " (1)")
	return sqlerr.New(sqlerr.Malformed, "SQLite does not take the view: %s", text)
}

// DropView removes a view. It does not look who reads it.
func DropView(ctx context.Context, q Definer, name string) error {
	kind, err := Kind(ctx, q, name)
	if err == nil && (kind != "view" || Allowed(name) != nil) {
		err = sqlerr.New(sqlerr.Unknown, "there is no view %s", name)
	}
	if err == nil {
		if _, failed := q.ExecContext(ctx, `DROP VIEW main.`+query.Quoted(name)); failed != nil {
			err = failure(ctx, failed, name)
		}
	}
	return err
}

// Kind returns what a name stands for in the schema: "table", "view", or "" for neither.
func Kind(ctx context.Context, q Querier, name string) (string, error) {
	objects, err := objectsOf(ctx, q, name)
	return objects[query.FoldName(name)].kind, err
}
