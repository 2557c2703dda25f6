// Package engine is the one gate to private rows. It opens a database, runs
// statements, and for every query does the same things in the same order:
// parse, bind, look up, plan, charge, draw, store, return. Nothing else in the
// module reads a private row or spends a budget.
package engine

import (
	"context"
	"sync"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/importer"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// Role is what a session may do. It guards front ends; whoever can read the
// file can read the rows.
type Role string

// The roles.
const (
	Curator Role = "curator" // everything
	Analyst Role = "analyst" // queries, EXPLAIN, SHOW, DESCRIBE and SET
)

// Options are the options of Open. The zero value opens for a curator with
// the default settings.
type Options struct {
	Role        Role
	BusyTimeout time.Duration // how long to wait for another process; 5 s by default
	ReadOnly    bool          // refuse every write
	Settings    *Settings     // of new sessions; nil means DefaultSettings
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	store    *catalog.Store
	role     Role
	settings Settings
	random   func() *noise.Source // crypto/rand, but in tests

	answers   *answer.Database
	rows      *rows.Reader
	desk      *pay.Desk
	building  sync.Mutex // declarations of this process run one at a time
	rehearsal *Rehearsal // that works on this database, a copy in memory; nil for all others
}

// Open opens the database file and changes nothing on disk: a missing file is
// created by a curator's first write. The error has code corrupt for a file
// that is no database, io where the system refuses, invalid for a bad option.
func Open(path string, o Options) (*DB, error) {
	if o.Role == "" {
		o.Role = Curator
	}
	if o.Role != Curator && o.Role != Analyst {
		return nil, sqlerr.New(sqlerr.Invalid, "there is no role %q", string(o.Role)).
			WithHint("the roles are curator and analyst")
	}
	settings := DefaultSettings()
	if o.Settings != nil {
		settings = *o.Settings
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	store, err := catalog.Open(context.Background(), path, catalog.Options{ReadOnly: o.ReadOnly, BusyTimeout: o.BusyTimeout})
	if err != nil {
		return nil, err
	}
	db := &DB{store: store, role: o.Role, settings: settings, random: noise.NewSource, rows: rows.NewReader(store)}
	db.desk = &pay.Desk{Store: store, Random: func() *noise.Source { return db.random() }}
	db.answers = answer.NewDatabase(store, db.rows, db.desk, db.desk.Random, o.BusyTimeout)
	return db, nil
}

// Close gives back what the process holds, so that another may go on where it
// was, and closes the file. Sessions must be done.
func (db *DB) Close() error {
	err := db.answers.Close()
	db.rows.Close()
	if cerr := db.store.Close(); err == nil {
		err = cerr
	}
	return err
}

// curatorOnly refuses an analyst. It decides before any name is looked up.
func (db *DB) curatorOnly(what string) error {
	if db.role == Curator {
		return nil
	}
	return sqlerr.New(sqlerr.Forbidden, "the analyst role may not %s", what).
		WithHint("open the database as curator")
}

// view reads the public catalog anew.
func (db *DB) view(ctx context.Context) (v *view.View, err error) {
	err = db.store.Read(ctx, func(tx *catalog.Tx) error {
		v, err = view.Read(tx)
		return err
	})
	return v, err
}

// current returns the public catalog as it is now. It must not be changed.
func (db *DB) current(ctx context.Context) (*view.View, error) {
	return db.answers.Current(ctx)
}

// What statements give and take is declared where SELECTs are answered.
type (
	// Result is what one statement gives: Columns and Rows (of int64, float64, string
	// or nil) for statements that have some, an Answer where the rows are a private
	// answer, Warnings, and the time Elapsed, which the analyst role is not told.
	Result = answer.Result
	// Column is a column of a result: its Name, and its Type INTEGER, REAL or TEXT.
	Column = answer.Column
	// Answer says how a differentially private answer came about: its Margins, shaped
	// as the rows, at a Confidence, what gave it, its Support and its Cost.
	Answer = answer.Answer
	// Kept says which rows of a unit an answer counts.
	Kept = answer.Kept
	// Cost is what a statement was charged.
	Cost = answer.Cost
	// Settings are the values of SET: Mechanism, Accuracy, Confidence, Clamp and
	// Unverified.
	Settings = answer.Settings
)

// DefaultSettings returns the settings of a new session.
func DefaultSettings() Settings { return answer.DefaultSettings() }

// SettingNames are the names SET knows, in the order SHOW SETTINGS lists them.
var SettingNames = answer.SettingNames

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
