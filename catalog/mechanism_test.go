package catalog_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestMechanisms(t *testing.T) {
	s := open(t, dbPath(t))
	_, table := declare(t, s, "raws")
	m := &catalog.Mechanism{Name: "live", TableID: table, Columns: []int{1}, Params: json.RawMessage(`{"beta":0.05}`), Epsilon: 1, Rho: 6, RunRho: 3, Updates: 2}
	write(t, s, func(tx *catalog.Tx) error { return tx.AddMechanism(m, []byte("prior")) })
	m.Table = "raw"
	same := func() {
		t.Helper()
		read(t, s, func(tx *catalog.Tx) error {
			got, err := tx.Mechanism("LIVE")
			if !reflect.DeepEqual(got, m) {
				t.Errorf("got %+v, want %+v", got, m)
			}
			state, err2 := tx.MechanismState(got)
			if string(state) != "prior" || err2 != nil {
				t.Errorf("state %q, %v", state, err2)
			}
			all, err3 := tx.Mechanisms(table)
			if len(all) != 1 || err3 != nil {
				t.Errorf("listing %v, %v", all, err3)
			}
			return err
		})
	}
	same()
	update := func(runs, comparisons int64, run *catalog.OpenRun) error {
		next := *m
		next.RunsStarted, next.Comparisons, next.Run, next.Leased = runs, comparisons, run, run != nil
		err := s.Write(context.Background(), func(tx *catalog.Tx) error {
			if m.Run != nil && run == nil {
				next.Run = m.Run
				return tx.EndRun(&next, "it fired")
			}
			return tx.UpdateMechanism(&next)
		})
		if err == nil {
			*m = next
		}
		return err
	}
	for i, step := range []struct {
		runs, comparisons int64
		run               *catalog.OpenRun
		ok                bool
	}{
		{0, 0, nil, true},
		{0, 0, &catalog.OpenRun{Number: 1, Tau: 5}, false}, // not charged
		{1, 0, nil, true}, // charged, not yet drawn
		{1, 0, &catalog.OpenRun{Number: 1, Tau: -5}, true},
		{1, 9, &catalog.OpenRun{Number: 1, Tau: -5}, true},
		{1, 8, &catalog.OpenRun{Number: 1, Tau: -5}, false}, // comparisons forgotten
		{1, 9, &catalog.OpenRun{Number: 1, Tau: 6}, false},  // another threshold
		{1, 10, nil, true}, // ended
		{1, 10, &catalog.OpenRun{Number: 1, Tau: -5}, false},
		{1, 10, &catalog.OpenRun{Number: 1, Tau: 7}, false},
		{0, 10, nil, false}, // a charge forgotten
		{2, 10, &catalog.OpenRun{Number: 1, Tau: 7}, false}, // an old number
		{2, 10, &catalog.OpenRun{Number: 2, Tau: 7}, true},
		{3, 10, nil, false}, // more than reserved
		{2, 11, nil, true},
	} {
		err := update(step.runs, step.comparisons, step.run)
		if step.ok != (err == nil) || (!step.ok && sqlerr.CodeOf(err) != sqlerr.Internal) {
			t.Errorf("step %d: %v", i, err)
		}
		same()
	}
	read(t, s, func(tx *catalog.Tx) error { // each end has a line
		all, err := tx.Ledger()
		if n := len(all); err != nil || all[n-2].Action != "run 1 of 2 ended: it fired" || all[n-1].Action != "run 2 of 2 ended: it fired" {
			t.Errorf("the ledger ends with %+v, %v", all[n-2:], err)
		}
		return nil
	})
	if m.RunsEnded != 2 {
		t.Errorf("%d runs ended", m.RunsEnded)
	}
	write(t, s, func(tx *catalog.Tx) error { return tx.DropMechanism("live") })
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.UpdateMechanism(m) }), sqlerr.Unknown)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { _, err := tx.AppendHistory(m.ID, "q", 1); return err }), sqlerr.Unknown)
}

func TestHistory(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	_, table := declare(t, s, "raws")
	a, b := &catalog.Mechanism{Name: "a", TableID: table}, &catalog.Mechanism{Name: "b", TableID: table}
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.AddMechanism(a, nil); err != nil {
			return err
		}
		return tx.AddMechanism(b, nil)
	})
	for i, text := range []string{"q1", "q2", "q1"} {
		write(t, s, func(tx *catalog.Tx) error {
			seq, err := tx.AppendHistory(a.ID, text, int64(-i))
			if seq != int64(i+1) {
				t.Errorf("seq %d", seq)
			}
			if _, err := tx.AppendHistory(b.ID, "other", math.MinInt64); err != nil {
				return err
			}
			return err
		})
	}
	read(t, s, func(tx *catalog.Tx) error {
		got, err := tx.History(a.ID, 2)
		if want := []catalog.HistoryRow{{2, "q2", -1}, {3, "q1", -2}}; !reflect.DeepEqual(got, want) {
			t.Errorf("got %v", got)
		}
		return err
	})
	for _, text := range []string{
		`UPDATE dpsql_history SET noisy = 0`, `DELETE FROM dpsql_history`, `REPLACE INTO dpsql_history VALUES (4, 1, 'x', 0, x'')`,
		`INSERT INTO dpsql_history VALUES (4, 7, 'x', 0, x'')`, `UPDATE dpsql_ledger SET rho = 0`, `DELETE FROM dpsql_ledger`,
		`REPLACE INTO dpsql_ledger SELECT * FROM dpsql_ledger`,
	} {
		err := s.Write(context.Background(), func(tx *catalog.Tx) error { _, err := tx.SQL().ExecContext(tx.Context(), text); return err })
		if err == nil {
			t.Errorf("%s was allowed", text)
		}
	}
}

// TestEndedRunsAreErased opens and ends runs of mechanisms that are added and dropped, so that records move
// between pages. Then no τ of an ended run is in the file or beside it, and those of open runs are.
func TestEndedRunsAreErased(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	_, table := declare(t, s, "raws")
	tau := func(mechanism, run int64) int64 { return 0x5a6b_7c8d_0000_0000 | mechanism<<16 | run }
	var all []*catalog.Mechanism
	begin := func(m *catalog.Mechanism) {
		m.RunsStarted++
		m.Run = &catalog.OpenRun{Number: m.RunsStarted, Tau: tau(m.ID, m.RunsStarted)}
		write(t, s, func(tx *catalog.Tx) error { return tx.UpdateMechanism(m) })
	}
	for i := range 40 {
		m := &catalog.Mechanism{Name: fmt.Sprint("m", i), TableID: table, Rho: 9, RunRho: 1, Updates: 9, Params: json.RawMessage(fmt.Sprintf(`{"a":"%0*d"}`, 300+i*37%500, 0))}
		write(t, s, func(tx *catalog.Tx) error { return tx.AddMechanism(m, nil) })
		all = append(all, m)
		begin(m)
		if other := all[i*7%len(all)]; i%3 > 0 && other.Run != nil {
			write(t, s, func(tx *catalog.Tx) error { return tx.EndRun(other, "it fired") })
			begin(other)
		}
		if other := all[i*11%len(all)]; i%5 == 4 && other.Run != nil {
			write(t, s, func(tx *catalog.Tx) error { return tx.DropMechanism(other.Name) })
			other.Run = nil
			all = slices.DeleteFunc(all, func(m *catalog.Mechanism) bool { return m == other })
		}
	}
	erased := func() (left int) {
		files := slices.Collect(maps.Values(snapshotFiles(t, path)))
		for id := int64(1); id <= 40; id++ {
			for run := range int64(9) {
				pattern := strconv.AppendInt(nil, tau(id, run+1), 10)
				open := slices.ContainsFunc(all, func(m *catalog.Mechanism) bool { return m.ID == id && m.Run != nil && m.Run.Number == run+1 })
				if got := slices.ContainsFunc(files, func(content []byte) bool { return bytes.Contains(content, pattern) }); got && !open {
					left++
				} else if open && !got {
					t.Errorf("run %d of mechanism %d is open and its τ is gone", run+1, id)
				}
			}
		}
		return left
	}
	if erased() == 0 {
		t.Fatal("nothing is there to be erased")
	}
	err := s.Read(t.Context(), func(tx *catalog.Tx) error {
		wantCode(t, s.Erase(t.Context()), sqlerr.Busy) // somebody reads from the log
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Erase(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := erased(); left > 0 {
		t.Errorf("τ of %d runs that ended are on the disk", left)
	}
}

func TestLeaseBetweenStores(t *testing.T) {
	path := dbPath(t)
	a := openWith(t, path, catalog.Options{BusyTimeout: -1})
	link := path + "-link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	write(t, a, func(tx *catalog.Tx) error { return tx.AddPublic("p") })
	b := openWith(t, link, catalog.Options{BusyTimeout: -1}) // another name of the file
	held, err := a.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*catalog.Store{a, b} {
		_, err := s.AcquireLease(context.Background())
		wantCode(t, err, sqlerr.Busy)
	}
	for range 2 {
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
	}
	second, err := b.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	_, err = a.AcquireLease(context.Background())
	wantCode(t, err, sqlerr.Busy)
	if err := os.Rename(second.Path(), second.Path()+"-gone"); err != nil || second.Held() {
		t.Errorf("a lease whose file has another name is held: %v, %v", second.Held(), err)
	}
	third, err := a.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !third.Held() || second.Held() {
		t.Error("two have the lease")
	}
	third.Release()
	if err := os.Rename(second.Path()+"-gone", second.Path()); err != nil || !second.Held() {
		t.Errorf("the lease is not held again: %v", err)
	}
	held.Release() // a stale handle must not free the other's lease
	_, err = a.AcquireLease(context.Background())
	wantCode(t, err, sqlerr.Busy)
}

func TestLeaseOfKilledProcess(t *testing.T) {
	path := dbPath(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), "CATALOG_TEST_ROLE=hold-lease", "CATALOG_TEST_PATH="+path)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held: <nil>\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	s := openWith(t, path, catalog.Options{BusyTimeout: 30 * time.Millisecond})
	_, err = s.AcquireLease(context.Background())
	wantCode(t, err, sqlerr.Busy)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	lease, err := s.AcquireLease(context.Background())
	if err != nil {
		t.Fatalf("after the holder's death: %v", err)
	}
	lease.Release()
}

func TestLeaseWaits(t *testing.T) {
	s := open(t, dbPath(t))
	held, err := s.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(30*time.Millisecond, func() { held.Release() })
	lease, err := s.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = s.AcquireLease(short)
	wantCode(t, err, sqlerr.Cancelled)
	lease.Release()
}
