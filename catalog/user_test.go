package catalog_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

// The users of a catalog that granted makes, and one whom no catalog has.
const ana, bob, nobody = 4, 5, 99

// granted makes a catalog whose user ana may take a quota of 10 through the private
// table visits, 4 with one statement. A grant to bob was revoked.
func granted(t *testing.T) (path string, s *catalog.Store, account, table int64) {
	t.Helper()
	path = dbPath(t)
	s = open(t, path)
	account, table = declare(t, s, "raws")
	write(t, s, func(tx *catalog.Tx) error {
		ana, bob, visits := &catalog.User{Name: "ana", Verifier: "v"}, &catalog.User{Name: "bob", Verifier: "w"}, &catalog.Table{ID: table, Account: account, Name: "visits"}
		for _, step := range []error{tx.AddUser(ana), tx.AddUser(bob), tx.Grant(ana, visits, catalog.Quota{Rho: 10, Charge: 4}),
			tx.Grant(bob, visits, catalog.Quota{Rho: 5}), tx.Revoke(bob, visits)} {
			if step != nil {
				return step
			}
		}
		return nil
	})
	return path, s, account, table
}

func TestUserNames(t *testing.T) {
	s := open(t, dbPath(t))
	add := func(name string) error {
		return s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddUser(&catalog.User{Name: name, Verifier: "v"}) })
	}
	for _, name := range []string{"ana", "Eva Müller", strings.Repeat("x", 63)} {
		if err := add(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "ANA", strings.Repeat("x", 64), strings.Repeat("ü", 32), "a\nb", "a\xff", "Public", "none", "PG_read_all_data", "Curator", "dpsql"} {
		want := sqlerr.Invalid
		if name == "ANA" {
			want = sqlerr.Exists
		}
		wantCode(t, add(name), want)
	}
}

// Ids of users are never used again, and neither is what another user of the name spent.
func TestDroppedUser(t *testing.T) {
	_, s, account, table := granted(t)
	buy := func(user int64, rho accounting.Rho) error {
		return s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Buy(catalog.Buyer{Principal: catalog.Analyst, User: user}, catalog.Payment{Account: account, Table: table, Action: "direct answer", Object: "visits", Rho: rho})
		})
	}
	if err := buy(ana, 4); err != nil {
		t.Fatal(err)
	}
	write(t, s, func(tx *catalog.Tx) error {
		ana, err := tx.User("Ana")
		if err != nil {
			return err
		}
		if err := tx.DropUser(ana); err != nil {
			return err
		}
		return tx.AddUser(&catalog.User{Name: "ana", Verifier: "x"})
	})
	wantCode(t, buy(ana, 1), sqlerr.Forbidden)
	wantCode(t, buy(8, 1), sqlerr.Forbidden)
	read(t, s, func(tx *catalog.Tx) error {
		ana, err := tx.User("ana")
		if err != nil || ana == nil || ana.ID != 8 {
			t.Errorf("ana is %+v", ana)
		}
		return err
	})
}

// A purchase takes from the quota and from the account, or from neither.
func TestQuota(t *testing.T) {
	_, s, account, table := granted(t)
	state := func() (spent, left accounting.Rho) {
		read(t, s, func(tx *catalog.Tx) error {
			all, err := tx.Grants()
			if err != nil || len(all) != 1 {
				t.Fatalf("grants %+v, %v", all, err)
			}
			sum, err := tx.MostSpent(account)
			spent, left = sum.Rho, all[0].Left()
			if spent != all[0].Spent {
				t.Errorf("the account has spent %v, and the user %v", spent, all[0].Spent)
			}
			return err
		})
		return spent, left
	}
	buy := func(user int64, p catalog.Payment, taken accounting.Rho) error {
		p.Account, p.Action, p.Object = account, "direct answer", "visits"
		return s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Buy(catalog.Buyer{Principal: catalog.Analyst, User: user, Taken: taken}, p)
		})
	}
	for _, c := range []struct {
		user, table int64
		rho, taken  accounting.Rho
		want        sqlerr.Code
		left        accounting.Rho
	}{
		{ana, table, 4, 0, "", 6},
		{ana, table, 5, 0, sqlerr.Budget, 6}, // one statement
		{ana, table, 3, 2, sqlerr.Budget, 6},
		{ana, table, 2, 2, "", 4},
		{ana, table + 1, 1, 0, sqlerr.Forbidden, 4},
		{bob, table, 1, 0, sqlerr.Forbidden, 4}, // revoked
		{nobody, table, 1, 0, sqlerr.Forbidden, 4},
		{ana, table, 4, 0, "", 0},
		{ana, table, 1, 0, sqlerr.Budget, 0},
	} {
		err := buy(c.user, catalog.Payment{Table: c.table, Rho: c.rho}, c.taken)
		if sqlerr.CodeOf(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
		if _, left := state(); left != c.left {
			t.Errorf("%+v: %v is left", c, left)
		}
	}
	read(t, s, func(tx *catalog.Tx) error {
		lines, err := tx.Ledger()
		if last := lines[len(lines)-1]; last.Action != "direct answer for ana" || last.Amount.Rho != 4 {
			t.Errorf("the last line is %+v", last)
		}
		return err
	})
	// A table that is granted again goes on with what was spent.
	regrant := func(q catalog.Quota) {
		write(t, s, func(tx *catalog.Tx) error {
			u, err := tx.User("ana")
			if err != nil {
				return err
			}
			visits := &catalog.Table{ID: table, Account: account, Name: "visits"}
			if err := tx.Revoke(u, visits); err != nil {
				return err
			}
			return tx.Grant(u, visits, q)
		})
	}
	regrant(catalog.Quota{Rho: 12})
	if _, left := state(); left != 2 {
		t.Errorf("%v is left after a new grant", left)
	}
	regrant(catalog.Quota{Rho: 3})
	wantCode(t, buy(ana, catalog.Payment{Table: table, Rho: 1}, 0), sqlerr.Budget)
	// What is stored is bounded, and what would pass the bound takes nothing. A new grant goes on with it.
	regrant(catalog.Quota{Rho: 100})
	for _, c := range []struct {
		bytes int64
		want  sqlerr.Code
		left  accounting.Rho
	}{{catalog.MaxStored + 1, sqlerr.Budget, 90}, {catalog.MaxStored - 1, "", 89}, {2, sqlerr.Budget, 89}, {1, "", 88}, {1, sqlerr.Budget, 88}, {0, "", 87}} {
		regrant(catalog.Quota{Rho: 100})
		if err := buy(ana, catalog.Payment{Table: table, Rho: 1, Bytes: c.bytes}, 0); sqlerr.CodeOf(err) != c.want {
			t.Errorf("%d bytes more: %v", c.bytes, err)
		}
		if _, left := state(); left != c.left {
			t.Errorf("after %d bytes more %v is left, want %v", c.bytes, left, c.left)
		}
	}
	regrant(catalog.Quota{})
	wantCode(t, buy(ana, catalog.Payment{Table: table, Rho: 1}, 0), sqlerr.Forbidden)
	wantCode(t, buy(ana, catalog.Payment{Table: table}, 0), sqlerr.Forbidden)
}

// What a mechanism has reserved is not taken from the account again, and is taken from the
// quota of the user who starts the run. The account's cap binds whatever the quotas are, and
// then nothing is taken from a quota.
func TestQuotaAndAccount(t *testing.T) {
	_, s, account, table := granted(t)
	var cap accounting.Rho
	grant := func(q catalog.Quota) {
		write(t, s, func(tx *catalog.Tx) error {
			a, err := tx.Account(account)
			if err != nil {
				return err
			}
			cap = a.Caps.InteractiveRho
			u, err := tx.User("ana")
			if err != nil {
				return err
			}
			return tx.Grant(u, &catalog.Table{ID: table, Account: account, Name: "visits"}, q)
		})
	}
	grant(catalog.Quota{})
	grant(catalog.Quota{Rho: 4 * cap})
	buy := func(p catalog.Payment) error {
		p.Account, p.Table = account, table
		return s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Buy(catalog.Buyer{Principal: catalog.Analyst, User: ana}, p)
		})
	}
	if err := buy(catalog.Payment{Prepaid: cap}); err != nil {
		t.Fatal(err)
	}
	err := buy(catalog.Payment{Rho: cap + 1})
	if wantCode(t, err, sqlerr.Budget); strings.Contains(err.Error(), "raws") || !strings.Contains(err.Error(), "the table's budget") {
		t.Error(err)
	}
	if err := buy(catalog.Payment{Rho: cap}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, buy(catalog.Payment{Rho: 1}), sqlerr.Budget)
	read(t, s, func(tx *catalog.Tx) error {
		all, err := tx.Grants()
		if err == nil && (all[0].Spent != 2*cap || all[0].Left() != 2*cap) {
			t.Errorf("spent %v of %v", all[0].Spent, all[0].Quota.Rho)
		}
		return err
	})
}

// A dropped table takes its grants with it, and a later one of the name has none.
func TestGrantsOfADroppedTable(t *testing.T) {
	_, s, account, _ := granted(t)
	write(t, s, func(tx *catalog.Tx) error {
		tables, err := tx.Tables()
		if err != nil {
			return err
		}
		if err := tx.DropTable(tables[0].Name); err != nil {
			return err
		}
		again := tables[0]
		again.Account = account
		return tx.AddTable(&again)
	})
	read(t, s, func(tx *catalog.Tx) error {
		all, err := tx.Grants()
		if len(all) > 0 {
			t.Errorf("grants %+v", all)
		}
		return err
	})
}

// granting is a statement that changes a field of the grant to a user.
func granting(user, path, value string) string {
	return fmt.Sprintf(`UPDATE dpsql_objects SET body = json_set(body, '%s', %s) WHERE kind = 'grant'
		AND body ->> '$.user' = (SELECT id FROM dpsql_objects WHERE kind = 'user' AND name = '%s')`, path, value, user)
}

func TestDamagedGrants(t *testing.T) {
	for _, damage := range []string{
		granting("ana", "$.quota.rho", "11"),
		granting("ana", "$.quota.charge", "0"),
		granting("ana", "$.spent", "-1"),
		granting("ana", "$.stored", "1"),
		granting("ana", "$.user", "7"),
		granting("bob", "$.revoked_at", "NULL"),
		granting("ana", "$.revoked_at", "'2020-01-01T00:00:00Z'"),
		granting("ana", "$.granted_at", "'2020-01-01T00:00:00Z'"),
		`UPDATE dpsql_objects SET parent = 1 WHERE kind = 'grant'`,
		`DELETE FROM dpsql_objects WHERE id = (SELECT MIN(id) FROM dpsql_objects WHERE kind = 'grant')`,
		`DELETE FROM dpsql_objects WHERE id = (SELECT MAX(id) FROM dpsql_objects WHERE kind = 'grant')`,
		`DELETE FROM dpsql_objects WHERE kind = 'grant'`,
		changed("user", "ana", "$.verifier", "'w'"),
	} {
		path, s, account, table := granted(t)
		raw(t, path, damage)
		if _, err := readEverything(s); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s: read with %v", damage, err)
		}
		err := s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Buy(catalog.Buyer{Principal: catalog.Analyst, User: ana}, catalog.Payment{Account: account, Table: table, Rho: 1})
		})
		if sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s: bought with %v", damage, err)
		}
	}
}
