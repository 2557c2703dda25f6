// Package importer loads a CSV, TSV or Parquet file into an SQLite table. A Parquet
// file states the types of its columns. For a text the types are found by reading all
// of it.
//
// The first line of a text shows what separates fields, see Dialect.
//
// Each row of the file becomes a row of the table, in order. Blank lines are skipped.
// No value is guessed at: a column is INTEGER or REAL only if the texts lose none of
// their meaning (007 stays TEXT), and otherwise TEXT. A column of dates is written as
// SQLite has them if all rows are dates in one form, and Import does not choose between two. Memory does not grow with the
// file.
//
// Errors name lines and columns, and never quote the content of the file.
package importer

import (
	"context"
	"database/sql"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// DB runs the statements of an import: a *sql.Tx, or a *sql.Conn inside a
// transaction. After an error the caller rolls back.
type DB interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// Options say what to import.
type Options struct {
	Path      string  // a .gz file is decompressed, a .parquet file is Parquet
	Table     string  // created in the main database
	Append    bool    // add to a table that exists; it must have the same columns
	Replace   bool    // drop a table that exists
	IfMissing bool    // do nothing if the table exists
	Dialect   Dialect // of a text
	Most      int64   // bytes that a .gz file may have when it is decompressed; any number if 0
	// Progress, if not nil, is called with the amount read so far and the total: in
	// bytes of a text, which is read twice, or in rows of a Parquet file.
	Progress func(done, all int64)
}

// Column is a column of the imported table.
type Column struct {
	Name string
	Type string // INTEGER, REAL or TEXT; in a table that existed, the declared type
}

// Report describes a finished import.
type Report struct {
	Table   string
	Rows    int64 // rows added
	Skipped bool  // the table existed and IfMissing was set
	Columns []Column
	Dialect Dialect  // of the text that was read
	Notes   []string // what else was decided and noticed, and which columns were left out
	// Readings are the forms that the dates of a column may have, where Import did not
	// choose between two and returned an error.
	Readings []string
}

// Import adds the rows of the file to the table. It reads a text twice, once for the
// types and once for the rows. The first record of a text has the names of the columns.
// An empty field is NULL in a column of numbers or dates and the empty text in another
// TEXT column, unless the dialect says what is NULL. Dates and times become texts in SQLite's format.
func Import(ctx context.Context, db DB, o Options) (Report, error) {
	report := Report{Table: o.Table}
	if err := checkTable(o.Table); err != nil {
		return report, err
	}
	existing, err := columnsOf(ctx, db, o.Table)
	if err != nil {
		return report, err
	}
	switch {
	case existing != nil && o.IfMissing:
		report.Skipped, report.Columns = true, existing
		return report, nil
	case existing != nil && o.Replace:
		if _, err := db.ExecContext(ctx, "DROP TABLE main."+query.Quoted(o.Table)); err != nil {
			return report, failure(ctx, err, o.Table)
		}
		existing = nil
	case existing != nil && !o.Append:
		return report, sqlerr.New(sqlerr.Exists, "table %s exists", o.Table).
			WithHint("load it anew with .import --replace, add to it with .import --append, leave it with .import --if-missing, or choose another name")
	}
	f, err := openInput(o)
	if err != nil {
		return report, err
	}
	defer f.close()
	return load(ctx, db, f, existing, report)
}

// input is a file that has rows.
type input interface {
	// detect returns the names of the columns and the kinds of values they hold.
	detect(ctx context.Context) (names []string, kinds []seen, err error)
	// rows starts over. It returns a function that returns the next row, valid until
	// the next call, or io.EOF.
	rows(columns []Column) (func(context.Context) ([]any, error), error)
	close()
}

func openInput(o Options) (input, error) {
	if strings.HasSuffix(strings.ToLower(o.Path), ".parquet") {
		return openParquet(o)
	}
	return open(o)
}

// load detects the types, prepares the table and inserts the rows.
func load(ctx context.Context, db DB, f input, existing []Column, report Report) (Report, error) {
	names, kinds, err := f.detect(ctx)
	if f, ok := f.(*file); ok {
		report.Readings = f.readings
	}
	if err != nil {
		return report, err
	}
	columns := make([]Column, len(names)) // in the file's order
	if existing == nil {
		for i, name := range names {
			columns[i] = Column{name, kinds[i].typ()}
		}
		report.Columns = columns
		err = create(ctx, db, report.Table, columns)
	} else {
		report.Columns = existing
		columns, err = matched(report.Table, names, kinds, existing)
	}
	if err != nil {
		return report, err
	}
	switch f := f.(type) {
	case *file:
		report.Dialect, report.Notes = f.dialect, f.notes
	case *parquetFile:
		report.Notes = f.notes
	}
	report.Rows, err = insert(ctx, db, f, report.Table, columns)
	return report, err
}

func checkTable(name string) error {
	if name == "" || strings.ContainsRune(name, 0) {
		return sqlerr.New(sqlerr.Invalid, "the table needs a name")
	}
	for _, prefix := range []string{"dpsql_", "sqlite_"} {
		if strings.HasPrefix(folded(name), prefix) {
			return sqlerr.New(sqlerr.Forbidden, "table %s cannot be written: names beginning with %s are reserved", name, prefix)
		}
	}
	return nil
}

// folded maps names that SQLite takes as equal to the same text: it lowers ASCII
// letters.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
