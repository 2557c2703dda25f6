package catalog

import (
	"context"
	"reflect"
	"testing"
	"time"

	"dpsql/sqlerr"
)

// afar adds a table whose rows are in a source, under an account of its own.
func afar(tx *Tx, name string, source int64) error {
	a := &Account{Epsilon: "2", Delta: "1e-6", Interactive: "0.5", Caps: someCaps(), Bases: []string{"afar: " + name}}
	if err := tx.CreateAccount(a); err != nil {
		return err
	}
	return tx.AddTable(&Table{Name: name, Source: "public." + name, SourceID: source, Columns: clinicColumns(), Account: a.ID, MaxRows: 1})
}

func TestSources(t *testing.T) {
	s := open(t, dbPath(t))
	want := Source{Name: "Warehouse", Kind: Postgres, DSNEnv: "WAREHOUSE_DSN", Timeout: 90 * time.Second}
	write(t, s, func(tx *Tx) error {
		if err := tx.AddSource(&want); err != nil {
			return err
		}
		return afar(tx, "visits", want.ID)
	})
	taken := func(tx *Tx) error { return tx.AddSource(&Source{Name: "WAREHOUSE", Kind: Postgres, DSNEnv: "A"}) }
	wantCode(t, s.Write(context.Background(), taken), sqlerr.Invalid)
	read(t, s, func(tx *Tx) error {
		got, err := tx.Source("wareHOUSE")
		if err != nil || got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if byID, err := tx.SourceByID(want.ID); err != nil || !reflect.DeepEqual(*byID, want) {
			t.Errorf("%+v, %v, want %+v", byID, err, want)
		}
		if _, err := tx.SourceByID(7); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("a source that is not there: %v", err)
		}
		if table, err := tx.Table("visits"); err != nil || table.SourceID != want.ID || table.Source != "public.visits" {
			t.Errorf("%+v, %v", table, err)
		}
		return nil
	})
	drop := func(tx *Tx) error { return tx.DropSource("warehouse") }
	wantCode(t, s.Write(context.Background(), drop), sqlerr.Invalid)
	write(t, s, func(tx *Tx) error { return tx.DropTable("visits") })
	write(t, s, drop)
	wantCode(t, s.Write(context.Background(), drop), sqlerr.Unknown)
	again := want
	write(t, s, func(tx *Tx) error { return tx.AddSource(&again) })
	if again.ID == want.ID {
		t.Error("the number of a dropped source is used again")
	}
}

// A catalog of the second version is read as it is, and the first write takes
// it to the next: the same records with the same digests, and room for sources.
func TestSecondVersionGetsSources(t *testing.T) {
	path := fileOf(t, "version2")
	before, err := readEverything(openWith(t, path, Options{ReadOnly: true}))
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Tables) != 1 || len(before.Releases) != 1 || len(before.Mechanisms) != 1 || len(before.History) != 2 ||
		len(before.Answers) != 1 || before.Answers[0].Estimate != 95 || len(before.Ledger) != 9 || before.Sources != nil {
		t.Fatalf("read %+v", before)
	}
	s := open(t, path)
	write(t, s, func(*Tx) error { return nil })
	after, err := readEverything(s)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Fatalf("%v: after the migration\n%+v\nbefore\n%+v", err, after, before)
	}
	write(t, s, func(tx *Tx) error {
		w := Source{Name: "warehouse", Kind: Postgres, DSNEnv: "WAREHOUSE_DSN"}
		if err := tx.AddSource(&w); err != nil {
			return err
		}
		return afar(tx, "visits", w.ID)
	})
	if _, err := readEverything(open(t, path)); err != nil {
		t.Fatal(err)
	}
}

// A catalog with sources does not pass for one without.
func TestSourcesVersionIsDamaged(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		path := stocked(t)
		raw(t, path, `UPDATE dpsql_schema SET version = `+version)
		_, err := Open(context.Background(), path, Options{})
		wantCode(t, err, sqlerr.Corrupt)
	}
}
