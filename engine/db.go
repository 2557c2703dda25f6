// Package engine is the one gate to private rows. It opens a database and runs statements.
// For every query it takes the same steps in the same order: parse, bind, look up, plan,
// charge, draw, store, return. Nothing else in the module reads a private row or spends a
// budget.
package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/internal/released"
	"dpsql/internal/scram"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// Role is the set of things that a session may do. It guards front ends only: anyone who
// can read the file can read the rows.
type Role string

// The roles.
const (
	Curator Role = "curator" // everything
	Analyst Role = "analyst" // queries, EXPLAIN, SHOW, DESCRIBE and SET
)

// Options are the options of Open. The zero value opens the database for a curator, with
// the default settings.
type Options struct {
	Role        Role
	BusyTimeout time.Duration // how long to wait for another process; 5 s by default
	ReadOnly    bool          // refuse every write
	Settings    *Settings     // for new sessions; nil means DefaultSettings
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	store    *catalog.Store
	role     Role
	settings Settings
	coins    func() *coin.Source
	now      func() time.Time // the clock of CURRENT_DATE; time.Now, except in tests

	strangers func() []byte // the secret of mock verifiers if the file has none

	answers   *answer.Database
	rows      *rows.Reader
	desk      *pay.Desk
	building  chan struct{} // holds a token while a declaration runs: those of this process run one at a time
	around    surroundings
	rehearsal *Rehearsal // the rehearsal that works on this database, a copy in memory; nil for all others
}

// Open opens the database file. It changes nothing on disk: a curator's first write
// creates a missing file. The error has code corrupt if the file is not a database, io if
// the system refuses, and invalid for a bad option.
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
	db := &DB{store: store, role: o.Role, settings: settings, coins: coin.NewSource, now: time.Now, strangers: sync.OnceValue(scram.Secret), rows: rows.NewReader(store), building: make(chan struct{}, 1)}
	db.desk = &pay.Desk{Store: store}
	db.answers = answer.NewDatabase(store, db.rows, db.desk, o.BusyTimeout)
	db.answers.Functions = db.around.evaluate
	return db, nil
}

// Close cancels the statements that run, with the code closed, and waits for them: what they have charged and not
// drawn for waits for the same statements. It gives back the mechanisms that the process holds, so that another can go on where
// it was, and closes the file.
func (db *DB) Close() error {
	db.answers.Works.Close()
	err := db.answers.Close()
	db.around.close()
	db.rows.Close()
	if cerr := db.store.Close(); err == nil {
		err = cerr
	}
	return err
}

// Types of package answer that callers of this package use.
type (
	// Result is the result of one statement:
	//
	//	Columns  []Column // empty for a statement without rows
	//	Rows     [][]any  // int64, float64, string or nil
	//	Answer   *Answer  // nil unless the rows are a private answer
	//	Brief    *Result  // the columns and rows as a table for people has them; nil if they are those above
	//	Note     string   // what a statement without rows did, or what is to be known beside rows, in one line; "" if there is nothing to say
	//	Paid     string   // what a release cost, its margins and what is left, for a person at a terminal; "" otherwise
	//	Warnings []string
	//	Elapsed  time.Duration // how long the statement took; 0 for the analyst role, which is not told times
	//	// Total is what a rehearsal would spend over all accounts, as epsilon, delta and rho; nil for other rows.
	//	Total map[string]float64
	//	Price *Price // of EXPLAIN, what the statement would take now; nil if nothing answers it
	Result = released.Result
	// Column is a column of a result:
	//
	//	Name string
	//	Type string        // "INTEGER", "REAL" or "TEXT"; see Value
	//	SQL  query.SQLType // known before the statement runs
	Column = released.Column
	// Answer describes how a differentially private answer came about:
	//
	//	Margins    [][]any   // shaped as Rows: the larger distance of an end of the interval (float64; in days for a Span), or nil if none is known or the value is public
	//	Intervals  [][]any   // shaped as Rows, an Interval or a Span, an Unknown, or nil for NULL and public values: what holds the true value, and the value, which need not be its middle
	//	Bounds     [][]any   // shaped as Rows, a Bound for each MARGIN, LOW and HIGH in the select list; nil if it has none
	//	NotNull    []bool    // one for each column: none of its values can be NULL
	//	Confidence float64   // the probability that a true value lies within its interval, for each value on its own
	//	Via        string    // the release or mechanism, "direct", or "constant" for an empty query; several are joined by ", "
	//	Mechanism  string    // "projection", "marginals", "smw", "direct" or "constant"; several are joined by ", "
	//	Support    string    // m, the sparsity of the query, in decimal, or "infinite"; "least to largest" for several queries
	//	Cost       Cost      // the charge for this statement; see Cost
	//	Verified   bool      // false if a value has no margin, for example after a mechanism's last run
	//	Apart      int       // how many of the answers that numbers are made of a fit has outside their proven intervals
	//	Simulated  bool      // margins come from simulations; no theorem supports them
	//	Released   bool      // releases gave all the answers
	//	AsOf       time.Time // when rows were read of periods that had not ended, so that more may have come; zero if there are none
	//	Kept       []Kept    // for each table of whose rows only some count
	//	Warnings   []string  // those of the Result, for callers who have no more than the Answer
	Answer = released.Answer
	// Interval is a closed interval of numbers: Low and High.
	Interval = released.Interval
	// Span is an interval of dates or timestamps, as they are shown: Low and High.
	Span = released.Span
	// Unknown says why a number has no interval.
	Unknown = released.Unknown
	// Bound says how people write a MARGIN, LOW or HIGH: with the places of Margin, rounded
	// up, or Down.
	Bound = released.Bound
	// Kept describes which rows of a unit an answer counts:
	//
	//	Table   string
	//	Unit    string // the column that identifies a unit
	//	MaxRows int64  // the number of rows kept for each unit
	//	Period  string // what each unit keeps as many in: "month"; "" for all rows together
	Kept = released.Kept
	// Cost is the charge for a statement:
	//
	//	Epsilon float64 // nats, releases account
	//	Rho     float64 // zero-concentrated divergence, interactive account
	Cost = released.Cost
	// Price is what a statement would take from budgets and quotas:
	//
	//	Known bool           // false if it follows from answers that are bought first
	//	Rho   accounting.Rho // 0 if it is free
	//	Left  accounting.Rho // of the purse that it takes the largest part of, before it takes it; 0 if it is free
	Price = released.Price
	// Settings are the values of SET:
	//
	//	Mechanism  string  // auto, smw, projection, marginals, direct, or the name of one release or mechanism
	//	Accuracy   float64 // in counts; 0 if unset, and then nothing is bought
	//	Confidence float64 // of the margins, in (0, 1)
	//	Clamp      bool    // negative estimates become 0
	//	Unverified bool    // give answers after a mechanism's last run, marked as unverified
	//	Margins    string  // Proven, or Simulated: narrower, for releases that have simulations
	Settings = released.Settings
)

// DefaultSettings returns the settings of a new session.
func DefaultSettings() Settings { return released.DefaultSettings() }

// SettingNames lists the names that SET accepts, in the order of SHOW SETTINGS.
var SettingNames = released.SettingNames

// Session runs statements under its own settings. It must not be used by several
// goroutines at a time; sessions of one DB may run side by side.
type Session struct {
	db       *DB
	by       principal
	settings Settings
	dir      string
	progress func(done, all int64)     // may be nil
	waits    func()                    // the same, see SetWaits
	confirm  func(warning string) bool // may be nil
	free     bool
	most     *accounting.Rho // that a statement may take; nil for no bound

	// Of the running statement.
	bill   pay.Bill
	buyers *pay.Buyers
	began  time.Time
}

// NewSession returns a session of the database's role, with its settings. It sees all tables.
func (db *DB) NewSession() *Session {
	s := &Session{db: db, settings: db.settings, by: principal{role: db.role}}
	s.begin()
	return s
}

// begin begins a statement, which has taken nothing yet.
func (s *Session) begin() {
	who := catalog.Buyer{Principal: catalog.Principal(s.by.role), User: s.by.id}
	if s.most != nil {
		who.Agreed = &catalog.Agreement{Most: *s.most}
	}
	s.bill, s.buyers, s.began = pay.Bill{Quota: s.by.id != 0}, pay.NewBuyers(who), s.db.now()
}

// Reset restores the settings of a new session.
func (s *Session) Reset() { s.settings = s.db.settings }

// Set changes a setting, as SET name = value does.
func (s *Session) Set(name, value string) error { return s.settings.Set(name, value) }

// Settings returns the current settings.
func (s *Session) Settings() Settings { return s.settings }

// SetSettings changes all settings to what Settings returned.
func (s *Session) SetSettings(all Settings) { s.settings = all }

// SetDirectory sets the folder that file names in statements are relative to. "" means the
// working directory.
func (s *Session) SetDirectory(dir string) { s.dir = dir }

// SetProgress sets a function that reports progress: the number of steps done, and of all
// steps. A release that is built calls it for each part of its rows, if the rows are in
// partitions. A SELECT of several queries calls it as each is planned and answered. Calls
// do not overlap. Those of a build come from any goroutine that has read a part. nil sets
// none. Sessions of the analyst role report nothing, see told.
func (s *Session) SetProgress(report func(done, all int64)) {
	if s.told() {
		s.progress = report
	}
}

// SetConfirm sets a function that is called, with a warning, before a statement buys
// direct answers for more than a tenth of the remaining budget, or keys of which none is likely to
// be found; without it the latter is refused. If it returns false the
// statement is cancelled, and nothing is charged or drawn. It is called on the goroutine
// that runs the statement. If it is nil the warning is added to the result instead.
func (s *Session) SetConfirm(confirm func(warning string) bool) { s.confirm = confirm }

// SetWaits sets a function that is called when a statement is about to wait for the slot in which it reads
// private rows, before it reads any.
func (s *Session) SetWaits(waits func()) { s.waits = waits }

// SetFree says whether the session's statements may cost nothing and change nothing: releases
// and stored answers still answer, and what would need a charge is refused with the code
// readonly.
func (s *Session) SetFree(free bool) { s.free = free }

// SetMost bounds what each statement may take from budgets and quotas: all of its aggregates and the runs of mechanisms
// that it begins, together. Whatever it was planned for, the transaction that charges refuses more, with the code
// budget. rho is a decimal, "0" for free answers alone; "" lifts the bound.
func (s *Session) SetMost(rho string) error {
	s.most = nil
	if rho == "" {
		return nil
	}
	most, err := accounting.Rho(0), error(nil)
	if rho != "0" {
		most, err = accounting.ParseRho("the agreed price", rho)
	}
	if err == nil {
		s.most = &most
	}
	return err
}

// asker returns the session as package answer needs it.
func (s *Session) asker() answer.Asker {
	return answer.Asker{User: s.by.id, Settings: s.settings, Buyers: s.buyers, Now: s.began, Bill: &s.bill, Progress: s.progress, Waits: s.waits, Confirm: s.confirm, Free: s.free, Held: s.by.id != 0, Stops: s.told()}
}

// told reports whether the session is told the time and the progress of its statements.
// The analyst role is not. Statements count rows on the way, so times could show the
// number of rows, and whether counts are in memory. Free answers are no exception: nobody
// should have to know which statements read rows.
func (s *Session) told() bool { return s.by.role == Curator }

func (s *Session) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// Prepared is a parsed statement. It is immutable, so several sessions may run it at the
// same time.
type Prepared struct {
	read   *syntax.Reading                   // its settings hold while the statement runs
	around func() (*around.Statement, error) // the query as one with surroundings
}

// Prepare parses one statement. It looks up no names; that happens at each run. The error
// is a *sqlerr.Error.
func Prepare(text string) (*Prepared, error) {
	p, err := prepare(text)
	if err != nil {
		return nil, public(context.Background(), err)
	}
	return p, nil
}

func prepare(text string) (*Prepared, error) {
	read, err := syntax.Read(text)
	if err != nil {
		return nil, err
	}
	return prepared(read)
}

// prepared prepares a statement that was read.
func prepared(read *syntax.Reading) (*Prepared, error) {
	p := &Prepared{read: read, around: sync.OnceValues(func() (*around.Statement, error) { return around.Of(read) })}
	if !slices.ContainsFunc(read.Settings, func(o syntax.Option) bool { return o.Parameter > 0 }) {
		if _, err := p.settings(released.DefaultSettings(), nil); err != nil {
			return nil, err
		}
	}
	return p, p.query().Check()
}

// settings returns the settings under which the statement runs: those of the session, and
// its own.
func (p *Prepared) settings(s Settings, args []query.Value) (Settings, error) {
	for _, o := range p.read.Settings {
		value := o.Value
		if o.Parameter > len(args) {
			return s, p.miscounted(len(args))
		} else if o.Parameter > 0 {
			value = cmp.Or(args[o.Parameter-1].Str(), args[o.Parameter-1].String())
		}
		if err := s.Set(o.Name.Text, value); err != nil {
			return s, sqlerr.Locate(err, o.Name.Position)
		}
	}
	return s, nil
}

// Parameters returns the names of the statement's arguments, in order. An argument without
// a name is "".
func (p *Prepared) Parameters() []string { return p.read.Parameters }

// Setting returns the name and the value of SET name = value, the latter as a parameter if it is one. It is not ok for another statement.
func (p *Prepared) Setting() (name, value string, ok bool) {
	if t := p.read.Tokens; p.read.Statement == nil && len(t) > 3 && t[0].Matches("SET") {
		return strings.ToLower(t[1].Value), t[3].Text, true
	}
	set, ok := p.read.Statement.(*syntax.Set)
	if ok {
		name, value = strings.ToLower(set.Name.Text), set.Value
	}
	return name, value, ok
}

// Query reports whether the statement is one that EXPLAIN may stand before.
func (p *Prepared) Query() bool {
	_, declares := p.read.Statement.(*syntax.CreateRelease)
	_, builds := p.read.Statement.(*syntax.CreateMechanism)
	return p.read.Query != nil && !p.read.Explain || declares || builds
}

// Explained returns EXPLAIN of such a statement. Errors have their positions in the statement.
func (p *Prepared) Explained() (*Prepared, error) {
	read := *p.read
	switch st := read.Statement.(type) {
	case *syntax.CreateRelease, *syntax.CreateMechanism:
		read.Statement = &syntax.ExplainCreate{Create: st}
	case *syntax.Select:
		read.Explain, read.Statement = true, &syntax.Explain{Select: st}
	default:
		read.Explain = true
	}
	return again(&read, nil)
}

// Shapes returns what the parameters stand for; nil if each is a value.
func (p *Prepared) Shapes() []syntax.Shape { return p.read.Shapes }

// Fill returns the statement given its arguments, each a query.Value or a list, a []query.Value, and the values with which
// it then runs. A list stands in IN (?), = ANY (?) and <> ALL (?), where the text of an array, {a,b}, is one, too. Without its
// arguments the columns and parameters of a statement may be asked for, those of a list having its elements' type.
func (p *Prepared) Fill(args []any) (*Prepared, []query.Value, error) {
	if len(args) != len(p.Parameters()) {
		return nil, nil, p.miscounted(len(args))
	}
	values, given, more := make([]query.Value, len(args)), make([]syntax.Given, len(args)), p.read.Shapes != nil
	for i, a := range args {
		list, ok := a.([]query.Value)
		if v, one := a.(query.Value); one {
			values[i], given[i].Text = v, v.Str()
			if p.read.Shapes == nil || p.read.Shapes[i].Kind != syntax.ArrayShape {
				continue
			}
			list, ok = elements(v)
		}
		if !ok {
			return nil, nil, sqlerr.New(sqlerr.Invalid, "argument %d is not a list", i+1).WithHint("pass a slice, or the text of an array: {a,b}")
		}
		more, given[i].List, given[i].Length = true, true, len(list)
		if len(list) > 0 {
			values[i] = list[0]
			values = append(values, list[1:]...)
		}
	}
	if !more {
		return p, values, nil
	}
	p, err := again(p.read.Give(given))
	return p, values, err
}

// miscounted is the error of too many arguments, or too few.
func (p *Prepared) miscounted(arguments int) error {
	return sqlerr.New(sqlerr.Invalid, "the statement has %d parameters, and %d arguments are given", len(p.Parameters()), arguments)
}

// elements returns the elements of an array in text; those of NULL are one NULL.
func elements(array query.Value) (list []query.Value, ok bool) {
	if array.IsNull() {
		return []query.Value{array}, true
	}
	items, ok := syntax.Elements(array.Str())
	for _, item := range items {
		if item.Kind == syntax.KindString {
			list = append(list, query.Text(item.Value))
		} else {
			list = append(list, query.Null())
		}
	}
	return list, ok
}

// Intervals returns the statement given which of its parameters are intervals where the text does not say so.
func (p *Prepared) Intervals(intervals []bool) (*Prepared, error) {
	return again(p.read.Intervals(intervals))
}

// again prepares a statement that was read again.
func again(read *syntax.Reading, err error) (p *Prepared, _ error) {
	if err == nil {
		p, err = prepared(read)
	}
	if err != nil {
		return nil, public(context.Background(), err)
	}
	return p, nil
}

// Exec prepares a statement and runs it, see ExecPrepared.
func (s *Session) Exec(ctx context.Context, text string, args []query.Value) (*Result, error) {
	start := time.Now()
	p, err := Prepare(text)
	if err != nil {
		return nil, err
	}
	return s.execSince(ctx, start, p, args)
}

// ExecPrepared runs a prepared statement. args are the values of its placeholders. Every
// error is a *sqlerr.Error. A refused statement has charged nothing, unless it bought the
// number of rows. A statement that fails or is cancelled after its charge has spent it,
// and its error says so. The ledger shows both.
func (s *Session) ExecPrepared(ctx context.Context, p *Prepared, args []query.Value) (*Result, error) {
	return s.execSince(ctx, time.Now(), p, args)
}

func (s *Session) execSince(ctx context.Context, start time.Time, p *Prepared, args []query.Value) (*Result, error) {
	s.begin()
	if s.by.id == 0 { // a server ends the statements of users itself
		during, end, err := s.db.answers.Works.Begin(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		ctx = during
	}
	r, err := s.exec(ctx, p, args)
	if err != nil {
		return nil, s.bill.Tell(public(ctx, err))
	}
	if s.told() {
		r.Elapsed = time.Since(start)
	}
	if r.Answer != nil {
		r.Answer.Warnings = r.Warnings
	}
	return r, nil
}

func (s *Session) exec(ctx context.Context, p *Prepared, args []query.Value) (r *Result, err error) {
	if s.by.err != nil {
		return nil, s.by.err
	}
	if len(p.read.Settings) > 0 {
		defer func(session Settings) { s.settings = session }(s.settings)
		if s.settings, err = p.settings(s.settings, args); err != nil {
			return nil, err
		}
	}
	if p.read.Query == nil && len(p.read.Parameters) > 0 {
		return p.literally(args, func(p *Prepared) (*Result, error) { return s.exec(ctx, p, nil) })
	}
	if p.read.Query != nil {
		if len(args) > len(p.Parameters()) {
			return nil, p.miscounted(len(args))
		}
		if err = p.read.Open(); err != nil {
			return nil, err
		}
		return s.query(ctx, p, args)
	}
	if create, ok := p.read.Statement.(*syntax.CreatePublic); ok && create.As > 0 && create.Keys == nil && len(args) == 0 {
		return s.publish(ctx, p.read.Text, create)
	}
	if len(args) > 0 {
		return nil, errNoArguments
	}
	return s.run(ctx, p.read.Statement)
}

// literally runs a statement that is no query with its arguments as literals.
func (p *Prepared) literally(args []query.Value, run func(*Prepared) (*Result, error)) (*Result, error) {
	read, err := p.read.Literal(args)
	if err != nil {
		return nil, err
	}
	if p, err = prepared(read); err != nil {
		return nil, sqlerr.Move(err, read.Place)
	}
	r, err := run(p)
	return r, sqlerr.Move(err, read.Place)
}

// query returns the statement as a query.
func (p *Prepared) query() released.Query { return released.Query{Read: p.read, Around: p.around} }

// query runs a query as the private aggregate that it is, or else as one with surroundings.
func (s *Session) query(ctx context.Context, p *Prepared, args []query.Value) (*Result, error) {
	return released.Either(p.query(), func(sel *syntax.Select) (*Result, error) {
		if p.read.Explain {
			return s.explain(ctx, released.Selection{Select: sel, Args: args}, p.read.Full)
		}
		return s.db.answers.Select(ctx, s.asker(), sel, args)
	}, func(st released.Surrounded) (*Result, error) { return s.surround(ctx, st, args) })
}

// explain explains a private aggregate.
func (s *Session) explain(ctx context.Context, sel released.Selection, full bool) (*Result, error) {
	st, err := s.db.answers.Explain(ctx, s.asker(), []released.Selection{sel})
	if err != nil {
		return nil, err
	}
	r := st.Explained()
	if full {
		r.Brief = nil
	}
	return r, nil
}

var errNoArguments = sqlerr.New(sqlerr.Invalid, "this statement takes no arguments")

// run runs the statements that are not queries.
func (s *Session) run(ctx context.Context, statement syntax.Statement) (*Result, error) {
	switch st := statement.(type) {
	case *syntax.Set:
		if err := s.Set(st.Name.Text, st.Value); err != nil {
			return nil, sqlerr.Locate(err, st.Name.Position)
		}
		return &Result{}, nil
	case *syntax.Show:
		return s.show(ctx, st)
	case *syntax.Describe:
		return s.describe(ctx, st)
	case *syntax.ExplainCreate:
		v, err := s.current(ctx)
		if err != nil {
			return nil, err
		}
		return s.outlook(ctx, st, v)
	case *syntax.Advise:
		v, err := s.current(ctx)
		if err != nil {
			return nil, err
		}
		return s.advise(ctx, st, v)
	}
	if err := s.curatorOnly("declare, drop or export"); err != nil {
		return nil, err
	}
	if s.free {
		return nil, sqlerr.New(sqlerr.ReadOnly, "nothing is declared, dropped or exported in a read-only transaction")
	}
	if err := s.db.build(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.db.building }()
	return s.declare(ctx, statement)
}

// build waits until no other declaration of this process runs.
func (db *DB) build(ctx context.Context) error {
	select {
	case db.building <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// declare runs the statements that change the catalog.
func (s *Session) declare(ctx context.Context, statement syntax.Statement) (*Result, error) {
	d := s.declaration()
	var warnings []string
	var note string
	var err error
	switch st := statement.(type) {
	case *syntax.CreateView:
		warnings, err = d.CreateView(ctx, st)
	case *syntax.CreatePublic:
		if st.Keys != nil {
			warnings, err = d.Discover(ctx, st)
		} else {
			err = d.CreatePublic(ctx, st)
		}
	case *syntax.CreatePrivate:
		warnings, err = d.CreatePrivate(ctx, st)
	case *syntax.CreateSource:
		warnings, err = d.CreateSource(ctx, st)
	case *syntax.CreateRelease:
		warnings, err = d.CreateRelease(ctx, st)
	case *syntax.CreateMechanism:
		warnings, err = d.CreateMechanism(ctx, st)
	case *syntax.RefreshRelease:
		note, warnings, err = d.Refresh(ctx, st)
	case *syntax.RetirePeriod:
		s.db.rows.Forget()
		note, err = d.Retire(ctx, st)
	case *syntax.AlterPrivate:
		err = d.AlterPrivate(ctx, st)
	case *syntax.CreateUser:
		err = d.CreateUser(ctx, st)
	case *syntax.Grant:
		err = d.Grant(ctx, st)
	case *syntax.Drop:
		s.db.rows.Forget()
		err = d.Drop(ctx, st)
	case *syntax.Export:
		err = s.export(ctx, d, st)
	default:
		err = sqlerr.New(sqlerr.Internal, "a statement is not handled")
	}
	if err != nil {
		return nil, err
	}
	return &Result{Note: note, Paid: d.Paid, Warnings: warnings}, nil
}

// declaration returns a declaration of this session for package declare.
func (s *Session) declaration() *declare.Statement {
	d := &declare.Statement{Store: s.db.store, Path: s.path, Confirm: s.confirm, Now: s.db.now, Patience: s.db.answers.Live.Patience, Functions: s.db.answers.Functions}
	d.Site = kind.Site{Desk: s.db.desk, Rows: s.db.rows, Coins: s.db.coins, Bill: &s.bill, Progress: s.progress}
	if s.db.rehearsal != nil {
		d.Unknown = s.db.rehearsal
	}
	return d
}

// public returns an error that a user may see. It keeps a *sqlerr.Error and reports the
// end of the context as cancelled. It hides the text of any other error, which could
// contain a private value.
func public(ctx context.Context, err error) *sqlerr.Error {
	var e, closed *sqlerr.Error
	switch {
	case errors.As(err, &e) && e.Code != sqlerr.Cancelled:
		return e
	case errors.As(context.Cause(ctx), &closed):
		return closed
	case e != nil:
		return e.Because(ctx.Err())
	case ctx.Err() != nil:
		return sqlerr.New(sqlerr.Cancelled, "the statement was cancelled").Because(ctx.Err())
	}
	return sqlerr.New(sqlerr.Internal, "the statement failed inside dpsql")
}

// Input is one statement or dot-command of a script:
//
//	Text    string // from its first character through its semicolon, if it has one
//	Command bool   // it is a dot-command
//	Line    int    // 1-based line of the first character
//	Column  int    // 1-based character in that line
type Input = syntax.Input

// Scanner splits a script into inputs as it arrives. Next returns them one by one, and io.EOF after the last; its errors have
// the code io, or unsupported for a statement that is too long.
type Scanner = syntax.Scanner

// NewScanner returns a scanner of r.
func NewScanner(r io.Reader) *Scanner { return syntax.NewScanner(r) }

// Incomplete reports whether text is the beginning of a longer statement: it has no
// terminating semicolon yet, or ends inside a string or comment.
func Incomplete(text string) bool { return syntax.Incomplete(text) }

// Parameters returns the names of a statement's arguments, in order. An argument without a
// name is "".
func Parameters(text string) ([]string, error) { return syntax.Parameters(text) }
