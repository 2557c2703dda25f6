package catalog_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// months is the partition by month of a DATE.
func months() period.Partition {
	return period.Partition{Column: "visited", By: period.Month, Form: query.DateForm(query.StoredISO), Zone: "Europe/Berlin"}
}

// month returns the number of a month.
func month(t *testing.T, name string) int64 {
	t.Helper()
	n, err := months().Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// declareMonths declares an account whose budget belongs to months, and returns its id.
func declareMonths(t *testing.T, s *catalog.Store) (account, table int64) {
	t.Helper()
	account, table = declare(t, s, "raws")
	write(t, s, func(tx *catalog.Tx) error {
		_, err := tx.SetPartition(account, "visits", months())
		return err
	})
	return account, table
}

// TestChargesOfPeriods charges months alone and together, up to the caps of each.
func TestChargesOfPeriods(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declareMonths(t, s)
	january, june := month(t, "2026-01"), month(t, "2026-06")
	if err := charge(s, account, catalog.KindReleases, epsilon(100, 0)); err != nil { // in all
		t.Fatal(err)
	}
	for i, step := range []struct {
		over period.Ranges
		cost accounting.Amount
		want string // a part of the message; "" for no error
	}{
		{period.Of(period.Only(january)), epsilon(900, 0), ""},
		{period.Of(period.Only(january)), epsilon(1, 0), "left in 2026-01"},
		{period.Of(period.Range{First: january - 1, Last: june}), epsilon(1, 0), "left in 2026-01"},
		{period.Of(period.Only(january-1), period.Range{First: january + 1, Last: june}), epsilon(500, 0), ""},
		{period.Of(period.Only(june), period.Only(june+1)), epsilon(401, 0), "left in 2026-06"},
		{period.Of(period.Only(june + 1)), epsilon(401, 0), ""},
		{period.Whole(), epsilon(1, 0), "left in 2026-01"},
		{nil, epsilon(1, 0), "left in 2026-01"},
		{period.Whole(), epsilon(0, 0), ""},
	} {
		err := s.Write(t.Context(), func(tx *catalog.Tx) error {
			return tx.Charge(account, step.over, catalog.KindReleases, "create release r", "r", step.cost)
		})
		switch {
		case step.want == "" && err != nil:
			t.Errorf("step %d: %v", i, err)
		case step.want != "" && (sqlerr.CodeOf(err) != sqlerr.Budget || !strings.Contains(err.Error(), step.want)):
			t.Errorf("step %d: %v, want %q", i, err, step.want)
		}
	}
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.Spent(account)
		if err != nil {
			return err
		}
		for n, want := range map[int64]accounting.Epsilon{january - 2: 100, january - 1: 600, january: 1000, january + 1: 600, june: 600, june + 1: 501, june + 2: 100} {
			if got := spent.Most(period.Of(period.Only(n))).Epsilon; got != want {
				t.Errorf("%s has spent %v, want %v", months().Name(n), got, want)
			}
		}
		return tx.VerifyLedger()
	})
}

// TestChargeOfManyRanges charges every second month of many years: the gaps that are charged
// too are the price of a bounded number of lines.
func TestChargeOfManyRanges(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declareMonths(t, s)
	var over []period.Range
	for n := range int64(200) {
		over = append(over, period.Only(2*n))
	}
	write(t, s, func(tx *catalog.Tx) error {
		before, _ := tx.Ledger()
		if err := tx.Charge(account, period.Of(over...), catalog.KindReleases, "create release r", "r", epsilon(1, 0)); err != nil {
			return err
		}
		after, err := tx.Ledger()
		if n := len(after) - len(before); n != 64 {
			t.Errorf("%d lines", n)
		}
		spent, _ := tx.Spent(account)
		for _, r := range over {
			if spent.Most(period.Ranges{r}).Epsilon != 1 {
				t.Fatalf("period %d is not charged", r.First)
			}
		}
		return err
	})
}

// TestReturnsToPeriods gives back to the periods that were charged, and to no others.
func TestReturnsToPeriods(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declareMonths(t, s)
	over := period.Of(period.Range{First: 10, Last: 12})
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.Charge(account, over, catalog.KindInteractive, "reserve mechanism", "m", rho(9)); err != nil {
			return err
		}
		return tx.Return(account, over, catalog.KindInteractive, "return unused runs", "m", rho(4))
	})
	for _, other := range []period.Ranges{nil, period.Of(period.Range{First: 10, Last: 13}), period.Of(period.Only(9))} {
		wantCode(t, s.Write(t.Context(), func(tx *catalog.Tx) error {
			return tx.Return(account, other, catalog.KindInteractive, "return unused runs", "m", rho(1))
		}), sqlerr.Corrupt)
	}
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.Spent(account)
		if got := spent.Most(over).Rho; got != 5 || spent.Most(period.Whole()).Rho != 5 {
			t.Errorf("spent %v", got)
		}
		return err
	})
}

// TestPaymentsOfPeriods buys answers of which each takes from other periods.
func TestPaymentsOfPeriods(t *testing.T) {
	s := open(t, dbPath(t))
	account, table := declareMonths(t, s)
	buy := func(p catalog.Payment) error {
		p.Account, p.Table, p.Action, p.Object = account, table, "direct answers", "visits"
		return s.Write(t.Context(), func(tx *catalog.Tx) error { return tx.Buy(catalog.Buyer{}, p) })
	}
	shares := []catalog.Share{{Over: period.Of(period.Range{First: 1, Last: 3}), Rho: 5}, {Over: period.Of(period.Range{First: 3, Last: 4}), Rho: 6}}
	wantCode(t, buy(catalog.Payment{Rho: 10, Shares: shares}), sqlerr.Internal) // period 3 takes 11
	if err := buy(catalog.Payment{Rho: 11, Shares: shares}); err != nil {
		t.Fatal(err)
	}
	if err := buy(catalog.Payment{Prepaid: 3, Shares: []catalog.Share{{Over: period.Of(period.Only(2))}}}); err != nil {
		t.Fatal(err)
	}
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.Spent(account)
		for n, want := range map[int64]accounting.Rho{0: 0, 1: 5, 2: 5, 3: 11, 4: 6, 5: 0} {
			if got := spent.Most(period.Of(period.Only(n))).Rho; got != want {
				t.Errorf("period %d has spent %v, want %v", n, got, want)
			}
		}
		return err
	})
}

// TestPartitionIsForEver declares the periods of an account again, in the same and in other ways.
func TestPartitionIsForEver(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, _ := declareMonths(t, s)
	set := func(change func(*period.Partition)) error {
		p := months()
		change(&p)
		return s.Write(t.Context(), func(tx *catalog.Tx) error {
			_, err := tx.SetPartition(account, "visits", p)
			return err
		})
	}
	for i, change := range []func(*period.Partition){
		func(p *period.Partition) { p.By = period.Week }, func(p *period.Partition) { p.Column = "left_at" },
		func(p *period.Partition) { p.Zone = "" }, func(p *period.Partition) { p.Form = query.DateForm(query.StoredUnix) },
	} {
		if err := set(change); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("change %d: %v", i, err)
		}
	}
	if err := set(func(p *period.Partition) { p.Column = "VISITED" }); err != nil {
		t.Error(err)
	}
	s.Close()
	read(t, open(t, path), func(tx *catalog.Tx) error {
		a, err := tx.Account(account)
		if want := months(); err == nil && !reflect.DeepEqual(*a.Partition, want) {
			t.Errorf("the partition is %+v, want %+v", *a.Partition, want)
		}
		return err
	})
	raw(t, path, changed("account", "", "$.periods.by", "'day'"))
	wantCode(t, open(t, path).Read(t.Context(), func(tx *catalog.Tx) error {
		_, err := tx.Accounts()
		return err
	}), sqlerr.Corrupt)
}

// TestTextsOfPartition adds texts to those that have their places.
func TestTextsOfPartition(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	for _, texts := range [][]string{{"north", "south\xff"}, {"south\xff", "west", "north"}, {"west"}} {
		write(t, s, func(tx *catalog.Tx) error {
			_, err := tx.SetPartition(account, "visits", period.Partition{Column: "region", By: period.Value, Texts: texts})
			return err
		})
	}
	read(t, s, func(tx *catalog.Tx) error {
		a, err := tx.Account(account)
		if want := []string{"north", "south\xff", "west"}; err == nil && !reflect.DeepEqual(a.Partition.Texts, want) {
			t.Errorf("texts %q", a.Partition.Texts)
		}
		return err
	})
}

// TestRetire charges retired periods, and gives back to them.
func TestRetire(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declareMonths(t, s)
	over := period.Of(period.Range{First: 24310, Last: 24320})
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.Charge(account, over, catalog.KindInteractive, "reserve mechanism", "m", rho(9)); err != nil {
			return err
		}
		if err := tx.Retire(account, "visits", period.Only(24312)); err != nil {
			return err
		}
		return tx.Retire(account, "visits", period.Only(24312)) // nothing new
	})
	for _, over := range []period.Ranges{nil, over, period.Of(period.Only(24312))} {
		for _, cost := range []accounting.Rho{0, 1} {
			wantCode(t, s.Write(t.Context(), func(tx *catalog.Tx) error {
				return tx.Charge(account, over, catalog.KindInteractive, "direct answer", "visits", rho(cost))
			}), sqlerr.Invalid)
		}
	}
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.Charge(account, over.Minus(period.Of(period.Only(24312))), catalog.KindInteractive, "direct answer", "visits", rho(1)); err != nil {
			return err
		}
		return tx.Return(account, over, catalog.KindInteractive, "return unused runs", "m", rho(9))
	})
	read(t, s, func(tx *catalog.Tx) error {
		lines, err := tx.Ledger()
		retired := 0
		for _, l := range lines {
			if l.Action == "retire" && l.Over == period.Only(24312) {
				retired++
			}
		}
		if retired != 1 {
			t.Errorf("%d lines", retired)
		}
		return err
	})
	other, _ := declare(t, s, "others")
	wantCode(t, s.Write(t.Context(), func(tx *catalog.Tx) error { return tx.Retire(other, "others", period.Only(1)) }), sqlerr.Invalid)
	wantCode(t, s.Write(t.Context(), func(tx *catalog.Tx) error {
		return tx.Charge(other, period.Of(period.Only(1)), catalog.KindInteractive, "direct answer", "others", rho(1))
	}), sqlerr.Internal)
}

// TestTemplates stores a template and parts of it.
func TestTemplates(t *testing.T) {
	s := open(t, dbPath(t))
	_, table := declareMonths(t, s)
	m := catalog.Template{Name: "monthly", TableID: table, Columns: []int{0, 1}, Using: "marginals", Options: []byte(`{"epsilon":"0.4"}`), Early: true}
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.AddTemplate(&m); err != nil {
			return err
		}
		for _, n := range []int64{5, 7, 8} {
			part := catalog.Release{Name: "monthly[" + months().Name(n) + "]", TableID: table, Using: "marginals", Span: period.Only(n), Template: m.ID}
			if err := tx.AddRelease(&part, []byte("noisy counts")); err != nil {
				return err
			}
		}
		return tx.DropRelease("monthly[" + months().Name(7) + "]")
	})
	wantCode(t, s.Write(t.Context(), func(tx *catalog.Tx) error {
		return tx.AddRelease(&catalog.Release{Name: "MONTHLY", TableID: table}, nil)
	}), sqlerr.Exists)
	read(t, s, func(tx *catalog.Tx) error {
		got, err := tx.Template("Monthly")
		if err != nil || got == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		m.Ever = period.Of(period.Only(5), period.Range{First: 7, Last: 8})
		if m.Table = got.Table; !reflect.DeepEqual(*got, m) {
			t.Errorf("read %+v, want %+v", *got, m)
		}
		parts, err := tx.Releases(table)
		if err != nil || len(parts) != 2 || parts[0].Template != m.ID || parts[0].Span != period.Only(5) {
			t.Errorf("parts %+v, %v", parts, err)
		}
		return nil
	})
	write(t, s, func(tx *catalog.Tx) error { return tx.DropTemplate("monthly") })
	read(t, s, func(tx *catalog.Tx) error {
		templates, err := tx.Templates(0)
		parts, err2 := tx.Releases(0)
		if err != nil || err2 != nil || len(templates)+len(parts) != 0 {
			t.Errorf("left %+v, %+v, %v, %v", templates, parts, err, err2)
		}
		return nil
	})
}

// TestRowCountsOfPeriods stores N̂ of some periods beside that of all, each once.
func TestRowCountsOfPeriods(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	_, table := declareMonths(t, s)
	all := catalog.NHat{Value: 100, Epsilon: 1, Law: "law"}
	some := catalog.NHat{Value: 9, Rho: 2, Law: "law"}
	over := period.Range{First: 3, Last: math.MaxInt64}
	set := func(over period.Range, n catalog.NHat) error {
		return s.Write(t.Context(), func(tx *catalog.Tx) error { return tx.SetNHat(table, over, n) })
	}
	for _, err := range []error{set(period.All, all), set(over, some)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, set(over, some), sqlerr.Internal)
	wantCode(t, set(period.All, all), sqlerr.Internal)
	read(t, s, func(tx *catalog.Tx) error {
		tables, err := tx.Tables()
		if err != nil {
			return err
		}
		got := tables[0]
		if n := got.RowCount(over); n == nil || *n != some || got.RowCount(period.Only(3)) != nil || *got.RowCount(period.All) != all {
			t.Errorf("row counts %+v, %+v", got.NHat, got.RowCounts)
		}
		return nil
	})
	s.Close()
	for _, damage := range []string{changed("row count", "", "$.value", "8"), `DELETE FROM dpsql_objects WHERE kind = 'row count'`} {
		copied := dbPath(t)
		raw(t, path, `VACUUM INTO '`+copied+`'`)
		raw(t, copied, damage)
		wantCode(t, open(t, copied).Read(t.Context(), func(tx *catalog.Tx) error {
			_, err := tx.Tables()
			return err
		}), sqlerr.Corrupt)
	}
}

// TestChargesInAnyOrder charges ranges that do not ascend, overlap or end before they begin. A
// check of the caps that went through them as if they did would skip some.
func TestChargesInAnyOrder(t *testing.T) {
	s := open(t, dbPath(t))
	account, table := declareMonths(t, s)
	try := func(over period.Ranges, cost accounting.Amount) error {
		return s.Write(t.Context(), func(tx *catalog.Tx) error {
			return tx.Charge(account, over, catalog.KindReleases, "create release r", "r", cost)
		})
	}
	if err := try(period.Of(period.Only(2)), epsilon(900, 0)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, try(period.Ranges{{First: 10, Last: 12}, {First: 1, Last: 3}}, epsilon(101, 0)), sqlerr.Budget)
	wantCode(t, try(period.Ranges{{First: 10, Last: 12}, {First: 5, Last: 4}}, epsilon(1, 0)), sqlerr.Internal)
	wantCode(t, try(period.Ranges{{First: 5, Last: 4}}, epsilon(1, 0)), sqlerr.Internal)
	if err := try(period.Ranges{{First: 3, Last: 4}, {First: 1, Last: 3}}, epsilon(100, 0)); err != nil {
		t.Fatal(err)
	}
	if err := try(period.Ranges{{First: math.MaxInt64, Last: math.MaxInt64}, {First: math.MinInt64, Last: math.MinInt64}}, epsilon(7, 0)); err != nil {
		t.Fatal(err)
	}
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.Spent(account)
		for n, want := range map[int64]accounting.Epsilon{math.MinInt64: 7, math.MinInt64 + 1: 0, 1: 100, 2: 1000, 3: 100, 4: 100, 5: 0, math.MaxInt64 - 1: 0, math.MaxInt64: 7} {
			if got := spent.Most(period.Of(period.Only(n))).Epsilon; got != want {
				t.Errorf("period %d has spent %v, want %v", n, got, want)
			}
		}
		return err
	})
	wantCode(t, s.Write(t.Context(), func(tx *catalog.Tx) error {
		return tx.Return(account, period.Ranges{{First: 3, Last: 4}, {First: 5, Last: 5}, {First: 1, Last: 1}}, catalog.KindReleases, "return", "r", epsilon(1, 0))
	}), sqlerr.Corrupt) // period 5 has nothing to give back
	wantCode(t, s.Write(t.Context(), func(tx *catalog.Tx) error {
		return tx.Buy(catalog.Buyer{}, catalog.Payment{Account: account, Table: table, Action: "direct answer", Object: "visits", Rho: 5,
			Shares: []catalog.Share{{Over: period.Ranges{{First: 9, Last: 8}}, Rho: 5}}})
	}), sqlerr.Internal)
}

// TestValuesAndTextsAreOtherPeriods declares the periods of a column again with another type: the
// same rows would lie in other periods, with budgets of their own.
func TestValuesAndTextsAreOtherPeriods(t *testing.T) {
	integers, texts := period.Partition{Column: "batch", By: period.Value}, period.Partition{Column: "batch", By: period.Value, Texts: []string{"17", "18"}}
	for _, order := range [][2]period.Partition{{integers, texts}, {texts, integers}} {
		s := open(t, dbPath(t))
		account, _ := declare(t, s, "raws")
		set := func(p period.Partition) error {
			return s.Write(t.Context(), func(tx *catalog.Tx) error {
				_, err := tx.SetPartition(account, "visits", p)
				return err
			})
		}
		if err := set(order[0]); err != nil {
			t.Fatal(err)
		}
		wantCode(t, set(order[1]), sqlerr.Invalid)
	}
}

// TestDamagedPeriods changes in which periods something counts, behind dpsql's back. Each
// change is found when the catalog is read.
func TestDamagedPeriods(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	s.SetJournal("delete")
	account, table := declareMonths(t, s)
	over := period.Range{First: 3, Last: 8}
	write(t, s, func(tx *catalog.Tx) error {
		for _, over := range []period.Ranges{nil, period.Of(over, period.Only(10))} {
			if err := tx.Charge(account, over, catalog.KindReleases, "create release r", "r", epsilon(30, 20)); err != nil {
				return err
			}
		}
		if err := tx.AddTemplate(&catalog.Template{Name: "monthly", TableID: table, Using: "projection", Options: []byte(`{}`)}); err != nil {
			return err
		}
		if err := tx.AddRelease(&catalog.Release{Name: "r", TableID: table, Using: "projection", Span: over}, []byte("counts")); err != nil {
			return err
		}
		if err := tx.SetNHat(table, over, catalog.NHat{Value: 9, Law: "law"}); err != nil {
			return err
		}
		return tx.Retire(account, "visits", period.Only(1))
	})
	s.Close()
	raw(t, path, withoutTriggers)
	const ranged, all = 4, 3 // lines of the ledger
	lines := func(change string, seq int) string {
		return fmt.Sprintf(`UPDATE dpsql_ledger SET %s WHERE seq = %d`, change, seq)
	}
	for _, damage := range []string{
		lines(`period_first = 4`, ranged), lines(`period_last = 7`, ranged), lines(`period_last = 9`, ranged),
		lines(`period_first = period_last, period_last = period_first`, ranged),
		lines(`period_first = NULL, period_last = NULL`, ranged), lines(`period_first = NULL`, ranged),
		lines(`period_first = 5, period_last = 5`, all), lines(`period_first = -9223372036854775808, period_last = 9223372036854775806`, all),
		lines(`epsilon = delta, delta = epsilon`, ranged), lines(`epsilon = period_first, period_first = epsilon`, ranged), lines(`seq = 99`, ranged),
		`UPDATE dpsql_ledger SET period_first = 13 - period_first, period_last = 18 - period_last WHERE seq IN (4, 5)`,
		`DELETE FROM dpsql_ledger WHERE seq = (SELECT MAX(seq) FROM dpsql_ledger)`, `DELETE FROM dpsql_ledger WHERE seq = 4`,
		changed("account", "", "$.periods", "NULL"), changed("account", "", "$.periods.since", "4"),
		changed("account", "", "$.periods.retired[0].last", "2"), changed("account", "", "$.periods.zone", "'Paris'"),
		changed("release", "r", "$.periods.last", "9"), changed("release", "r", "$.periods", "NULL"), changed("release", "r", "$.template", "1"),
		changed("template", "monthly", "$.early", "json('true')"),
		without("template", "monthly"), changed("row count", "", "$.periods.last", "9"),
		changed("private table", "raw", "$.period", "'other'"),
	} {
		copied := dbPath(t)
		raw(t, path, `VACUUM INTO '`+copied+`'`)
		raw(t, copied, damage)
		store, err := catalog.Open(t.Context(), copied, catalog.Options{})
		if err == nil {
			err = store.Read(t.Context(), func(tx *catalog.Tx) error {
				for _, read := range []func() error{tx.VerifyLedger, func() error { _, err := tx.Accounts(); return err }, func() error { _, err := tx.Tables(); return err },
					func() error { _, err := tx.Releases(0); return err }, func() error { _, err := tx.Templates(0); return err }} {
					if err := read(); err != nil {
						return err
					}
				}
				return nil
			})
			store.Close()
		}
		if sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s: %v", damage, err)
		}
	}
}

// TestPeriodsAgainstModel charges, gives back and retires at random, and compares each decision
// and the sums with a naive model: an array with an element a period. It has no chance of failing
// without a fault.
func TestPeriodsAgainstModel(t *testing.T) {
	const periods = 12 // the first and the last stand for all that are less and more
	bounds := func(first, last int) period.Range {
		r := period.Range{First: int64(first), Last: int64(last)}
		if first == 0 {
			r.First = math.MinInt64
		}
		if last == periods-1 {
			r.Last = math.MaxInt64
		}
		return r
	}
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 7))
		s := open(t, dbPath(t))
		account, _ := declareMonths(t, s)
		var spent [periods]accounting.Amount
		var retired [periods]bool
		caps := accounting.Caps{}
		read(t, s, func(tx *catalog.Tx) error {
			a, err := tx.Account(account)
			caps = a.Caps
			return err
		})
		for step := range 60 {
			var over period.Ranges
			var in [periods]bool
			for range random.IntN(4) {
				first := random.IntN(periods)
				last := min(first+random.IntN(4), periods-1)
				if random.IntN(10) == 0 {
					first, last = 0, periods-1
				}
				over = append(over, bounds(first, last))
				for n := first; n <= last; n++ {
					in[n] = true
				}
			}
			if len(over) == 0 { // every period
				for n := range in {
					in[n] = true
				}
			}
			amount := epsilon(accounting.Epsilon(random.IntN(200)), accounting.Delta(random.IntN(100)))
			fits, back, gone := true, true, false
			for n := range in {
				if in[n] {
					fits = fits && caps.Fits(spent[n], amount)
					back = back && amount.Epsilon <= spent[n].Epsilon && amount.Delta <= spent[n].Delta
					gone = gone || retired[n]
				}
			}
			give := random.IntN(4) == 0
			err := s.Write(t.Context(), func(tx *catalog.Tx) error {
				if give {
					return tx.Return(account, over, catalog.KindReleases, "return", "r", amount)
				}
				return tx.Charge(account, over, catalog.KindReleases, "create release", "r", amount)
			})
			want := sqlerr.Code("")
			switch {
			case give && !back:
				want = sqlerr.Corrupt
			case give:
			case gone:
				want = sqlerr.Invalid
			case !fits:
				want = sqlerr.Budget
			}
			if sqlerr.CodeOf(err) != want && !(want == "" && err == nil) {
				t.Fatalf("seed %d, step %d: %v over %v (given back: %v): %v, want %q", seed, step, amount, over, give, err, want)
			}
			for n := range in {
				if in[n] && err == nil {
					sign := accounting.Epsilon(1)
					if give {
						sign = -1
					}
					spent[n].Epsilon += sign * amount.Epsilon
					spent[n].Delta += accounting.Delta(sign) * amount.Delta
				}
			}
			if n := 1 + random.IntN(periods-2); random.IntN(20) == 0 {
				retired[n] = true
				write(t, s, func(tx *catalog.Tx) error { return tx.Retire(account, "visits", period.Only(int64(n))) })
			}
		}
		read(t, s, func(tx *catalog.Tx) error {
			sums, err := tx.Spent(account)
			for n := range spent {
				if got := sums.Most(period.Of(bounds(n, n))); got != spent[n] {
					t.Errorf("seed %d: period %d has spent %+v, want %+v", seed, n, got, spent[n])
				}
			}
			if err != nil {
				return err
			}
			return tx.VerifyLedger()
		})
	}
}
