package catalog_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestLimits(t *testing.T) {
	limited, closed, both := catalog.Limits{MaxCharge: 100}, catalog.Limits{BuyOff: true}, catalog.Limits{MaxCharge: 100, BuyOff: true}
	for _, c := range []struct {
		limits      catalog.Limits
		by          catalog.Principal
		taken, cost accounting.Rho
		want        sqlerr.Code
	}{
		{catalog.Limits{}, catalog.Analyst, 1 << 40, 1 << 40, ""},
		{limited, catalog.Analyst, 0, 100, ""},
		{limited, catalog.Analyst, 0, 101, sqlerr.Budget},
		{limited, catalog.Curator, 0, 101, sqlerr.Budget},
		{limited, catalog.Analyst, 60, 40, ""},
		{limited, catalog.Analyst, 60, 41, sqlerr.Budget},
		{limited, catalog.Analyst, 100, 0, ""},
		{limited, catalog.Analyst, 101, 0, sqlerr.Budget},
		{limited, catalog.Analyst, 1<<63 - 1, 1<<63 - 1, sqlerr.Budget},
		{closed, catalog.Curator, 0, 1 << 40, ""},
		{closed, catalog.Analyst, 0, 1, sqlerr.Forbidden},
		{closed, catalog.Analyst, 0, 0, sqlerr.Forbidden},
		{both, catalog.Curator, 0, 101, sqlerr.Budget},
		{both, catalog.Analyst, 0, 1, sqlerr.Forbidden},
	} {
		if err := c.limits.Check(catalog.Buyer{Principal: c.by, Taken: c.taken}, c.cost); sqlerr.CodeOf(err) != c.want {
			t.Errorf("{%v}, %s after %d: %d gives %v, want %q", c.limits, c.by, c.taken, c.cost, err, c.want)
		}
	}
	for want, l := range map[string]catalog.Limits{"": {}, "max_charge = 1e-13": limited, "buy = off": closed, "max_charge = 1e-13, buy = off": both} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A purchase is checked against the limits of its own transaction. It writes one line
// into the ledger. A refused purchase writes none.
func TestBuy(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	buy := func(by catalog.Buyer, off, prepaid accounting.Rho) error {
		return s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Buy(by, catalog.Payment{Account: account, Action: "direct answer", Object: "raw", Rho: off, Prepaid: prepaid})
		})
	}
	set := func(l catalog.Limits) {
		t.Helper()
		write(t, s, func(tx *catalog.Tx) error { return tx.SetLimits(account, "raw", l) })
	}
	lines := func() (all []catalog.Entry) {
		t.Helper()
		read(t, s, func(tx *catalog.Tx) (err error) {
			if err = tx.VerifyLedger(); err == nil {
				all, err = tx.Ledger()
			}
			return err
		})
		return all
	}
	analyst := catalog.Buyer{Principal: catalog.Analyst}
	if err := buy(analyst, 10, 0); err != nil {
		t.Fatal(err)
	}
	set(catalog.Limits{MaxCharge: 20})
	wantCode(t, buy(analyst, 21, 0), sqlerr.Budget)
	wantCode(t, buy(analyst, 0, 21), sqlerr.Budget)
	wantCode(t, buy(analyst, 11, 10), sqlerr.Budget)
	wantCode(t, buy(catalog.Buyer{Principal: catalog.Curator, Taken: 15}, 6, 0), sqlerr.Budget)
	if err := buy(catalog.Buyer{Principal: catalog.Analyst, Taken: 5}, 5, 10); err != nil {
		t.Fatal(err)
	}
	set(catalog.Limits{MaxCharge: 20, BuyOff: true})
	set(catalog.Limits{MaxCharge: 20, BuyOff: true}) // says nothing new
	wantCode(t, buy(analyst, 1, 0), sqlerr.Forbidden)
	wantCode(t, buy(analyst, 0, 1), sqlerr.Forbidden)
	if err := buy(catalog.Buyer{Principal: catalog.Curator}, 1, 0); err != nil {
		t.Fatal(err)
	}
	set(catalog.Limits{})
	if err := buy(analyst, 21, 0); err != nil {
		t.Fatal(err)
	}
	var said []string
	var spent accounting.Rho
	for _, e := range lines()[1:] {
		said = append(said, e.Action)
		spent += e.Amount.Rho
	}
	want := "direct answer; limits set: max_charge = 2e-14; direct answer; limits set: max_charge = 2e-14, buy = off; direct answer; limits lifted; direct answer"
	if got := strings.Join(said, "; "); got != want || spent != 10+5+1+21 {
		t.Errorf("the ledger has %s, ρ = %d in all\nwant %s", got, spent, want)
	}
}

// Limits are kept, and other Stores see them. An account whose limits are lifted has the digest
// that it had before.
func TestLimitsAreKept(t *testing.T) {
	path := dbPath(t)
	s, other := open(t, path), open(t, path)
	account, _ := declare(t, s, "raws")
	second, _ := declare(t, s, "others")
	limits := catalog.Limits{MaxCharge: 7, BuyOff: true}
	var before string
	digest := func() (text string) {
		t.Helper()
		read(t, s, func(tx *catalog.Tx) error {
			return tx.SQL().QueryRowContext(context.Background(), `SELECT hex(digest) FROM dpsql_objects WHERE id = ?`, account).Scan(&text)
		})
		return text
	}
	of := func(store *catalog.Store, id int64) (l catalog.Limits) {
		t.Helper()
		read(t, store, func(tx *catalog.Tx) error {
			a, err := tx.Account(id)
			l = a.Limits
			return err
		})
		return l
	}
	before = digest()
	write(t, s, func(tx *catalog.Tx) error { return tx.SetLimits(account, "raw", limits) })
	for _, store := range []*catalog.Store{s, other, open(t, path)} {
		if got := of(store, account); got != limits || of(store, second) != (catalog.Limits{}) {
			t.Errorf("limits %v", got)
		}
	}
	if digest() == before {
		t.Error("the checksum does not cover the limits")
	}
	write(t, other, func(tx *catalog.Tx) error { return tx.SetLimits(account, "raw", catalog.Limits{}) })
	if digest() != before || of(s, account) != (catalog.Limits{}) {
		t.Error("an account without limits is not as it was")
	}
}

// Purchases that race with a change of the limits pass by one or the other.
func TestBuyAndSetLimitsRace(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, _ := declare(t, s, "raws")
	var wg sync.WaitGroup
	for range 4 {
		store := open(t, path)
		wg.Go(func() {
			for i := range 10 {
				err := store.Write(context.Background(), func(tx *catalog.Tx) error {
					return tx.Buy(catalog.Buyer{Principal: catalog.Analyst}, catalog.Payment{Account: account, Action: "direct answer", Object: "raw", Rho: 1})
				})
				if code := sqlerr.CodeOf(err); code != "" && code != sqlerr.Forbidden {
					t.Errorf("purchase %d: %v", i, err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 10 {
			err := s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.SetLimits(account, "raw", catalog.Limits{BuyOff: i%2 == 0}) })
			if err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	closed := false
	read(t, s, func(tx *catalog.Tx) error {
		all, err := tx.Ledger()
		for _, e := range all {
			switch {
			case strings.HasPrefix(e.Action, "limits"):
				closed = e.Action != "limits lifted"
			case closed && e.Amount.Rho > 0:
				t.Errorf("line %d was bought while buy = off", e.Seq)
			}
		}
		return err
	})
}

// TestAgreement: what was agreed bounds the purchases of a statement from all accounts together. What one of them took so far
// counts once, and reserves of mechanisms count.
func TestAgreement(t *testing.T) {
	s := open(t, dbPath(t))
	one, _ := declare(t, s, "raws")
	agreed := &catalog.Agreement{Most: 20}
	buy := func(account int64, taken, rho, prepaid accounting.Rho) error {
		return s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Buy(catalog.Buyer{Principal: catalog.Analyst, Taken: taken, Agreed: agreed}, catalog.Payment{Account: account, Action: "direct answer", Object: "raw", Rho: rho, Prepaid: prepaid})
		})
	}
	wantCode(t, buy(one, 0, 21, 0), sqlerr.Budget)
	wantCode(t, buy(one, 0, 10, 11), sqlerr.Budget)
	for _, err := range []error{buy(one, 0, 10, 0), buy(one, 10, 3, 2), agreed.Check(one, 20), agreed.Check(one+1, 5)} {
		if err != nil {
			t.Error(err)
		}
	}
	wantCode(t, buy(one, 15, 6, 0), sqlerr.Budget)
	wantCode(t, agreed.Check(one+1, 6), sqlerr.Budget)
	if err := (*catalog.Agreement)(nil).Check(one, 1<<40); err != nil {
		t.Error(err)
	}
}
