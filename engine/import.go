package engine

import (
	"context"

	"dpsql/catalog"
	"dpsql/internal/importer"
)

// Import says what to load into which table.
type Import struct {
	Path      string // a CSV or TSV file with a header, also gzipped, or a .parquet file; relative to the session's directory
	Table     string
	Append    bool // add to an existing table
	IfMissing bool // do nothing when the table exists
	Comma     rune // between fields; 0 goes by the file's name: a tab for .tsv and .tab, else a comma
	// Progress, if there is one, is told how much of the work is done.
	Progress func(done, all int64)
}

// ImportReport says what was loaded.
type ImportReport struct {
	Table   string
	Rows    int64
	Skipped bool // the table existed
	Columns []Column
}

// Import loads a file into a raw table, all of it or nothing. Only a curator
// may import.
func (s *Session) Import(ctx context.Context, im Import) (ImportReport, error) {
	if err := s.db.curatorOnly("import"); err != nil {
		return ImportReport{}, err
	}
	var report importer.Report
	err := s.db.store.Write(ctx, func(tx *catalog.Tx) error {
		var err error
		report, err = importer.Import(ctx, tx.SQL(), importer.Options{
			Path: s.path(im.Path), Table: im.Table, Append: im.Append, IfMissing: im.IfMissing, Comma: im.Comma, Progress: im.Progress})
		return err
	})
	if err != nil {
		return ImportReport{}, public(ctx, err)
	}
	out := ImportReport{Table: report.Table, Rows: report.Rows, Skipped: report.Skipped}
	for _, c := range report.Columns {
		out.Columns = append(out.Columns, Column{Name: c.Name, Type: c.Type})
	}
	return out, nil
}
