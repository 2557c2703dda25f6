// Package importer loads a CSV, TSV or Parquet file into an SQLite table, with
// the types of its columns: those that a Parquet file states, or those read off
// the whole text.
//
// A row of the file is a row of the table, in order; blank lines are skipped.
// Nothing is guessed about a value: a column is INTEGER or REAL only if storing
// it so loses nothing of the text's meaning (007 stays TEXT), and otherwise TEXT.
// Memory does not grow with the file.
//
// Errors name lines and columns, and never quote the content of the file.
package importer

import (
	"context"
	"database/sql"
	"strings"

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
	Path      string // a .gz file is decompressed, a .parquet file is Parquet
	Table     string // created in the main database
	Append    bool   // add to a table that exists; it must have the same columns
	IfMissing bool   // do nothing where the table exists
	Comma     rune   // between fields; 0 is a tab for .tsv and .tab files, else a comma
	// Progress, if there is one, is told how much was read so far and how much
	// will be: bytes of a text, twice its size, or rows of a Parquet file.
	Progress func(done, all int64)
}

// Column is a column of the imported table.
type Column struct {
	Name string
	Type string // INTEGER, REAL or TEXT; as declared, for a table that existed
}

// Report says what an import did.
type Report struct {
	Table   string
	Rows    int64 // rows added
	Skipped bool  // the table existed and IfMissing was set
	Columns []Column
}

// Import adds the rows of the file to the table. A text is read twice, once for
// the types and once for the rows; its first record names the columns, and an
// empty field is NULL in an INTEGER or REAL column and the empty text in a TEXT
// column. Dates and times of a Parquet file become texts as SQLite writes them.
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
	case existing != nil && !o.Append:
		return report, sqlerr.New(sqlerr.Invalid, "table %s exists", o.Table).
			WithHint("add to it with .import --append, or leave it with .import --if-missing")
	}
	f, err := openInput(o)
	if err != nil {
		return report, err
	}
	defer f.close()
	return load(ctx, db, f, existing, report)
}

// input is a file of rows.
type input interface {
	// detect returns the columns and what they hold.
	detect(ctx context.Context) (names []string, kinds []seen, err error)
	// rows starts over, and returns a function that returns the next row, valid
	// until the next call, or io.EOF.
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
	if err != nil {
		return report, err
	}
	columns := make([]Column, len(names)) // as the file has them
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

// folded maps names that SQLite takes as equal to one text: ASCII letters lose
// their case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
