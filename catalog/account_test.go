package catalog_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestPublic(t *testing.T) {
	s := open(t, dbPath(t))
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.DropPublic("icd10") }), sqlerr.Unknown)
	declare(t, s, "raws")
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.AddPublic("zips"); err != nil {
			return err
		}
		return tx.AddPublic("Icd10")
	})
	if got := publics(t, s); got != "Icd10 zips" {
		t.Errorf("publics %q", got)
	}
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("ICD10") }), sqlerr.Invalid)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("RAWS") }), sqlerr.Invalid)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error {
		return tx.CreateAccount(&catalog.Account{Caps: someCaps(), Bases: []string{"other", "ZIPS"}})
	}), sqlerr.Invalid)
	write(t, s, func(tx *catalog.Tx) error { return tx.DropPublic("ICD10") })
	if got := publics(t, s); got != "zips" {
		t.Errorf("after the drop %q", got)
	}
}

// TestAccountsOutside finds the account of tables outside the file whose name stands
// for a whole database, or is within such a name, and of those that may have the same
// rows under another.
func TestAccountsOutside(t *testing.T) {
	s := open(t, dbPath(t))
	const one, two = "postgresql:1/postgres_fdw:h:5432/one", "postgresql:1/postgres_fdw:h:5432/two"
	write(t, s, func(tx *catalog.Tx) error {
		for _, bases := range [][]string{{one}, {two + "/public.a"}, {two + "/public.b"}, {"postgresql:1/d/public.p"}, {"file"}} {
			if err := tx.CreateAccount(&catalog.Account{Epsilon: "1", Delta: "0", Interactive: "0", Caps: someCaps(), Bases: bases}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		bases, also string
		id          int64 // 0: none; -1: refused
	}{
		{one, "", 1}, {one + "/public.a", "", 1}, {strings.ToUpper(one[len(catalog.PostgresPrefix):]), "", 0}, {catalog.PostgresPrefix + strings.ToUpper(one[len(catalog.PostgresPrefix):]), "", 1}, {one + "more", "", 0},
		{two + "/public.a", "", 2}, {two + "/public.c", "", 0}, {two, "", -1}, {"postgresql:1/postgres_fdw:h:5432/three", "", 0},
		{"postgresql:1/d/public.q", one, 1}, {"postgresql:1/d/public.p", "postgresql:1/d/public.q", 4}, {"postgresql:1/d/public.p", one, -1}, {"postgresql:1/d/public.q", two, -1},
		{"file/more", "", 0}, {"postgresql:1/d/public.p postgresql:1/d/public.q", one, -1}, {"postgresql:1/d", "", 4},
	} {
		var got *catalog.Account
		err := s.Read(context.Background(), func(tx *catalog.Tx) (err error) {
			got, err = tx.AccountFor(strings.Fields(c.bases), strings.Fields(c.also)...)
			return err
		})
		switch {
		case c.id == -1:
			wantCode(t, err, sqlerr.Invalid)
		case err != nil, (got == nil) != (c.id == 0), got != nil && got.ID != c.id:
			t.Errorf("%s, also %s: got %+v, %v; want account %d", c.bases, c.also, got, err, c.id)
		}
	}
}

func TestAccounts(t *testing.T) {
	s := open(t, dbPath(t))
	two := &catalog.Account{Epsilon: "2.0", Delta: "1e-6", Interactive: "0.50", Caps: someCaps(), Bases: []string{"visits", "Admissions"}}
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.CreateAccount(two); err != nil {
			return err
		}
		return tx.CreateAccount(&catalog.Account{Epsilon: "1", Delta: "0", Interactive: "0", Caps: someCaps(), Bases: []string{"bills"}})
	})
	if !slices.Equal(two.Bases, []string{"Admissions", "visits"}) || two.ID == 0 || two.CreatedAt.IsZero() {
		t.Errorf("stored %+v", two)
	}
	for _, c := range []struct {
		bases string
		id    int64 // 0: none; -1: refused
	}{
		{"ADMISSIONS visits", two.ID}, {"VISITS", two.ID}, {"new", 0}, {"new newer", 0}, {"bills", 2},
		{"admissions bills", -1}, {"admissions new", -1}, {"new admissions", -1}, {"admissions visits new", -1},
	} {
		var got *catalog.Account
		err := s.Read(context.Background(), func(tx *catalog.Tx) (err error) { got, err = tx.AccountFor(strings.Fields(c.bases)); return err })
		switch {
		case c.id == -1:
			wantCode(t, err, sqlerr.Invalid)
		case err != nil:
			t.Errorf("%s: %v", c.bases, err)
		case c.id == 0 && got != nil, c.id > 0 && (got == nil || got.ID != c.id):
			t.Errorf("%s: got %+v, want account %d", c.bases, got, c.id)
		case c.id == two.ID && !reflect.DeepEqual(got, two):
			t.Errorf("%s: got %+v, want %+v", c.bases, got, two)
		}
	}
	for _, bases := range [][]string{nil, {"bills"}, {"BILLS", "x"}} {
		wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.CreateAccount(&catalog.Account{Caps: someCaps(), Bases: bases})
		}), sqlerr.Invalid)
	}
	read(t, s, func(tx *catalog.Tx) error {
		all, err := tx.Accounts()
		if len(all) != 2 || !reflect.DeepEqual(&all[0], two) {
			t.Errorf("accounts %+v", all)
		}
		return err
	})
}
