package catalog_test

import (
	"context"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/internal/period"
	"dpsql/query"
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
		return tx.SetNHat(tab.ID, period.All, nhat)
	})
	tab.NHat = &nhat
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.SetNHat(tab.ID, period.All, nhat) }), sqlerr.Internal)
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
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddTable(&again) }), sqlerr.Exists)
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
		return tx.PutAnswer(&catalog.Answer{TableID: table, Query: catalog.SumOf("q"), Kind: catalog.AnswerDirect, Via: "direct"})
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
	wantCode(t, s.Write(context.Background(), taken), sqlerr.Exists)
	read(t, s, func(tx *catalog.Tx) error {
		got, err := tx.Source("wareHOUSE")
		if err != nil || got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if byID, err := tx.SourceByID(want.ID); err != nil || !reflect.DeepEqual(*byID, want) {
			t.Errorf("%+v, %v, want %+v", byID, err, want)
		}
		if _, err := tx.SourceByID(99); sqlerr.CodeOf(err) != sqlerr.Corrupt {
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

func TestDomainsRoundTrip(t *testing.T) {
	ints := func(n ...int64) (v []query.Value) {
		for _, i := range n {
			v = append(v, query.Int(i))
		}
		return v
	}
	texts := []query.Value{query.Text(""), query.Text("it's"), query.Text("nul\x00in"), query.Text("\xff\xfe not UTF-8"),
		query.Text("\u2028<&>\"\\"), query.Text("語"), query.Text("null"), query.Text("1"), query.Text("\ufffd")}
	many := make([]query.Value, 5000)
	for i := range many {
		many[i] = query.Text(strings.Repeat("k", i%7) + string(rune('一'+i)))
	}
	for _, f := range []query.Form{query.DateForm(query.StoredISO), query.DateForm(query.StoredJulian), query.DateForm(query.StoredUnix), query.DateForm(query.StoredUnix).Clamped()} {
		c := query.Column{Domain: domain(query.DateForm(0).NewRange("0001-01-01", "9999-12-31", true)), Form: f}
		text, err := catalog.EncodeDomain(c)
		if err != nil {
			t.Fatal(err)
		}
		d, form, err := catalog.DecodeDomain("DATE", text)
		if err != nil || form != f || d.String() != c.Domain.String() {
			t.Errorf("%s came back as %v of %v: %v", text, d, form, err)
		}
		if _, _, err := catalog.DecodeDomain("INTEGER", text); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s is read as INTEGER: %v", text, err)
		}
	}
	hours, err := query.TimestampForm(query.StoredUnix, 3600)
	if err != nil {
		t.Fatal(err)
	}
	hour := query.Column{Domain: domain(hours.NewRange("0001-01-01", "9999-12-31 23:00", false)), Form: hours}
	text, err := catalog.EncodeDomain(hour)
	if err != nil {
		t.Fatal(err)
	}
	if d, f, err := catalog.DecodeDomain("TIMESTAMP", text); err != nil || f != hours || d.String() != hour.Domain.String() {
		t.Errorf("%s came back as %v of %v: %v", text, d, f, err)
	}
	if _, _, err := catalog.DecodeDomain("DATE", text); sqlerr.CodeOf(err) != sqlerr.Corrupt {
		t.Errorf("%s is read as DATE: %v", text, err)
	}
	clock, err := query.TimestampForm(query.StoredClock, 900)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []query.Column{{Domain: clock.NewDay(true), Form: clock}, {Domain: domain(clock.NewRange("8:00", "17:45", false)), Form: clock.Clamped()}} {
		text, err := catalog.EncodeDomain(c)
		if err != nil {
			t.Fatal(err)
		}
		if d, f, err := catalog.DecodeDomain("TIME", text); err != nil || f != c.Form || d.String() != c.Domain.String() {
			t.Errorf("%s came back as %v of %v: %v", text, d, f, err)
		}
		for _, typ := range []string{"DATE", "TIMESTAMP", "INTEGER"} {
			if _, _, err := catalog.DecodeDomain(typ, text); sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Errorf("%s is read as %s: %v", text, typ, err)
			}
		}
	}
	for _, text := range []string{`{"range":[0,1],"stored":"clock"}`, `{"range":[0,96],"stored":"clock","step":900}`, `{"range":[-1,9],"stored":"clock","step":900}`, `{"range":[0,9],"stored":"clock","step":7000}`} {
		if d, f, err := catalog.DecodeDomain("TIME", text); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s is read as %v of %v: %v", text, d, f, err)
		}
	}
	for _, numeric := range [][2]int{{0, 0}, {10, 2}} {
		steps, err := query.NewSteps(big.NewRat(-1, 1), big.NewRat(5, 2), big.NewRat(1, 100), true)
		if err != nil {
			t.Fatal(err)
		}
		c := query.Column{}
		if c.Domain, c.Form, err = steps.Column(numeric[0] == 0, numeric[0], numeric[1]); err != nil {
			t.Fatal(err)
		}
		text, err := catalog.EncodeDomain(c)
		if err != nil {
			t.Fatal(err)
		}
		d, form, err := catalog.DecodeDomain(c.TypeName(), text)
		if err != nil || form != c.Form || (query.Column{Domain: d, Form: form}).DomainText() != c.DomainText() {
			t.Errorf("%s came back as %v: %v", text, d, err)
		}
	}
	for _, d := range []query.Domain{
		query.Unbounded(),
		domain(query.NewRange(0, 120, false)),
		domain(query.NewRange(-5, -5, true)),
		domain(query.NewRange(math.MinInt64, math.MinInt64+1000, false)),
		domain(query.NewRange(math.MaxInt64-1, math.MaxInt64, true)),
		domain(query.NewRange(-1<<59, 1<<59, true)),
		domain(query.NewList(query.TypeInteger, ints(1, 2, 3))), // not a range: declared as a list
		domain(query.NewList(query.TypeInteger, append(ints(math.MinInt64, -1, 0, math.MaxInt64, 1<<53+1), query.Null()))),
		domain(query.NewList(query.TypeInteger, []query.Value{query.Null()})),
		domain(query.NewList(query.TypeText, []query.Value{query.Null()})),
		domain(query.NewList(query.TypeText, texts)),
		domain(query.NewList(query.TypeText, append(texts, query.Null()))),
		domain(query.NewList(query.TypeText, many)),
	} {
		text, err := catalog.EncodeDomain(query.Column{Domain: d})
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := catalog.DecodeDomain(d.Type().String(), text)
		if err != nil {
			t.Fatalf("%.80s: %v", text, err)
		}
		if back.String() != d.String() || back.Type() != d.Type() || back.Finite() != d.Finite() ||
			back.IsRange() != d.IsRange() || back.HasNull() != d.HasNull() || back.Size() != d.Size() {
			t.Errorf("%.80s came back as %.80s", d, back)
		}
		for i := uint64(0); !d.IsRange() && i < d.Size(); i++ {
			if d.Value(i) != back.Value(i) {
				t.Errorf("value %d: %v came back as %v", i, d.Value(i), back.Value(i))
			}
		}
	}
	for _, bad := range [][2]string{{"TEXT", `{"range":[1,2]}`}, {"INTEGER", `{}`}, {"INTEGER", `{"values":["x"]}`}, {"INTEGER", `{"range":[2,1]}`},
		{"TEXT", `{"values":[1]}`}, {"TEXT", `{`}, {"TEXT", `{"values":[]}`}, {"INTEGER", `{"values":[1.5]}`}, {"INTEGER", `{"values":[1,1]}`},
		{"INTEGER", `{"values":[1],"clamp":true}`}, {"TEXT", `{"clamp":true}`}, {"DATE", `{"range":[1,2]}`}, {"DATE", `{"range":[1,2],"stored":"x"}`}, {"DATE", `{"stored":"iso"}`}, {"DATE", `{"range":[1,2932897],"stored":"iso"}`},
		{"TIMESTAMP", `{"range":[1,2],"stored":"iso"}`}, {"TIMESTAMP", `{"range":[1,2],"stored":"iso","step":7}`}, {"TIMESTAMP", `{"range":[1,2],"stored":"iso","step":-60}`},
		{"REAL", `{"range":[0,5]}`}, {"REAL", `{"range":[0,5],"fraction":{"of":[0,1]}}`},
		{"REAL", `{"range":[0,5],"fraction":{"of":[1,1],"numeric":[3,4]}}`}, {"REAL", `{"range":[0,2000000000],"fraction":{"of":[1,1]}}`}, {"REAL", `{"fraction":{"of":[1,1]}}`},
		{"DATE", `{"values":[1],"stored":"iso"}`}, {"DATE", `{"values":["x"],"stored":"iso"}`}} {
		_, _, err := catalog.DecodeDomain(bad[0], bad[1])
		if sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s %s: %v", bad[0], bad[1], err)
		}
	}
}

func TestShortDecimal(t *testing.T) {
	for _, c := range []struct {
		units  int64
		places int
		up     bool
		want   string
	}{
		{0, 15, true, "0"}, {5e14, 15, true, "0.5"}, {1e15, 15, false, "1"}, {2e15, 15, true, "2"}, {12e15, 15, true, "12"},
		{7700000000000, 15, true, "0.0077"}, {770000000000, 15, true, "7.7e-4"}, {1e12, 18, true, "1e-6"}, {1, 15, true, "1e-15"},
		{123456, 3, true, "123.5"}, {123456, 3, false, "123.4"}, {999999, 3, true, "1000"}, {999999, 3, false, "999.9"},
		{99999, 0, true, "100000"}, {1000e15 - 1, 15, false, "999.9"}, {1234567, 0, false, "1234000"}, {1, 18, true, "1e-18"}, {math.MaxInt64, 0, true, "9.224e18"},
	} {
		if got := catalog.ShortDecimal(c.units, c.places, c.up); got != c.want {
			t.Errorf("shortDecimal(%d, %d, %v) = %q, want %q", c.units, c.places, c.up, got, c.want)
		}
	}
}

// The text is on the right side of the exact value, within a part in a thousand,
// and has at most four significant digits.
func FuzzShortDecimal(f *testing.F) {
	for _, n := range []int64{1, 9, 9999, 10000, 99995, 99999, 123456789, math.MaxInt64} {
		f.Add(n, uint8(15))
	}
	f.Fuzz(func(t *testing.T, units int64, places uint8) {
		if units < 0 || places > 18 {
			t.Skip()
		}
		exact, _ := new(big.Rat).SetString(strconv.FormatInt(units, 10) + "e-" + strconv.Itoa(int(places)))
		for _, up := range []bool{true, false} {
			text := catalog.ShortDecimal(units, int(places), up)
			got, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatalf("%q is no number", text)
			}
			if side := got.Cmp(exact); (up && side < 0) || (!up && side > 0) {
				t.Errorf("%d places %d up %v: %s is on the wrong side", units, places, up, text)
			}
			off := new(big.Rat).Sub(got, exact)
			if off.Abs(off).Mul(off, big.NewRat(1000, 1)).Cmp(exact) > 0 {
				t.Errorf("%d places %d: %s is far off", units, places, text)
			}
			mantissa, _, _ := strings.Cut(text, "e")
			if digits := strings.Trim(strings.Replace(mantissa, ".", "", 1), "0"); len(digits) > 4 {
				t.Errorf("%s has more than four digits", text)
			}
		}
	})
}

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
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("ICD10") }), sqlerr.Exists)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("RAWS") }), sqlerr.Invalid)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error {
		return tx.CreateAccount(&catalog.Account{Caps: someCaps(), Bases: []string{"other", "ZIPS"}})
	}), sqlerr.Invalid)
	write(t, s, func(tx *catalog.Tx) error { return tx.DropPublic("ICD10") })
	if got := publics(t, s); got != "zips" {
		t.Errorf("after the drop %q", got)
	}
}

// TestAccountsOutside finds the accounts of tables outside the file. Some names stand for
// a whole database, some are within such a name, and some tables may have the same rows
// under another name.
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

// The answer time of a table is the default until it is changed. Raising it never lowers it.
func TestAnswerTime(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	_, id := declare(t, s, "raws")
	has := func(want time.Duration) {
		t.Helper()
		for _, s := range []*catalog.Store{s, open(t, path)} {
			read(t, s, func(tx *catalog.Tx) error {
				all, err := tx.Tables()
				if err == nil && all[0].AnswerTime != want {
					t.Errorf("the answer time is %v, want %v", all[0].AnswerTime, want)
				}
				return err
			})
		}
	}
	has(catalog.DefaultAnswerTime)
	for _, c := range []struct {
		raise    bool
		to, want time.Duration
	}{{true, time.Second, time.Second}, {true, 5 * time.Millisecond, time.Second}, {false, 5 * time.Millisecond, 5 * time.Millisecond}, {true, catalog.DefaultAnswerTime, catalog.DefaultAnswerTime}} {
		write(t, s, func(tx *catalog.Tx) error {
			if c.raise {
				return tx.RaiseAnswerTime(id, c.to)
			}
			return tx.SetAnswerTime(id, c.to)
		})
		has(c.want)
	}
	raw(t, path, changed("private table", "raw", "$.answer_time", "1"))
	err := open(t, path).Read(context.Background(), func(tx *catalog.Tx) error { _, err := tx.Tables(); return err })
	wantCode(t, err, sqlerr.Corrupt)
}
