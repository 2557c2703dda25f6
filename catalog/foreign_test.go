package catalog_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

var firingWrites = flag.Int("firing-writes", 8, "transactions of each goroutine of TestManyGoroutines")

// firing is what a firing reads and writes, of the mechanism that fired has.
func firing(tx *catalog.Tx) error {
	if _, err := tx.Publics(); err != nil {
		return err
	}
	one, err := tx.Mechanism("m")
	if err != nil {
		return err
	}
	one.RunsStarted++
	one.Run = &catalog.OpenRun{Number: one.RunsStarted, Tau: 77}
	if err := tx.UpdateMechanism(one); err != nil {
		return err
	}
	if err := tx.Charge(1, nil, catalog.KindInteractive, "run", "m", accounting.Amount{Rho: 1}); err != nil {
		return err
	}
	if err := tx.EndRun(one, "it fired"); err != nil {
		return err
	}
	if _, err := tx.AppendHistory(one.ID, "q", 1); err != nil {
		return err
	}
	return tx.PutAnswer(&catalog.Answer{TableID: one.TableID, Query: catalog.SumOf("q"), Kind: catalog.AnswerFired, Via: "m", MechanismID: one.ID})
}

var fired template

// firedOften makes a store at a path whose mechanism fired three times, the last
// time through the store. The account is 1.
func firedOften(t *testing.T, path string) *catalog.Store {
	t.Helper()
	fired.copyTo(t, path, func(path string) {
		s := open(t, path)
		_, table := declare(t, s, "raws")
		write(t, s, func(tx *catalog.Tx) error {
			if err := tx.AddPublic("public"); err != nil {
				return err
			}
			return tx.AddMechanism(&catalog.Mechanism{Name: "m", TableID: table, Params: json.RawMessage(`{}`), Epsilon: 1, Rho: 9000, RunRho: 1, Updates: 900}, nil)
		})
		write(t, s, firing)
		write(t, s, firing)
		s.Close()
	})
	s := open(t, path)
	write(t, s, firing)
	return s
}

// TestEditsAreNoticed damages each record that a firing reads: as another program, and
// by statements that the store executes for callers. The next firing notices.
func TestEditsAreNoticed(t *testing.T) {
	for _, edit := range []string{
		changed("account", "", "$.caps.interactive_rho", "600"),
		changed("account", "", "$.bases", "json('[]')"),
		changed("account", "", "$.bases[0]", "'other'"),
		without("public table", "public"),
		`INSERT INTO dpsql_objects SELECT 99, kind, 'raws', parent, NULL, digest, body FROM dpsql_objects WHERE kind = 'public table'`,
		changed("run counter", "", "$.runs_started", "0"),
		changed("run counter", "", "$.run", `json('{"number":3,"tau":3}')`),
		dropped("mechanism", "m"),
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
				s := firedOften(t, path)
				if own {
					write(t, s, func(tx *catalog.Tx) error { _, err := tx.SQL().ExecContext(ctx, edit); return err })
				} else {
					raw(t, path, edit)
				}
				wantCode(t, s.Write(ctx, firing), sqlerr.Corrupt)
			})
		}
	}
}

// TestNewerCatalogIsNoticed writes a newer version into a file that a store uses.
func TestNewerCatalogIsNoticed(t *testing.T) {
	path := dbPath(t)
	s := firedOften(t, path)
	raw(t, path, `UPDATE dpsql_schema SET version = version + 1`)
	wantCode(t, s.Write(context.Background(), firing), sqlerr.Unsupported)
}

// TestRowsVersionIsOfOneConnection replaces the connection that writes, as a pool may,
// while another process commits. The new connection can return the same numbers as the
// old one. The versions must still differ.
func TestRowsVersionIsOfOneConnection(t *testing.T) {
	path := dbPath(t)
	s := firedOften(t, path)
	other := open(t, path)
	for range 3 { // the first connection may have other numbers than the later ones
		before := rowsVersion(t, s)
		s.Writer().SetMaxIdleConns(-1)
		write(t, other, firing)
		s.Writer().SetMaxIdleConns(1)
		now := rowsVersion(t, s)
		if now == before || now.Writer() == before.Writer() {
			t.Errorf("the connection was not replaced, or the commit not noticed: %v, before %v", now, before)
		}
		t.Logf("number %d, then %d", before.Foreign(), now.Foreign())
	}
}

// TestThresholdOfAnOpenRunStays changes the threshold of an open run. The change is
// refused, whichever record the caller changed.
func TestThresholdOfAnOpenRunStays(t *testing.T) {
	ctx := context.Background()
	s := firedOften(t, dbPath(t))
	var m *catalog.Mechanism
	read(t, s, func(tx *catalog.Tx) (err error) { m, err = tx.Mechanism("m"); return err })
	m.RunsStarted++
	m.Run = &catalog.OpenRun{Number: m.RunsStarted, Tau: 5}
	update := func(tx *catalog.Tx) error { return tx.UpdateMechanism(m) }
	write(t, s, update)
	m.Run.Tau = 6
	wantCode(t, s.Write(ctx, update), sqlerr.Internal)
	write(t, s, func(tx *catalog.Tx) error {
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
	s := firedOften(t, path)
	raw(t, path, `VACUUM INTO '`+path+`.copy'`)
	write(t, s, firing)
	if err := os.Rename(path+".copy", path); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Write(context.Background(), firing), sqlerr.IO)
	if _, err := s.Version(context.Background()); err == nil {
		t.Error("a replaced file has a version")
	}
	for _, side := range []string{"-wal", "-shm"} {
		os.Remove(path + side)
	}
	again := open(t, path)
	wantCode(t, again.Write(context.Background(), firing), sqlerr.Corrupt) // by the mark
}

// TestMarkThatFails makes the mark of a firing's lines fail. Nothing of it is stored, until
// the mark can be written.
func TestMarkThatFails(t *testing.T) {
	path := dbPath(t)
	s := firedOften(t, path)
	if err := os.Remove(s.MarkPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.MarkPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Write(context.Background(), firing), sqlerr.IO)
	if err := os.Remove(s.MarkPath()); err != nil {
		t.Fatal(err)
	}
	write(t, s, firing)
	read(t, open(t, path), func(tx *catalog.Tx) error {
		if spent, err := tx.MostSpent(1); err != nil || spent.Rho != 4 {
			t.Errorf("spent ρ = %v, want 4 (%v)", spent.Rho, err)
		}
		return nil
	})
}

// TestManyGoroutines fires from many goroutines on two stores of one file. Others ask
// both stores for versions and for the spent budget.
func TestManyGoroutines(t *testing.T) {
	ctx := context.Background()
	path := dbPath(t)
	s := firedOften(t, path)
	stores := []*catalog.Store{s, open(t, path)}
	var writers, askers sync.WaitGroup
	done := make(chan struct{})
	for i := range 6 {
		one := stores[i%2]
		until(done, &askers, func() {
			err := one.Read(ctx, func(tx *catalog.Tx) error {
				spent, err := tx.MostSpent(1)
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
			for range *firingWrites {
				if err := one.Write(ctx, firing); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	askers.Wait()
	for _, one := range stores {
		write(t, one, firing)
	}
	read(t, open(t, path), func(tx *catalog.Tx) error {
		if err := tx.VerifyLedger(); err != nil {
			return err
		}
		if spent, err := tx.MostSpent(1); err != nil || int(spent.Rho) != 3+6**firingWrites+2 {
			t.Errorf("spent ρ = %v, want %d (%v)", spent.Rho, 3+6**firingWrites+2, err)
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

// TestAskingIsNotWriting asks for the version of the rows all the time, in a store
// whose transactions wait for nobody. They must not have to wait for the asking.
func TestAskingIsNotWriting(t *testing.T) {
	ctx := context.Background()
	path := dbPath(t)
	firedOften(t, path)
	s := openWith(t, path, catalog.Options{BusyTimeout: -1})
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
		if err := s.Write(ctx, firing); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	askers.Wait()
}
