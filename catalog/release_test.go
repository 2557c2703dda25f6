package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestReleases(t *testing.T) {
	s := open(t, dbPath(t))
	s.SetPartSize(1000)
	_, table := declare(t, s, "raws")
	created := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	releases := []*catalog.Release{
		{Name: "adm_cells", TableID: table, Columns: []int{0, 2}, Using: "projection", Params: json.RawMessage(`{"clip":32}`),
			Epsilon: 5, Delta: 6, MaxSupport: math.MaxInt64, CreatedAt: created},
		{Name: "b", TableID: table, Using: "smw"},
		{Name: "c", TableID: table, Using: "smw", Columns: []int{}},
	}
	payloads := [][]byte{[]byte("payload\x00\xff"), bytes.Repeat([]byte{1, 2, 3}, 999), nil}
	write(t, s, func(tx *catalog.Tx) error {
		for i, r := range releases {
			if err := tx.AddRelease(r, payloads[i]); err != nil {
				return err
			}
		}
		return nil
	})
	read(t, s, func(tx *catalog.Tx) error {
		for i, r := range releases {
			got, err := tx.Release(strings.ToUpper(r.Name))
			if err != nil {
				return err
			}
			want := *r
			want.Table = "raw"
			if want.Params == nil {
				want.Params = json.RawMessage("{}")
			}
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("got %+v, want %+v", got, &want)
			}
			payload, err := tx.ReleasePayload(got)
			if err != nil || payload == nil || !bytes.Equal(payload, payloads[i]) || got.Size != int64(len(payload)) {
				t.Errorf("%s: payload of %d bytes, %v", r.Name, len(payload), err)
			}
		}
		all, err1 := tx.Releases(0)
		mine, err2 := tx.Releases(table)
		none, err3 := tx.Releases(table + 1)
		if len(all) != 3 || len(mine) != 3 || len(none) != 0 || err1 != nil || err2 != nil || err3 != nil {
			t.Errorf("listings of %d, %d, %d; %v %v %v", len(all), len(mine), len(none), err1, err2, err3)
		}
		return nil
	})
	for r, code := range map[*catalog.Release]sqlerr.Code{{Name: "ADM_CELLS", TableID: table}: sqlerr.Exists, {Name: "big", TableID: table, MaxSupport: math.MaxInt64 + 1}: sqlerr.Invalid} {
		wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddRelease(r, nil) }), code)
	}
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddMechanism(&catalog.Mechanism{Name: "B", TableID: table}, nil) }), sqlerr.Exists)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddRelease(&catalog.Release{Name: "x", TableID: 99}, nil) }), sqlerr.Unknown)
}

func TestDamagedPayload(t *testing.T) {
	for name, damage := range map[string]string{
		"bit flip":     `UPDATE dpsql_payloads SET data = CAST(X'00' || SUBSTR(data, 2) AS BLOB) WHERE part = 0`,
		"part missing": `DELETE FROM dpsql_payloads WHERE part = 1`,
		"all missing":  `DELETE FROM dpsql_payloads`,
		"swapped":      `UPDATE dpsql_payloads SET part = 1 - part + 10; UPDATE dpsql_payloads SET part = part - 10`,
		"size":         `UPDATE dpsql_objects SET body = json_set(body, '$.size', 1000, '$.state_size', 1000)`,
	} {
		path := dbPath(t)
		s := open(t, path)
		_, table := declare(t, s, "raws")
		s.SetPartSize(1000)
		payload := append([]byte{0x80}, make([]byte, s.PartSize())...)
		write(t, s, func(tx *catalog.Tx) error {
			if err := tx.AddRelease(&catalog.Release{Name: "r", TableID: table}, payload); err != nil {
				return err
			}
			return tx.AddMechanism(&catalog.Mechanism{Name: "m", TableID: table}, payload)
		})
		raw(t, path, damage)
		wantCode(t, s.Read(context.Background(), func(tx *catalog.Tx) error {
			r, err := tx.Release("r")
			if err != nil {
				return err
			}
			_, err = tx.ReleasePayload(r)
			return err
		}), sqlerr.Corrupt)
		wantCode(t, s.Read(context.Background(), func(tx *catalog.Tx) error {
			m, err := tx.Mechanism("m")
			if err != nil {
				return err
			}
			_, err = tx.MechanismState(m)
			return err
		}), sqlerr.Corrupt)
		if err := s.ExportRelease(context.Background(), "r", path+".out"); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s: export gave %v", name, err)
		}
	}
}

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
		if err := tx.PutAnswer(&catalog.Answer{TableID: table.ID, Via: marker, Kind: catalog.AnswerDirect}); err != nil {
			return err
		}
		return tx.Charge(a.ID, nil, catalog.KindReleases, marker, marker, epsilon(1, 0))
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
	raw(t, path, changed("column list", "", "$", "json('[]')")) // so that the copy is refused
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
