package catalog_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

// afar adds a table whose rows are in a source, under an account of its own.
func afar(tx *catalog.Tx, name string, source int64) error {
	a := &catalog.Account{Epsilon: "2", Delta: "1e-6", Interactive: "0.5", Caps: someCaps(), Bases: []string{"afar: " + name}}
	if err := tx.CreateAccount(a); err != nil {
		return err
	}
	return tx.AddTable(&catalog.Table{Name: name, Source: "public." + name, SourceID: source, Columns: clinicColumns(), Account: a.ID, MaxRows: 1})
}

func TestSources(t *testing.T) {
	s := open(t, dbPath(t))
	want := catalog.Source{Name: "Warehouse", Kind: catalog.Postgres, DSNEnv: "WAREHOUSE_DSN", Timeout: 90 * time.Second}
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.AddSource(&want); err != nil {
			return err
		}
		return afar(tx, "visits", want.ID)
	})
	taken := func(tx *catalog.Tx) error {
		return tx.AddSource(&catalog.Source{Name: "WAREHOUSE", Kind: catalog.Postgres, DSNEnv: "A"})
	}
	wantCode(t, s.Write(context.Background(), taken), sqlerr.Invalid)
	read(t, s, func(tx *catalog.Tx) error {
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
	drop := func(tx *catalog.Tx) error { return tx.DropSource("warehouse") }
	wantCode(t, s.Write(context.Background(), drop), sqlerr.Invalid)
	write(t, s, func(tx *catalog.Tx) error { return tx.DropTable("visits") })
	write(t, s, drop)
	wantCode(t, s.Write(context.Background(), drop), sqlerr.Unknown)
	again := want
	write(t, s, func(tx *catalog.Tx) error { return tx.AddSource(&again) })
	if again.ID == want.ID {
		t.Error("the number of a dropped source is used again")
	}
}
