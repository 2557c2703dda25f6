package catalog_test

import (
	"context"
	"reflect"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestTables(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	tab := &catalog.Table{Name: "Admissions", Source: "raws", Columns: clinicColumns(), Account: account, Unit: "patient_id",
		MaxRows: 4, SourceSchema: "CREATE TABLE raws (…)", Key: []byte{1, 2, 0, 255}}
	nhat := catalog.NHat{Value: -3, Epsilon: 20, Rho: 30, Law: "dlap(5/2)"}
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.AddTable(tab); err != nil {
			return err
		}
		got, err := tx.Table("admissionS")
		if err == nil && got.NHat != nil {
			t.Error("a new table has a row count")
		}
		if err != nil {
			return err
		}
		return tx.SetNHat(tab.ID, nhat)
	})
	tab.NHat = &nhat
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.SetNHat(tab.ID, nhat) }), sqlerr.Internal)
	read(t, s, func(tx *catalog.Tx) error {
		got, err := tx.Table("ADMISSIONS")
		if err != nil {
			return err
		}
		for i, c := range got.Columns {
			if c.Name != tab.Columns[i].Name || c.Domain.String() != tab.Columns[i].Domain.String() {
				t.Errorf("column %d: %v, want %v", i, c, tab.Columns[i])
			}
		}
		if u, err := got.Universe(); err != nil || len(u.Columns()) != 3 {
			t.Errorf("universe %v, %v", u, err)
		}
		got.Columns = tab.Columns // domains have no equality of their own
		if !reflect.DeepEqual(got, tab) {
			t.Errorf("got %+v, want %+v", got, tab)
		}
		all, err := tx.Tables()
		if len(all) != 2 || all[0].Name != "Admissions" || len(all[1].Columns) != 3 {
			t.Errorf("tables %+v", all)
		}
		none, err2 := tx.Table("nobody")
		if none != nil || err2 != nil {
			t.Errorf("unknown table %v, %v", none, err2)
		}
		return err
	})
	again := *tab
	again.Name = "ADMISSIONS"
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddTable(&again) }), sqlerr.Invalid)
	twice := &catalog.Table{Name: "x", Columns: append(clinicColumns(), clinicColumns()...)}
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddTable(twice) }), sqlerr.Invalid)
}

func TestDropTableKeepsAccountAndIDs(t *testing.T) {
	s := open(t, dbPath(t))
	account, table := declare(t, s, "raws")
	mechanism := &catalog.Mechanism{Name: "m", TableID: table, Updates: 3}
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.AddRelease(&catalog.Release{Name: "r", TableID: table, Using: "projection"}, nil); err != nil {
			return err
		}
		if err := tx.AddMechanism(mechanism, nil); err != nil {
			return err
		}
		return tx.PutAnswer(&catalog.Answer{TableID: table, Query: "q", Kind: catalog.AnswerDirect, Via: "direct"})
	})
	drop := func(tx *catalog.Tx) error { return tx.DropTable("RAW") }
	wantCode(t, s.Write(context.Background(), drop), sqlerr.Invalid)
	write(t, s, func(tx *catalog.Tx) error { return tx.DropRelease("R") })
	wantCode(t, s.Write(context.Background(), drop), sqlerr.Invalid)
	write(t, s, func(tx *catalog.Tx) error { return tx.DropMechanism("M") })
	write(t, s, drop)
	wantCode(t, s.Write(context.Background(), drop), sqlerr.Unknown)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.DropRelease("r") }), sqlerr.Unknown)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.DropMechanism("m") }), sqlerr.Unknown)
	write(t, s, func(tx *catalog.Tx) error {
		a, err := tx.AccountFor([]string{"raws"})
		if err != nil || a == nil || a.ID != account {
			t.Errorf("the account is %+v, %v", a, err)
		}
		tab := &catalog.Table{Name: "raw", Source: "raws", Columns: clinicColumns(), Account: a.ID}
		if err := tx.AddTable(tab); err != nil {
			return err
		}
		for _, err := range []error{tx.AddRelease(&catalog.Release{Name: "r", TableID: table}, nil), tx.AddMechanism(&catalog.Mechanism{Name: "m", TableID: table}, nil)} {
			if sqlerr.CodeOf(err) != sqlerr.Unknown {
				t.Errorf("on a dropped table: %v, want unknown", err)
			}
		}
		m := &catalog.Mechanism{Name: "m", TableID: tab.ID}
		r := &catalog.Release{Name: "r", TableID: tab.ID}
		if err := tx.AddMechanism(m, nil); err != nil {
			return err
		}
		if err := tx.AddRelease(r, nil); err != nil {
			return err
		}
		if tab.ID == table || m.ID == mechanism.ID {
			t.Errorf("ids %d and %d were used again", tab.ID, m.ID)
		}
		answers, err := tx.Answers(tab.ID, "q")
		if len(answers) != 0 {
			t.Error("an answer of the dropped table is in reach")
		}
		return err
	})
}
