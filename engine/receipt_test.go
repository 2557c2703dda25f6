package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// onRows calls do with a snapshot of a table.
func onRows(t *testing.T, s *engine.Session, table *view.Table, do func(*rows.Snapshot)) {
	t.Helper()
	err := s.DB().Rows().OnSnapshot(context.Background(), table, func(sn *rows.Snapshot) error {
		do(sn)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readings are all ways to read private rows of a snapshot.
func readings(sn *rows.Snapshot, paid *pay.Receipt) map[string]error {
	ctx, t := context.Background(), sn.Table()
	all, columns := query.All(t.Universe), []int{0, 1}
	out := make(map[string]error)
	_, out["CountAll"] = sn.CountAll(ctx, paid)
	_, out["Count"] = sn.Count(ctx, paid, all, nil, all)
	_, _, out["Counts of one"] = sn.Counts(ctx, paid, []query.Query{all}, nil)
	_, _, out["Counts of two"] = sn.Counts(ctx, paid, []query.Query{all, query.None(t.Universe)}, nil)
	_, _, out["Counts of units"] = sn.Counts(ctx, paid, nil, []query.Query{all})
	_, out["Cells"] = sn.Cells(ctx, paid, columns, query.NewCoder(t.Over(columns), [16]byte{}), math.MaxInt, false, nil)
	_, out["Keys"] = sn.Keys(ctx, paid, 0)
	out["CountPairs"] = sn.CountPairs(ctx, paid, columns, []smw.Table{})
	return out
}

// unpaid checks that every way to read rows is refused with the given reason.
func unpaid(t *testing.T, name string, sn *rows.Snapshot, paid *pay.Receipt, why string) {
	t.Helper()
	for reading, err := range readings(sn, paid) {
		if sqlerr.CodeOf(err) != sqlerr.Internal || !strings.Contains(err.Error(), why) {
			t.Errorf("%s, %s: %v, want %q", name, reading, err, why)
		}
	}
}

// TestReceiptsPayOnce tries each wrong use of a receipt. None reads a row.
func TestReceiptsPayOnce(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE PRIVATE TABLE ages (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99) FROM raw_admissions
		WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table, other := v.Private("ages"), v.Private("admissions")
	build := func(sn *rows.Snapshot) *pay.Receipt {
		paid, err := s.DB().Desk().Build(t.Context(), &pay.Bill{}, sn, catalog.KindReleases, "test", "test", accounting.Amount{Epsilon: 1})
		if err != nil {
			t.Fatal(err)
		}
		return paid
	}
	answer := func(sn *rows.Snapshot) *pay.Receipt {
		paid, err := s.DB().Desk().Answers(t.Context(), &pay.Bill{}, []pay.Snapshot{sn}, s.Asker().Buyers, func(*catalog.Tx) ([]*catalog.Payment, error) {
			return []*catalog.Payment{{Account: table.Account, Action: "test", Object: "test", Rho: 1}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return paid[0]
	}
	run := func(sn *rows.Snapshot) *pay.Receipt {
		paid, err := s.DB().Desk().StartRun(t.Context(), sn, s.Asker().Buyers.Of(table.Account), catalog.Payment{Account: table.Account, Action: "test", Prepaid: 1},
			func(*catalog.Tx) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return paid
	}
	kinds := map[string]func(*rows.Snapshot) *pay.Receipt{"build": build, "answer": answer, "run": run}

	var gone *rows.Snapshot
	kept := make(map[string]*pay.Receipt)
	onRows(t, s, table, func(sn *rows.Snapshot) {
		gone = sn
		unpaid(t, "no receipt", sn, nil, "nothing was paid")
		unpaid(t, "an empty receipt", sn, &pay.Receipt{}, "nothing was paid")
		for kind, pays := range kinds {
			kept[kind] = pays(sn)
			onRows(t, s, other, func(sn *rows.Snapshot) {
				unpaid(t, kind+" for another table", sn, kept[kind], "another table was paid for")
			})
			onRows(t, s, table, func(sn *rows.Snapshot) {
				if kind != "run" { // each comparison of a run has its own snapshot
					unpaid(t, kind+" for another snapshot", sn, kept[kind], "another snapshot was paid for")
				}
			})
		}
		once := answer(sn)
		if n, err := sn.CountAll(t.Context(), once); err != nil || n != 4000 {
			t.Errorf("the answer that was paid for is %d: %v", n, err)
		}
		unpaid(t, "an answer's second use", sn, once, "the answer was paid for once")
		for _, kind := range []string{"build", "run"} { // these allow several readings
			for reading, err := range readings(sn, kept[kind]) {
				if units := reading == "Counts of units"; units && !strings.Contains(fmt.Sprint(err), "no units to count") || !units && err != nil {
					t.Errorf("%s, %s: %v", kind, reading, err)
				}
			}
		}
		kept["run"].End()
		unpaid(t, "a run that ended", sn, kept["run"], "what was paid for is over")
	})
	unpaid(t, "a snapshot that is over", gone, kept["build"], "the snapshot is over")
}

// TestNoiseIsPaidFor asks for the noise of receipts: there is none without a payment, while
// the charge may still wait, and after the end.
func TestNoiseIsPaidFor(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	none := func(name string, paid *pay.Receipt, why string) {
		t.Helper()
		if _, err := paid.Noise(); sqlerr.CodeOf(err) != sqlerr.Internal || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", name, err, why)
		}
	}
	some := func(name string, paid *pay.Receipt) {
		t.Helper()
		if _, err := paid.Noise(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	none("no receipt", nil, "nothing was paid")
	none("an empty receipt", &pay.Receipt{}, "nothing was paid")
	desk := s.DB().Desk()
	for _, curator := range []bool{true, false} {
		bill := &pay.Bill{Quota: !curator, Statement: "test"}
		onRows(t, s, v.Private("admissions"), func(sn *rows.Snapshot) {
			charge := func() *pay.Receipt {
				paid, err := desk.Build(t.Context(), bill, sn, catalog.KindReleases, "test", "test", accounting.Amount{Epsilon: 1})
				if err != nil {
					t.Fatal(err)
				}
				return paid
			}
			paid := charge()
			inside := func() error {
				if curator {
					none("a charge that may wait", paid, "the charge may still wait")
				} else {
					some("a charge that never waits", paid)
				}
				return nil
			}
			if err := desk.Read(t.Context(), bill, paid, inside); err != nil {
				t.Fatal(err)
			}
			some("rows that were read", paid)
			paid.End()
			none("an end", paid, "what was paid for is over")
			if paid = charge(); desk.Read(t.Context(), bill, paid, func() error { return errors.New("interrupted") }) == nil {
				t.Error("an interrupted reading is none")
			}
			if curator {
				none("a charge that waits", paid, "what was paid for is over")
			}
		})
	}
}

// TestTheDoorOfSource reads rows past package rows: with no permit, no receipt, and one
// that is not open for a reading of that table. All are refused.
func TestTheDoorOfSource(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := v.Private("admissions")
	var paid *pay.Receipt
	onRows(t, s, table, func(sn *rows.Snapshot) {
		if paid, err = s.DB().Desk().Build(t.Context(), &pay.Bill{}, sn, catalog.KindReleases, "test", "test", accounting.Amount{Epsilon: 1}); err != nil {
			t.Fatal(err)
		}
		elsewhere := table.Rows()
		elsewhere.Source = "icd10"
		err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
			from := source.SQLite(tx.SQL())
			try := func(name string, p source.Permit, rows source.Table, why string) {
				t.Helper()
				_, counted := from.Count(t.Context(), p, rows, query.All(table.Universe))
				_, celled := from.Cells(t.Context(), p, rows, []int{0}, query.NewCoder(table.Over([]int{0}), [16]byte{}), math.MaxInt)
				_, listed := from.Keys(t.Context(), p, rows, 0)
				for _, err := range []error{counted, celled, listed} {
					if sqlerr.CodeOf(err) != sqlerr.Internal || !strings.Contains(err.Error(), why) {
						t.Errorf("%s: %v, want %q", name, err, why)
					}
				}
			}
			try("no permit", nil, table.Rows(), "there is no permit")
			try("no receipt", (*pay.Receipt)(nil), table.Rows(), "nothing was paid")
			try("an empty receipt", &pay.Receipt{}, table.Rows(), "nothing was paid")
			try("a receipt that is not open", paid, table.Rows(), "the receipt is not open")
			done, err := paid.Open(sn)
			if err != nil {
				return err
			}
			try("a receipt for another table", paid, elsewhere, "another table was paid for")
			done()
			try("a receipt that was closed", paid, table.Rows(), "the receipt is not open")
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestNoChargeWithoutItsRecord: where what a charge is for cannot be stored, nothing is charged and there is
// no receipt.
func TestNoChargeWithoutItsRecord(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	full := sqlerr.New(sqlerr.IO, "the disk is full")
	for _, try := range []struct {
		what string
		pay  func(*rows.Snapshot, func(*catalog.Tx) error) (*pay.Receipt, error)
	}{
		{"a run", func(sn *rows.Snapshot, store func(*catalog.Tx) error) (*pay.Receipt, error) {
			return s.DB().Desk().StartRun(t.Context(), sn, &catalog.Buyer{Principal: catalog.Curator},
				catalog.Payment{Account: sn.Table().Account, Action: "run", Object: "m", Rho: 1000}, store)
		}},
		{"a reserve", func(sn *rows.Snapshot, store func(*catalog.Tx) error) (*pay.Receipt, error) {
			return nil, s.DB().Desk().Reserve(t.Context(), sn, "m", 1000, store)
		}},
	} {
		before := ledger(t, s)
		v, err := s.DB().View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		onRows(t, s, v.Tables[0], func(sn *rows.Snapshot) {
			if paid, err := try.pay(sn, func(*catalog.Tx) error { return full }); sqlerr.CodeOf(err) != full.Code || paid != nil {
				t.Errorf("%s: %v, %v", try.what, paid, err)
			}
		})
		if after := ledger(t, s); after != before {
			t.Errorf("%s: the ledger is\n%s\nafter\n%s", try.what, after, before)
		}
	}
}

// TestNoRunToResume: there is no receipt for a run of a mechanism that is gone, that has no run open, or
// whose table is another one.
func TestNoRunToResume(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE TABLE raw_others AS SELECT sex, age FROM raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE others (age INTEGER BETWEEN 0 AND 99) FROM raw_others WITH (epsilon = 4, delta = 1e-6)`)
	must(t, s, `CREATE MECHANISM m ON admissions (sex) USING SMW WITH (epsilon = 1, max_updates = 3)`)
	err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
		v, err := view.Read(tx)
		if err != nil {
			return err
		}
		m := v.Mechanisms[0]
		for _, table := range v.Tables {
			for _, id := range []int64{m.ID, m.ID + 1, 0} {
				if paid, err := s.DB().Desk().ResumeRun(tx, table, id); paid != nil || (err != nil) != (id != m.ID) {
					t.Errorf("%s, mechanism %d: %v, %v", table.Name, id, paid, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSmallestRowCount: a hundredth of a budget counts the rows as soon as it is one unit of ρ or ε.
func TestSmallestRowCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about accounting.Amount
		pays  bool
	}{{accounting.Amount{Rho: 100}, true}, {accounting.Amount{Rho: 99}, false}, {accounting.Amount{Epsilon: 100}, true}, {accounting.Amount{Epsilon: 99}, false}, {accounting.Amount{}, false}} {
		cost, left, law, err := pay.RowCountPrice(c.about, 1)
		if (err == nil) != c.pays || c.pays && (law == nil || cost.Rho+left.Rho != c.about.Rho || cost.Epsilon+left.Epsilon != c.about.Epsilon) {
			t.Errorf("%+v: %+v and %+v left, %v, %v", c.about, cost, left, law, err)
		}
	}
}
