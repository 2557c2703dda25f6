package catalog_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/internal/seeds"
)

var faultSteps = flag.Int("fault-steps", 80, "transactions of TestTransactionsAfterFaults")

// fault is what happens at one statement of a transaction.
type fault int

const (
	noFault       fault = iota
	refusedBefore       // the statement fails and did nothing
	refusedAfter        // it took effect and says that it failed
	undone              // SQLite rolls the transaction back by itself
	cancelled           // the context ends before it
	panicked            // the program fails
	badConnection       // the connection is replaced
	faults
)

var errFault = errors.New("an injected fault")

// faulty makes the n-th statement of a connection from now fail. The commit counts as
// a statement. Store s writes through it.
type faulty struct {
	left   int // statements until then; 0: none fails
	what   fault
	cancel context.CancelFunc
	met    int // the number of faults so far
}

// injectFaults gives a store a pool whose statements can fail.
func injectFaults(t *testing.T, s *catalog.Store) *faulty {
	t.Helper()
	f := &faulty{}
	text := catalog.DSN(s.Path(), s.Options().BusyTimeout, "mode=rw", "_txlock=immediate", "_pragma="+catalog.Pragma("foreign_keys", "1"),
		"_pragma="+catalog.Pragma("journal_mode", s.Journal()), "_pragma="+catalog.Pragma("synchronous", "full"))
	real, err := catalog.NewConnector(text)
	if err != nil {
		t.Fatal(err)
	}
	s.SetWriter(sql.OpenDB(faultyConnector{real, f}))
	s.Writer().SetMaxOpenConns(1)
	return f
}

// around runs a statement, or fails as was ordered.
func (f *faulty) around(conn catalog.SQLiteConn, do func() error) error {
	if f.left == 0 {
		return do()
	}
	if f.left--; f.left > 0 {
		return do()
	}
	f.met++
	switch f.what {
	case refusedAfter:
		return errors.Join(errFault, do())
	case undone:
		_, err := conn.ExecContext(context.Background(), "ROLLBACK", nil)
		return errors.Join(errFault, err)
	case cancelled:
		f.cancel()
		return do()
	case badConnection:
		return driver.ErrBadConn
	}
	return errFault
}

type faultyConnector struct {
	driver.Connector
	f *faulty
}

func (c faultyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	catalog.Interpose(conn, func(real catalog.SQLiteConn) catalog.SQLiteConn { return faultyConn{real, c.f} })
	return conn, nil
}

type faultyConn struct {
	catalog.SQLiteConn
	f *faulty
}

func (c faultyConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (r driver.Result, err error) {
	err = c.f.around(c.SQLiteConn, func() error { r, err = c.SQLiteConn.ExecContext(ctx, text, args); return err })
	return r, err
}

func (c faultyConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.SQLiteConn.PrepareContext(ctx, text)
	return faultyStmt{s, c}, err
}

func (c faultyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.SQLiteConn.BeginTx(ctx, o)
	return faultyTx{tx, c}, err
}

type faultyStmt struct {
	driver.Stmt
	c faultyConn
}

func (s faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (r driver.Result, err error) {
	err = s.c.f.around(s.c.SQLiteConn, func() error { r, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args); return err })
	return r, err
}

func (s faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (r driver.Rows, err error) {
	err = s.c.f.around(s.c.SQLiteConn, func() error { r, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args); return err })
	return r, err
}

type faultyTx struct {
	driver.Tx
	c faultyConn
}

func (t faultyTx) Commit() error {
	err := t.c.f.around(t.c.SQLiteConn, t.Tx.Commit)
	if errors.Is(err, errFault) { // as the driver does
		_ = t.Tx.Rollback()
	}
	return err
}

// knowledge reads everything in the catalog except answers.
func knowledge(t *testing.T, tx *catalog.Tx, account int64) string {
	t.Helper()
	all := map[string]any{"version": tx.Version()}
	note := func(what string, got any, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		all[what] = got
	}
	accounts, err := tx.Accounts()
	note("accounts", append([]catalog.Account{}, accounts...), err)
	publics, err := tx.Publics()
	note("publics", append([]string{}, publics...), err)
	mechanisms, err := tx.Mechanisms(0)
	note("mechanisms", mechanisms, err)
	for _, m := range mechanisms {
		one, err := tx.MechanismByID(m.ID)
		note("by id "+m.Name, one, err)
		history, err := tx.History(m.ID, 1)
		note("history of "+m.Name, history, err)
	}
	tables, err := tx.Tables()
	note("tables", len(tables), err)
	releases, err := tx.Releases(0)
	note("releases", releases, err)
	spent, err := tx.MostSpent(account)
	note("spent", spent, err)
	c, err := tx.Head()
	note("ledger", fmt.Sprint(c), err)
	for name := range map[string]bool{catalog.RollLedger: true, catalog.RollCatalog: true} {
		r, err := tx.Roll(0, name)
		note("roll of "+name, fmt.Sprint(r), err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTransactionsAfterFaults runs random transactions on Stores of one file. Many of
// them fail at a statement, at their commit or after it. Another program writes as
// well. After each transaction, the next transaction of every Store reads the same as a
// Store that wrote nothing.
func TestTransactionsAfterFaults(t *testing.T) {
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	path := dbPath(t)
	fresh := open(t, path)
	stores := []*catalog.Store{open(t, path), open(t, path), open(t, path)}
	account, table := declare(t, stores[0], "raws")
	var breaks []*faulty
	for _, s := range stores {
		breaks = append(breaks, injectFaults(t, s))
	}
	w := &workload{random: random, account: account, table: table}
	for range 3 {
		w.addMechanism(t, stores[0])
	}
	failed := 0
	steps := *faultSteps
	if testing.Short() {
		steps /= 4
	}
	for i := range steps {
		who := 0
		if random.IntN(6) == 0 {
			who = random.IntN(len(stores))
		}
		if random.IntN(12) == 0 {
			foreign(t, path, random, i)
		}
		ctx, cancel := context.WithCancel(context.Background())
		f := breaks[who]
		if f.left = 0; random.IntN(3) == 0 {
			f.left, f.what, f.cancel = 1+random.IntN(30), fault(1+random.IntN(int(faults)-1)), cancel
		}
		made := len(w.mechanisms)
		err := tryWrite(ctx, stores[who], func(tx *catalog.Tx) error {
			for range 1 + random.IntN(4) {
				if err := w.wider(tx); err != nil {
					return err
				}
			}
			if random.IntN(30) == 0 {
				panic(errFault)
			}
			return nil
		})
		cancel()
		if w.undead > 0 {
			t.Fatal("a mechanism that was dropped can be had")
		}
		if err != nil {
			failed++
			w.mechanisms = w.mechanisms[:made]
		}
		f.left = 0
		w.forget(t, fresh)
		for j, s := range stores {
			if random.IntN(4) > 0 && j != who {
				continue
			}
			var want string
			read(t, fresh, func(tx *catalog.Tx) error { want = knowledge(t, tx, account); return nil })
			write(t, s, func(tx *catalog.Tx) error {
				if got := knowledge(t, tx, account); got != want {
					t.Fatalf("step %d, fault %d: a transaction knows\n%s\nand the file has\n%s", i, f.what, got, want)
				}
				return nil
			})
		}
	}
	t.Logf("%d of %d transactions failed", failed, steps)
	if !testing.Short() && failed == 0 { // happens by chance less than once in 10^10 times
		t.Error("the transactions do not do what they are for")
	}
}

// tryWrite is Write, with a panic for an error.
func tryWrite(ctx context.Context, s *catalog.Store, fn func(*catalog.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errFault
		}
	}()
	return s.Write(ctx, fn)
}

// foreign writes to the file as another program does.
func foreign(t *testing.T, path string, random *rand.Rand, i int) {
	t.Helper()
	for _, text := range [][]string{
		{`VACUUM`},
		{`PRAGMA wal_checkpoint(TRUNCATE)`},
		{fmt.Sprintf(`CREATE TABLE other%d (a)`, i)},
		{`UPDATE dpsql_answers SET estimate = estimate`},
		{`REINDEX`, `ANALYZE`},
		{fmt.Sprintf(`ATTACH ':memory:' AS extra; CREATE TABLE extra.x AS SELECT * FROM dpsql_answers; CREATE VIEW v%d AS SELECT 1`, i)},
	}[random.IntN(6)] {
		raw(t, path, text)
	}
}

// workload makes the steps of random transactions.
type workload struct {
	random         *rand.Rand
	account, table int64
	mechanisms     []int64
	names          int
	undead         int // mechanisms found after they were dropped
}

func (w *workload) addMechanism(t *testing.T, s *catalog.Store) {
	w.names++
	m := &catalog.Mechanism{Name: fmt.Sprint("m", w.names), TableID: w.table, Params: json.RawMessage(`{}`), Epsilon: 1, Rho: 1000, RunRho: 1, Updates: 1000}
	write(t, s, func(tx *catalog.Tx) error { return tx.AddMechanism(m, []byte("prior")) })
	w.mechanisms = append(w.mechanisms, m.ID)
}

// step does what a firing does, or at times a declaration.
func (w *workload) step(tx *catalog.Tx) error {
	id := w.mechanisms[w.random.IntN(len(w.mechanisms))]
	switch w.random.IntN(16) {
	case 0:
		w.names++
		return tx.AddPublic(fmt.Sprint("public", w.names))
	case 1:
		_, err := tx.SQL().ExecContext(context.Background(), `CREATE TABLE IF NOT EXISTS kept (a)`)
		return err
	case 2, 3, 4:
		return tx.Charge(w.account, nil, catalog.KindInteractive, "run", "m", accounting.Amount{})
	case 5:
		return tx.Charge(w.account, nil, catalog.KindReleases, "build", "r", accounting.Amount{Epsilon: 1})
	case 6, 7, 8:
		_, err := tx.AppendHistory(id, fmt.Sprint("q", w.random.IntN(9)), w.random.Int64N(9))
		return err
	case 9, 10, 11:
		return tx.PutAnswer(&catalog.Answer{TableID: w.table, Query: catalog.SumOf(fmt.Sprint("q", w.random.IntN(9))), Kind: catalog.AnswerFired, Via: "m", MechanismID: id})
	}
	m, err := tx.MechanismByID(id)
	if err != nil {
		return err
	}
	m.Comparisons += w.random.Int64N(3)
	m.Leased = w.random.IntN(2) == 0
	switch {
	case m.Run != nil:
		return tx.EndRun(m, "a step")
	case m.RunsStarted < m.Updates && m.RunsStarted == m.RunsEnded:
		m.RunsStarted++
	case m.RunsStarted > m.RunsEnded:
		m.Run = &catalog.OpenRun{Number: m.RunsStarted, Tau: w.random.Int64N(100)}
	}
	return tx.UpdateMechanism(m)
}

// wider does what step does, or a declaration.
func (w *workload) wider(tx *catalog.Tx) error {
	w.names++
	switch name := fmt.Sprint("x", w.names); w.random.IntN(40) {
	case 0:
		m := &catalog.Mechanism{Name: name, TableID: w.table, Epsilon: 1, Rho: 1000, RunRho: 1, Updates: 1000}
		err := tx.AddMechanism(m, nil)
		w.mechanisms = append(w.mechanisms, m.ID)
		return err
	case 1:
		return w.anew(tx)
	case 2:
		a := &catalog.Account{Epsilon: "2", Delta: "1e-6", Interactive: "0.5", Caps: someCaps(), Bases: []string{"b" + name, "a" + name}}
		if err := tx.CreateAccount(a); err != nil {
			return err
		}
		return tx.AddTable(&catalog.Table{Name: name, Source: "a" + name, Columns: clinicColumns(), Account: a.ID, MaxRows: 1})
	case 3:
		return tx.AddRelease(&catalog.Release{Name: name, TableID: w.table, Using: "projection"}, []byte(name))
	case 4:
		publics, err := tx.Publics()
		if err != nil || len(publics) == 0 {
			return err
		}
		return tx.DropPublic(publics[0])
	case 5:
		return tx.Charge(w.account, nil, catalog.KindInteractive, "much", "m", accounting.Amount{Rho: accounting.Rho(w.random.Int64N(3))})
	case 6:
		return tx.Return(w.account, nil, catalog.KindReleases, "back", "m", accounting.Amount{})
	}
	return w.step(tx)
}

// anew drops a mechanism and makes another of its name.
func (w *workload) anew(tx *catalog.Tx) error {
	id := w.mechanisms[w.random.IntN(len(w.mechanisms))]
	m, err := tx.MechanismByID(id)
	if err != nil {
		return err
	}
	if err := tx.DropMechanism(m.Name); err != nil {
		return err
	}
	if _, err := tx.MechanismByID(id); err == nil {
		w.undead++
	}
	next := &catalog.Mechanism{Name: m.Name, TableID: w.table, Epsilon: 1, Rho: 1000, RunRho: 1, Updates: 1000}
	err = tx.AddMechanism(next, []byte("anew"))
	w.mechanisms = append(w.mechanisms, next.ID)
	return err
}

// forget drops mechanisms that no longer exist from the workload.
func (w *workload) forget(t *testing.T, s *catalog.Store) {
	t.Helper()
	read(t, s, func(tx *catalog.Tx) error {
		all, err := tx.Mechanisms(0)
		w.mechanisms = w.mechanisms[:0]
		for _, m := range all {
			w.mechanisms = append(w.mechanisms, m.ID)
		}
		return err
	})
}
