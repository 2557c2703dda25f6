package engine

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/pay"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// Session runs statements under settings of its own. One goroutine may use it
// at a time; sessions of one DB run side by side.
type Session struct {
	db       *DB
	settings Settings
	dir      string
	progress func(done, all int64)     // nil where nobody looks
	confirm  func(warning string) bool // nil where nobody is asked
	bill     pay.Bill                  // of the statement that runs
}

// NewSession returns a session with the database's settings.
func (db *DB) NewSession() *Session { return &Session{db: db, settings: db.settings} }

// Reset restores the settings that new sessions have.
func (s *Session) Reset() { s.settings = s.db.settings }

// Set changes a setting, as SET name = value does.
func (s *Session) Set(name, value string) error { return s.settings.Set(name, value) }

// Settings returns the current settings.
func (s *Session) Settings() Settings { return s.settings }

// SetDirectory sets the folder that file names in statements are relative to;
// "" is the working directory.
func (s *Session) SetDirectory(dir string) { s.dir = dir }

// SetProgress sets a function that is called while a release is built, part by
// part of its rows where these are in partitions, and while a SELECT of several
// queries is planned and answered, with the number of steps done and of all.
// Calls come one after the other, of a build on whatever goroutine has read a
// part; nil is none. For the analyst role there are none, see told.
func (s *Session) SetProgress(report func(done, all int64)) {
	if s.told() {
		s.progress = report
	}
}

// SetConfirm sets a function that is asked before a statement buys direct
// answers for more than a tenth of what is left, with a warning that says so.
// Where it returns false the statement is cancelled, and nothing is charged or
// drawn. It is called on the goroutine that runs the statement. Nil asks
// nobody: the warning is then one of the result's.
func (s *Session) SetConfirm(confirm func(warning string) bool) { s.confirm = confirm }

// asker returns what package answer needs to know of who asks.
func (s *Session) asker() answer.Asker {
	return answer.Asker{Settings: s.settings, Principal: catalog.Principal(s.db.role), Bill: &s.bill, Progress: s.progress, Confirm: s.confirm}
}

// told reports whether the session is told how long statements take and how far
// they are. The analyst role is not: rows are counted on the way, and their number
// and whether counts are in memory show in times. It holds for free answers too, so
// that nobody has to know which statements read rows.
func (s *Session) told() bool { return s.db.role == Curator }

func (s *Session) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// Prepared is a parsed statement. It never changes, so any number of sessions
// may run it at the same time.
type Prepared struct {
	statement  sqlfront.Statement
	parameters []string
}

// Prepare parses one statement. No name in it is looked up before it runs. The
// error is a *sqlerr.Error.
func Prepare(text string) (*Prepared, error) {
	statement, parameters, err := sqlfront.ParseWithParameters(text)
	if err != nil {
		return nil, public(context.Background(), err)
	}
	return &Prepared{statement, parameters}, nil
}

// Parameters returns the names of the arguments that the statement takes, in
// their order; "" for those without a name.
func (p *Prepared) Parameters() []string { return p.parameters }

// Exec prepares a statement and runs it, see ExecPrepared.
func (s *Session) Exec(ctx context.Context, text string, args []query.Value) (*Result, error) {
	start := time.Now()
	p, err := Prepare(text)
	if err != nil {
		return nil, err
	}
	return s.execSince(ctx, start, p, args)
}

// ExecPrepared runs a prepared statement. The arguments stand for its
// placeholders. Every error is a *sqlerr.Error. A refused statement has charged
// nothing, unless it bought the number of rows; one that fails or is cancelled
// after its charge has spent it, and says so. The ledger shows both.
func (s *Session) ExecPrepared(ctx context.Context, p *Prepared, args []query.Value) (*Result, error) {
	return s.execSince(ctx, time.Now(), p, args)
}

func (s *Session) execSince(ctx context.Context, start time.Time, p *Prepared, args []query.Value) (*Result, error) {
	s.bill = pay.Bill{}
	r, err := s.exec(ctx, p.statement, args)
	if err != nil {
		return nil, s.bill.Tell(public(ctx, err))
	}
	if s.told() {
		r.Elapsed = time.Since(start)
	}
	return r, nil
}

func (s *Session) exec(ctx context.Context, statement sqlfront.Statement, args []query.Value) (*Result, error) {
	if sel, ok := statement.(*sqlfront.Select); ok {
		return s.db.answers.Select(ctx, s.asker(), sel, args)
	}
	if ex, ok := statement.(*sqlfront.Explain); ok {
		return s.db.answers.Explain(ctx, s.asker(), ex.Select, args)
	}
	if len(args) > 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "this statement takes no arguments")
	}
	return s.run(ctx, statement)
}

// run dispatches the statements that are not queries.
func (s *Session) run(ctx context.Context, statement sqlfront.Statement) (*Result, error) {
	switch st := statement.(type) {
	case *sqlfront.Set:
		if err := s.Set(st.Name.Text, st.Value); err != nil {
			return nil, sqlerr.Locate(err, st.Name.Position)
		}
		return &Result{}, nil
	case *sqlfront.Show:
		return s.show(ctx, st)
	case *sqlfront.Describe:
		return s.describe(ctx, st)
	}
	if err := s.db.curatorOnly("declare, drop or export"); err != nil {
		return nil, err
	}
	s.db.building.Lock()
	defer s.db.building.Unlock()
	return s.declare(ctx, statement)
}

// declare dispatches the statements that change the catalog.
func (s *Session) declare(ctx context.Context, statement sqlfront.Statement) (*Result, error) {
	d := s.declaration()
	var warnings []string
	var err error
	switch st := statement.(type) {
	case *sqlfront.CreatePublic:
		err = d.CreatePublic(ctx, st)
	case *sqlfront.CreatePrivate:
		warnings, err = d.CreatePrivate(ctx, st)
	case *sqlfront.CreateSource:
		warnings, err = d.CreateSource(ctx, st)
	case *sqlfront.CreateRelease:
		warnings, err = d.CreateRelease(ctx, st)
	case *sqlfront.CreateMechanism:
		warnings, err = d.CreateMechanism(ctx, st)
	case *sqlfront.AlterPrivate:
		err = d.AlterPrivate(ctx, st)
	case *sqlfront.Drop:
		s.db.rows.Forget()
		err = d.Drop(ctx, st)
	case *sqlfront.Export:
		err = d.Export(ctx, st)
	default:
		err = sqlerr.New(sqlerr.Internal, "a statement is not handled")
	}
	if err != nil {
		return nil, err
	}
	return &Result{Warnings: warnings}, nil
}

// declaration returns what package declare needs to carry a statement out.
func (s *Session) declaration() *declare.Statement {
	d := &declare.Statement{Store: s.db.store, Desk: s.db.desk, Rows: s.db.rows, Random: s.db.random,
		Bill: &s.bill, Path: s.path, Progress: s.progress}
	if s.db.rehearsal != nil {
		d.Unknown = s.db.rehearsal
	}
	return d
}

// public returns the error as a user may see it: ours as they are, the end of
// the context as cancelled, and anything else without its text, which could
// carry a private value.
func public(ctx context.Context, err error) *sqlerr.Error {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	}
	return sqlerr.New(sqlerr.Internal, "the statement failed inside dpsql")
}

// Input is one statement or dot-command of a script, with where it starts.
type Input = sqlfront.Input

// Scanner cuts a script into inputs as it arrives.
type Scanner = sqlfront.Scanner

// NewScanner returns a scanner of r.
func NewScanner(r io.Reader) *Scanner { return sqlfront.NewScanner(r) }

// Incomplete reports whether text is the beginning of a statement that goes
// on: no terminating semicolon yet, or an open string or comment.
func Incomplete(text string) bool { return sqlfront.Incomplete(text) }

// Parameters returns the names of the arguments a statement takes, in their
// order; "" for those without a name.
func Parameters(text string) ([]string, error) { return sqlfront.Parameters(text) }
