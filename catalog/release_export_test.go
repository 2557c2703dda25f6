package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestExportRelease(t *testing.T) {
	const marker = "PRIVATE-MARKER-7f3a"
	dir := t.TempDir()
	path := filepath.Join(dir, "clinic.db")
	s := open(t, path)
	release := &catalog.Release{Name: "cells", Columns: []int{0, 1}, Using: "projection", Params: json.RawMessage(`{"clip":32}`), Epsilon: 5, Delta: 6, MaxSupport: 64}
	payload := bytes.Repeat([]byte("payload"), 1000)
	write(t, s, func(tx *catalog.Tx) error {
		for _, text := range []string{`CREATE TABLE raw_MARKERTABLE (a)`, `INSERT INTO raw_MARKERTABLE VALUES ('` + marker + `')`} {
			if _, err := tx.SQL().ExecContext(context.Background(), text); err != nil {
				return err
			}
		}
		a := &catalog.Account{Epsilon: "2", Delta: "1e-6", Interactive: "0.5", Caps: someCaps(), Bases: []string{"raw_MARKERTABLE"}}
		if err := tx.CreateAccount(a); err != nil {
			return err
		}
		table := &catalog.Table{Name: "admissions", Source: "raw_MARKERTABLE", Columns: clinicColumns(), Account: a.ID, Unit: "patient",
			MaxRows: 4, SourceSchema: "-- " + marker, Key: []byte(marker), NHat: &catalog.NHat{Value: 1, Law: marker}}
		if err := tx.AddTable(table); err != nil {
			return err
		}
		release.TableID = table.ID
		if err := tx.AddRelease(release, payload); err != nil {
			return err
		}
		if err := tx.AddRelease(&catalog.Release{Name: "MARKERRELEASE", TableID: table.ID}, []byte(marker)); err != nil {
			return err
		}
		if err := tx.AddMechanism(&catalog.Mechanism{Name: "MARKERMECH", TableID: table.ID}, []byte(marker)); err != nil {
			return err
		}
		if err := tx.PutAnswer(&catalog.Answer{TableID: table.ID, Query: marker, Kind: catalog.AnswerDirect}); err != nil {
			return err
		}
		return tx.Charge(a.ID, catalog.KindReleases, marker, marker, epsilon(1, 0))
	})
	out := filepath.Join(dir, "cells?.db")
	if err := s.ExportRelease(context.Background(), "CELLS", out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{marker, "MARKER"} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("the exported file contains %s", secret)
		}
	}
	if !bytes.Contains(data, payload[:1000]) {
		t.Error("the search would not find what is there")
	}
	if data[18] != 1 || data[19] != 1 {
		t.Errorf("journal versions %d, %d: not a rollback journal", data[18], data[19])
	}
	exported := openWith(t, out, catalog.Options{ReadOnly: true})
	read(t, exported, func(tx *catalog.Tx) error {
		tables, err := tx.Tables()
		if len(tables) != 1 || err != nil {
			t.Fatalf("tables %+v, %v", tables, err)
		}
		table := tables[0]
		if table.Name != "admissions" || table.Source != "" || table.Account != 0 || table.Unit != "patient" || table.NHat != nil ||
			table.SourceSchema != "" || len(table.Key) != 0 || table.MaxRows != 4 {
			t.Errorf("exported table %+v", table)
		}
		if len(table.Columns) != 2 {
			t.Errorf("%d exported columns, and the release covers two", len(table.Columns))
		}
		for i, c := range clinicColumns()[:2] {
			if table.Columns[i].Name != c.Name || table.Columns[i].Domain.String() != c.Domain.String() {
				t.Errorf("column %v, want %v", table.Columns[i], c)
			}
		}
		releases, err := tx.Releases(0)
		if len(releases) != 1 || err != nil {
			t.Fatalf("releases %+v, %v", releases, err)
		}
		r := releases[0]
		if r.Name != "cells" || r.Table != "admissions" || r.Epsilon != 5 || r.Delta != 6 || r.MaxSupport != 64 ||
			string(r.Params) != `{"clip":32}` || !r.CreatedAt.Equal(release.CreatedAt) || r.Columns != nil || r.Using != "projection" {
			t.Errorf("exported release %+v", r)
		}
		got, err := tx.ReleasePayload(&r)
		if !bytes.Equal(got, payload) {
			t.Error("another payload")
		}
		entries, _ := tx.Ledger()
		accounts, _ := tx.Accounts()
		if len(entries)+len(accounts) != 0 {
			t.Error("the ledger was exported")
		}
		return err
	})
	exported.Close()
	leavesOnly(t, dir, "cells?.db", "clinic.db", "clinic.db-mark", "clinic.db-shm", "clinic.db-wal")

	wantCode(t, s.ExportRelease(context.Background(), "cells", out), sqlerr.Invalid)
	wantCode(t, s.ExportRelease(context.Background(), "nobody", filepath.Join(dir, "n.db")), sqlerr.Unknown)
	wantCode(t, s.ExportRelease(context.Background(), "cells", filepath.Join(dir, "no", "n.db")), sqlerr.IO)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	wantCode(t, s.ExportRelease(ended, "cells", filepath.Join(dir, "n.db")), sqlerr.Cancelled)
	if again, _ := os.ReadFile(out); !bytes.Equal(again, data) {
		t.Error("a refused export changed the file")
	}
	leavesOnly(t, dir, "cells?.db", "clinic.db", "clinic.db-mark", "clinic.db-shm", "clinic.db-wal")
}

// An export that fails while it writes leaves nothing.
func TestFailedExport(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	s := open(t, path)
	_, table := declare(t, s, "raws")
	write(t, s, func(tx *catalog.Tx) error { return tx.AddRelease(&catalog.Release{Name: "r", TableID: table}, nil) })
	raw(t, path, `DELETE FROM dpsql_columns`) // so that the copy is refused
	if err := s.ExportRelease(context.Background(), "r", filepath.Join(dir, "out.db")); err == nil {
		t.Error("exported a table without columns")
	}
	s.Close()
	leavesOnly(t, dir, "x.db", "x.db-mark")
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func leavesOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	got := names(t, dir)
	if len(got) != len(want) {
		t.Fatalf("the directory holds %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the directory holds %q, want %q", got, want)
		}
	}
}
