package engine

import (
	"context"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/declare"
	"dpsql/internal/draft"
	"dpsql/internal/importer"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Import describes an import: the file, and the table to load it into.
type Import struct {
	Path      string // a CSV or TSV file with a header, also gzipped, or a .parquet file; relative to the session's directory
	Table     string
	Append    bool // add to an existing table
	Replace   bool // drop an existing table, which no declaration may read
	IfMissing bool // do nothing if the table exists
	Dialect   ImportDialect
	Most      int64 // bytes that a gzipped file may have when it is unpacked; any number if 0
	// Progress, if not nil, is called with the work done so far.
	Progress func(done, all int64)
}

// ImportDialect says how a CSV file is written. What is zero is found out from the file:
//
//	Encoding string   // a name such as windows-1252; UTF-8 if "". A byte order mark goes before it
//	HasSkip  bool     // the names stand below the first Skip lines
//	Skip     int
//	SkipLast int      // the last lines that are no rows
//	Comma    rune     // between fields
//	Quote    byte     // around fields; NoQuote if quotes are characters like others
//	NoQuote  bool
//	Decimal  byte     // '.' or ','
//	Columns  []string // those to load, of a Parquet file too; all if nil
//	Dates    []string // forms such as d.m.Y and m/d/Y H:M; "" leaves dates as they are
//	Numbers  bool     // $1,250.00, 12% and (5) are the numbers 1250.00, 12 and -5
//	Nulls    []string // what is NULL in every column; if nil, an empty field is NULL among numbers alone
type ImportDialect = importer.Dialect

// ImportReport describes what was loaded.
type ImportReport struct {
	Table   string
	Rows    int64
	Skipped bool // the table existed
	Columns []Column
	Dialect ImportDialect // of the text that was read
	Notes   []string      // what else was decided and noticed, and which columns were left out
	// Readings are the forms that the dates of a column may have, with the error that it was
	// not chosen between two. One of them among the Dates of the dialect chooses.
	Readings []string
}

// Import loads a file into a raw table. It loads all of it or nothing. Only a curator may
// import.
func (s *Session) Import(ctx context.Context, im Import) (ImportReport, error) {
	if err := s.curatorOnly("import"); err != nil {
		return ImportReport{}, err
	}
	ctx, end, err := s.db.answers.Works.Begin(ctx)
	if err != nil {
		return ImportReport{}, err
	}
	defer end()
	var report importer.Report
	err = s.db.store.Write(ctx, func(tx *catalog.Tx) error {
		var err error
		if im.Replace {
			if err = undeclared(ctx, tx, im.Table); err != nil {
				return err
			}
		}
		report, err = importer.Import(ctx, tx.SQL(), importer.Options{
			Path: s.path(im.Path), Table: im.Table, Append: im.Append, Replace: im.Replace, IfMissing: im.IfMissing, Dialect: im.Dialect, Most: im.Most, Progress: im.Progress})
		return err
	})
	if err != nil {
		return ImportReport{Readings: report.Readings}, public(ctx, err)
	}
	out := ImportReport{Table: report.Table, Rows: report.Rows, Skipped: report.Skipped, Dialect: report.Dialect, Notes: report.Notes}
	for _, c := range report.Columns {
		out.Columns = append(out.Columns, Column{Name: c.Name, Type: c.Type})
	}
	return out, nil
}

// undeclared refuses a table that a declaration reads: what was paid for is about its rows.
func undeclared(ctx context.Context, tx *catalog.Tx, table string) error {
	tables, err := tx.Tables()
	if err != nil {
		return err
	}
	reads := func(from, drop, name string) error {
		bases, err := source.Bases(ctx, tx.SQL(), from)
		if err != nil { // it is gone
			bases = []string{from}
		}
		if !slices.ContainsFunc(bases, func(base string) bool { return query.SameName(base, table) }) {
			return nil
		}
		return sqlerr.New(sqlerr.Exists, "table %s is read by a declaration", table).
			WithHint("rows that come later are added with .import --append; for other rows %s %s first, or choose another name", drop, syntax.WriteName(name))
	}
	for _, t := range tables {
		if t.SourceID != 0 {
			continue
		}
		if err := reads(t.Source, "DROP PRIVATE TABLE", t.Name); err != nil {
			return err
		}
	}
	publics, err := tx.Publics()
	if err != nil {
		return err
	}
	for _, name := range publics {
		if err := reads(name, "DROP PUBLIC TABLE", name); err != nil {
			return err
		}
	}
	return nil
}

// Draft writes a first declaration of a table of the file, for the curator to edit. It reads the
// rows and adds no noise: the text is private until the curator has reviewed it. Only a curator
// may ask for it.
func (s *Session) Draft(ctx context.Context, table string) (text string, err error) {
	if err := s.curatorOnly("draft"); err != nil {
		return "", err
	}
	if err := source.Allowed(table); err != nil {
		return "", public(ctx, err)
	}
	ctx, end, err := s.db.answers.Works.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	err = s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		publics, err := tx.Publics()
		if err == nil {
			text, err = draft.Of(ctx, tx.SQL(), table, publics)
		}
		return err
	})
	if err != nil {
		return "", public(ctx, err)
	}
	return text, nil
}

// Check says of each column of a private table how many rows its domain loses, and the commonest values outside it,
// and how many rows max_rows loses, before anything is released. The table is a declared one, or that of a declaration, a CREATE PRIVATE TABLE that need
// not have run. It reads the rows and adds no noise: the text is private. Only a curator may ask for it.
func (s *Session) Check(ctx context.Context, table, declaration string) (text string, err error) {
	if err := s.curatorOnly("check"); err != nil {
		return "", err
	}
	ctx, end, err := s.db.answers.Works.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	var create *syntax.CreatePrivate
	if declaration != "" {
		st, err := syntax.Parse(declaration)
		if err != nil {
			return "", public(ctx, err)
		}
		if create, _ = st.(*syntax.CreatePrivate); create == nil || create.In.Text != "" {
			return "", sqlerr.New(sqlerr.Invalid, "only a CREATE PRIVATE TABLE about rows of the file can be checked")
		}
	}
	err = s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		var t *catalog.Table
		if create == nil {
			t, err = tx.Table(table)
		} else {
			var made catalog.Table
			made, err = declare.Undeclared(ctx, tx, create)
			t = &made
		}
		switch {
		case err != nil:
			return err
		case t == nil:
			return sqlerr.New(sqlerr.Unknown, "there is no private table %s", table).WithHint("name a declared table, or a file with a CREATE PRIVATE TABLE: .check draft.sql; of a table that was loaded, .draft writes one")
		case t.SourceID != 0:
			return sqlerr.New(sqlerr.Unsupported, "the rows of %s are in another database", table).WithHint("count there what lies outside the domains")
		}
		rows := source.Table{Source: t.Source, Columns: t.Columns}
		text, err = draft.Check(t.Name, t.Columns, func(column int, each func(string, int64)) error {
			return source.Outside(ctx, tx.SQL(), rows, column, each)
		})
		if err == nil && t.Unit != "" && t.Period == "" {
			var beyond string
			beyond, err = draft.Beyond(ctx, tx.SQL(), t.Source, t.Unit, t.MaxRows)
			text += beyond
		}
		return err
	})
	if err != nil {
		return "", public(ctx, err)
	}
	return text, nil
}
