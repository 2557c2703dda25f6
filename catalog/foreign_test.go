package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"

	"dpsql/accounting"
	"dpsql/sqlerr"
)

// firedOften makes a store that has fired a mechanism, and a function that does
// all that a firing reads and writes.
func firedOften(t *testing.T, path string) (s *Store, account int64, fire func(*Tx) error) {
	t.Helper()
	s = open(t, path)
	account, table := declare(t, s, "raws")
	m := &Mechanism{Name: "m", TableID: table, Params: json.RawMessage(`{}`), Epsilon: 1, Rho: 9000, RunRho: 1, Updates: 900}
	write(t, s, func(tx *Tx) error {
		if err := tx.AddPublic("public"); err != nil {
			return err
		}
		return tx.AddMechanism(m, nil)
	})
	fire = func(tx *Tx) error {
		if _, err := tx.Publics(); err != nil {
			return err
		}
		one, err := tx.MechanismByID(m.ID)
		if err != nil {
			return err
		}
		one.RunsStarted++
		one.Run = &OpenRun{Number: one.RunsStarted, Tau: 77}
		if err := tx.UpdateMechanism(one); err != nil {
			return err
		}
		if err := tx.Charge(account, KindInteractive, "run", "m", accounting.Amount{Rho: 1}); err != nil {
			return err
		}
		one.Run = nil
		if err := tx.UpdateMechanism(one); err != nil {
			return err
		}
		if _, err := tx.AppendHistory(m.ID, "q", 1); err != nil {
			return err
		}
		return tx.PutAnswer(&Answer{TableID: table, Query: "q", Kind: AnswerFired, Via: "m", MechanismID: m.ID})
	}
	for range 3 {
		write(t, s, fire)
	}
	return s, account, fire
}

// TestEditsAreNoticed damages each record that a firing reads, as another
// program and by what the store executes for others. The next firing notices.
func TestEditsAreNoticed(t *testing.T) {
	for _, edit := range []string{
		`UPDATE dpsql_accounts SET interactive_rho = interactive_rho * 2`,
		`DELETE FROM dpsql_bases`,
		`UPDATE dpsql_bases SET name = 'other'`,
		`DELETE FROM dpsql_public`,
		`INSERT INTO dpsql_public (name, declared_at) VALUES ('raws', '2026-01-01T00:00:00Z')`,
		`UPDATE dpsql_mechanisms SET runs_started = 0, runs_ended = 0`,
		`UPDATE dpsql_mechanisms SET run = runs_started, tau = 3`,
		`UPDATE dpsql_mechanisms SET dropped_at = '2026-01-01T00:00:00Z'`,
		`UPDATE dpsql_rolls SET count = count - 1 WHERE name = 'ledger'`,
		`UPDATE dpsql_rolls SET count = count + 1 WHERE name = 'accounts'`,
		`DELETE FROM dpsql_rolls`,
		`DROP TRIGGER dpsql_ledger_delete; DELETE FROM dpsql_ledger WHERE seq = (SELECT MAX(seq) FROM dpsql_ledger)`,
		`DROP TRIGGER dpsql_ledger_update; UPDATE dpsql_ledger SET hash = randomblob(32) WHERE seq = (SELECT MAX(seq) FROM dpsql_ledger)`,
		`DELETE FROM dpsql_schema`,
		`UPDATE dpsql_schema SET version = 1`,
	} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprint(edit, own), func(t *testing.T) {
				ctx := context.Background()
				path := dbPath(t)
				s, _, fire := firedOften(t, path)
				if own {
					write(t, s, func(tx *Tx) error { _, err := tx.SQL().ExecContext(ctx, edit); return err })
				} else {
					raw(t, path, edit)
				}
				wantCode(t, s.Write(ctx, fire), sqlerr.Corrupt)
			})
		}
	}
}

// TestNewerCatalogIsNoticed writes a newer version into a file that a store uses.
func TestNewerCatalogIsNoticed(t *testing.T) {
	path := dbPath(t)
	s, _, fire := firedOften(t, path)
	raw(t, path, `UPDATE dpsql_schema SET version = version + 1`)
	wantCode(t, s.Write(context.Background(), fire), sqlerr.Unsupported)
}

// TestRowsVersionIsOfOneConnection replaces the connection that writes, as a pool
// may, while another process commits. The next one's numbers can be those that
// the last one had, and yet the versions differ.
func TestRowsVersionIsOfOneConnection(t *testing.T) {
	path := dbPath(t)
	s, _, fire := firedOften(t, path)
	other := open(t, path)
	for range 3 { // the first connection may have other numbers than the later ones
		before := rowsVersion(t, s)
		s.writer.SetMaxIdleConns(-1)
		write(t, other, fire)
		s.writer.SetMaxIdleConns(1)
		now := rowsVersion(t, s)
		if now == before || now.writer == before.writer {
			t.Errorf("the connection was not replaced, or the commit not noticed: %v, before %v", now, before)
		}
		t.Logf("number %d, then %d", before.foreign, now.foreign)
	}
}

// TestThresholdOfAnOpenRunStays changes the threshold of an open run. It is
// refused, whoever's record the caller changes.
func TestThresholdOfAnOpenRunStays(t *testing.T) {
	ctx := context.Background()
	s, _, _ := firedOften(t, dbPath(t))
	var m *Mechanism
	read(t, s, func(tx *Tx) (err error) { m, err = tx.MechanismByID(1); return err })
	m.RunsStarted++
	m.Run = &OpenRun{Number: m.RunsStarted, Tau: 5}
	update := func(tx *Tx) error { return tx.UpdateMechanism(m) }
	write(t, s, update)
	m.Run.Tau = 6
	wantCode(t, s.Write(ctx, update), sqlerr.Internal)
	write(t, s, func(tx *Tx) error {
		for _, tau := range []int64{7, 8} {
			got, err := tx.MechanismByID(m.ID)
			if err != nil {
				return err
			}
			got.Run.Tau = tau
			wantCode(t, tx.UpdateMechanism(got), sqlerr.Internal)
		}
		return nil
	})
}

// TestReplacedFileIsNoticed puts an older copy in the place of a file that a
// store uses.
func TestReplacedFileIsNoticed(t *testing.T) {
	path := dbPath(t)
	s, _, fire := firedOften(t, path)
	raw(t, path, `VACUUM INTO '`+path+`.copy'`)
	write(t, s, fire)
	if err := os.Rename(path+".copy", path); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Write(context.Background(), fire), sqlerr.IO)
	if _, err := s.Version(context.Background()); err == nil {
		t.Error("a replaced file has a version")
	}
	for _, side := range []string{"-wal", "-shm"} {
		os.Remove(path + side)
	}
	again := open(t, path)
	wantCode(t, again.Write(context.Background(), fire), sqlerr.Corrupt) // by the mark
}

// TestMarkThatFailsLeavesWhatIsStored makes the mark fail after the commit of a
// line. The line stays.
func TestMarkThatFailsLeavesWhatIsStored(t *testing.T) {
	path := dbPath(t)
	s, account, fire := firedOften(t, path)
	if err := os.Remove(s.markPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.markPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Write(context.Background(), fire), sqlerr.IO)
	if err := os.Remove(s.markPath()); err != nil {
		t.Fatal(err)
	}
	write(t, s, fire)
	read(t, open(t, path), func(tx *Tx) error {
		if spent, err := tx.Spent(account); err != nil || spent.Rho != 5 {
			t.Errorf("spent ρ = %v, want 5 (%v)", spent.Rho, err)
		}
		return nil
	})
}

// TestManyGoroutines fires from many goroutines on two stores of one file, while
// others ask both for versions and what was spent.
func TestManyGoroutines(t *testing.T) {
	ctx := context.Background()
	path := dbPath(t)
	s, account, fire := firedOften(t, path)
	stores := []*Store{s, open(t, path)}
	var writers, askers sync.WaitGroup
	done := make(chan struct{})
	for i := range 6 {
		one := stores[i%2]
		until(done, &askers, func() {
			err := one.Read(ctx, func(tx *Tx) error {
				spent, err := tx.Spent(account)
				if err != nil {
					return err
				}
				all, err := tx.Mechanisms(0)
				if err == nil && int64(spent.Rho) != all[0].RunsEnded {
					t.Errorf("ρ = %v is spent on %d runs", spent.Rho, all[0].RunsEnded)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if _, _, err := one.RowsVersion(ctx); err != nil {
				t.Error(err)
			}
			if _, err := one.Version(ctx); err != nil {
				t.Error(err)
			}
		})
		writers.Go(func() {
			for range 20 {
				if err := one.Write(ctx, fire); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	askers.Wait()
	for _, one := range stores {
		write(t, one, fire)
	}
	read(t, open(t, path), func(tx *Tx) error {
		if err := tx.VerifyLedger(); err != nil {
			return err
		}
		if spent, err := tx.Spent(account); err != nil || spent.Rho != 3+120+2 {
			t.Errorf("spent ρ = %v, want 125 (%v)", spent.Rho, err)
		}
		return nil
	})
}

// until starts a goroutine that asks again and again until done is closed.
func until(done <-chan struct{}, g *sync.WaitGroup, ask func()) {
	g.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				ask()
			}
		}
	})
}

// TestAskingIsNotWriting asks for the version of the rows all the time, in a
// store whose transactions wait for nobody. They have nobody to wait for.
func TestAskingIsNotWriting(t *testing.T) {
	ctx := context.Background()
	path := dbPath(t)
	_, _, fire := firedOften(t, path)
	s := openWith(t, path, Options{BusyTimeout: -1})
	done := make(chan struct{})
	var askers sync.WaitGroup
	for range 4 {
		until(done, &askers, func() {
			if _, _, err := s.RowsVersion(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for range 50 {
		if err := s.Write(ctx, fire); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	askers.Wait()
}
