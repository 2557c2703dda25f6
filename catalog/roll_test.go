package catalog_test

import (
	"context"
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// inTenths is a column of shares from 0 to 1, in tenths.
func inTenths(name string) catalog.PublicColumn {
	steps, err := query.NewSteps(big.NewRat(0, 1), big.NewRat(1, 1), big.NewRat(1, 10), false)
	if err != nil {
		panic(err)
	}
	return catalog.PublicColumn{Name: name, Steps: steps}
}

// stocked makes a catalog with two of everything and a history of three updates. One of
// each two is dropped.
func stocked(t *testing.T) (path string) {
	t.Helper()
	return stock.copy(t, func(path string) { makeStock(t, path) })
}

var stock template

func makeStock(t *testing.T, path string) {
	s := open(t, path)
	account, table := declare(t, s, "raws")
	write(t, s, func(tx *catalog.Tx) error {
		steps := []func() error{
			func() error { return tx.AddPublic("icd10", inTenths("severity"), inTenths("cost")) },
			func() error { return tx.AddPublic("zips", inTenths("risk")) },
			func() error { return tx.AddKeyList(catalog.KeyList{Public: "zips", Table: "visits", Column: "zip"}) },
			func() error { return tx.DropPublic("zips") },
			func() error { return tx.AddKeyList(catalog.KeyList{Public: "icd10", Table: "visits", Column: "code"}) },
			func() error {
				return tx.AddTable(&catalog.Table{Name: "gone", Source: "raws", Columns: clinicColumns(), Account: account, Unit: "patient", MaxRows: 3})
			},
			func() error { return tx.DropTable("gone") },
			func() error { return tx.AddRelease(&catalog.Release{Name: "r", TableID: table}, []byte("payload")) },
			func() error { return tx.AddRelease(&catalog.Release{Name: "s", TableID: table}, nil) },
			func() error { return tx.DropRelease("s") },
			func() error {
				return tx.AddMechanism(&catalog.Mechanism{Name: "m", TableID: table, Rho: 60, RunRho: 3, Updates: 20, Params: json.RawMessage(`{}`)}, []byte("key"))
			},
			func() error { return tx.AddMechanism(&catalog.Mechanism{Name: "n", TableID: table}, nil) },
			func() error { return tx.DropMechanism("n") },
			func() error {
				return tx.PutAnswer(&catalog.Answer{TableID: table, Query: "age{7: 1}", Kind: catalog.AnswerDirect, Via: "direct", Estimate: 3})
			},
			func() error {
				return tx.AddSource(&catalog.Source{Name: "warehouse", Kind: catalog.Postgres, DSNEnv: "WAREHOUSE_DSN", Timeout: 30 * time.Second})
			},
			func() error {
				return tx.AddSource(&catalog.Source{Name: "old", Kind: catalog.Postgres, DSNEnv: "OLD_DSN"})
			},
			func() error { return tx.DropSource("old") },
			func() error { return afar(tx, "visits", 1) },
			func() error { return tx.AddUser(&catalog.User{Name: "ana", Verifier: "v"}) },
			func() error { return tx.AddUser(&catalog.User{Name: "bob", Verifier: "w"}) },
			func() error {
				bob, err := tx.User("bob")
				if err != nil {
					return err
				}
				return tx.DropUser(bob)
			},
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		for i := range int64(3) {
			if _, err := tx.AppendHistory(1, "q", i); err != nil {
				return err
			}
		}
		return tx.SetNHat(table, period.All, catalog.NHat{Value: 100, Law: "dlap(1)"})
	})
	s.Close()
}

func TestMissingRecords(t *testing.T) {
	if _, err := readEverything(open(t, stocked(t))); err != nil {
		t.Fatal(err)
	}
	const freely = `DROP TRIGGER dpsql_history_delete; DROP TRIGGER dpsql_history_update; DROP TRIGGER dpsql_history_insert; `
	for _, damage := range []string{
		`DELETE FROM dpsql_public`,
		`INSERT INTO dpsql_public VALUES ('raws', '')`,
		`DELETE FROM dpsql_public_columns WHERE name = 'cost'`,
		`UPDATE dpsql_public_columns SET step = '0.05' WHERE name = 'cost'`,
		`UPDATE dpsql_public_columns SET step = '1e1000000000' WHERE name = 'cost'`,
		`UPDATE dpsql_public_columns SET step = '-0.1' WHERE name = 'cost'`,
		`UPDATE dpsql_public_columns SET highest = '2' WHERE name = 'cost'`,
		`UPDATE dpsql_public_columns SET lowest = 'x' WHERE name = 'cost'`,
		`UPDATE dpsql_public_columns SET or_null = 1`,
		`UPDATE dpsql_public_columns SET public = 'zips'`,
		`INSERT INTO dpsql_public_columns VALUES ('icd10', 'risk', '0', '1', '0.1', 0)`,
		`DELETE FROM dpsql_key_lists`,
		`INSERT INTO dpsql_key_lists VALUES ('zips', 'visits', 'zip')`,
		`UPDATE dpsql_key_lists SET public = 'zips'`,
		`UPDATE dpsql_key_lists SET table_name = 'patients'`,
		`UPDATE dpsql_key_lists SET column_name = 'zip'`,
		`DELETE FROM dpsql_users WHERE id = 2`,
		`UPDATE dpsql_users SET name = 'eva' WHERE id = 1`,
		`UPDATE dpsql_users SET verifier = 'w' WHERE id = 1`,
		`UPDATE dpsql_users SET created_at = '2020-01-01T00:00:00Z' WHERE id = 1`,
		`UPDATE dpsql_users SET dropped_at = NULL WHERE id = 2`,
		`UPDATE dpsql_users SET dropped_at = created_at WHERE id = 1`,
		`UPDATE dpsql_users SET id = 3 WHERE id = 1`,
		`INSERT INTO dpsql_users SELECT 3, 'eva', verifier, created_at, NULL, digest FROM dpsql_users WHERE id = 1`,
		`DELETE FROM dpsql_bases`,
		`DELETE FROM dpsql_sources WHERE id = 1`,
		`DELETE FROM dpsql_sources WHERE id = 1; UPDATE dpsql_tables SET source_id = NULL`,
		`UPDATE dpsql_sources SET dropped_at = created_at`,
		`UPDATE dpsql_sources SET dropped_at = NULL`,
		`UPDATE dpsql_sources SET name = 'house'`,
		`UPDATE dpsql_sources SET kind = ''`,
		`UPDATE dpsql_sources SET dsn_env = 'OLD_DSN'`,
		`UPDATE dpsql_sources SET timeout = 0`,
		`UPDATE dpsql_sources SET timeout = 31 + (1 << 60)`,
		`UPDATE dpsql_sources SET created_at = '2020-01-01T00:00:00Z'`,
		`UPDATE dpsql_tables SET source_id = 2 WHERE source_id = 1`,
		`UPDATE dpsql_tables SET source_id = NULL WHERE source_id = 1`,
		`UPDATE dpsql_tables SET source_id = 1 WHERE id = 1`,
		`INSERT INTO dpsql_bases VALUES ('others', 1)`,
		`DELETE FROM dpsql_columns WHERE position = 2 AND table_id = 1`,
		`DELETE FROM dpsql_columns WHERE table_id = 1`,
		`UPDATE dpsql_columns SET position = position + 10 WHERE position = 0`,
		`UPDATE dpsql_tables SET dropped_at = created_at WHERE id = 1`,
		`UPDATE dpsql_tables SET dropped_at = NULL`,
		`DELETE FROM dpsql_tables WHERE id = 2`,
		`UPDATE dpsql_tables SET unit = '' WHERE id = 2`,
		`UPDATE dpsql_tables SET nhat = NULL WHERE id = 1`,
		`UPDATE dpsql_releases SET dropped_at = created_at WHERE id = 1`,
		`UPDATE dpsql_releases SET dropped_at = NULL`,
		`DELETE FROM dpsql_releases WHERE id = 1`,
		`UPDATE dpsql_releases SET id = 3 WHERE id = 1`,
		`UPDATE dpsql_mechanisms SET dropped_at = created_at WHERE id = 1`,
		`UPDATE dpsql_mechanisms SET dropped_at = NULL`,
		`UPDATE dpsql_mechanisms SET name = 'k' WHERE id = 1`,
		freely + `DELETE FROM dpsql_history WHERE seq = 1`,
		freely + `DELETE FROM dpsql_history WHERE seq = 2`,
		freely + `DELETE FROM dpsql_history WHERE seq = 3`,
		freely + `DELETE FROM dpsql_history`,
		freely + `UPDATE dpsql_history SET noisy = 2 - noisy`,
		freely + `INSERT INTO dpsql_history VALUES (1, 4, 'q', 0, x'')`,
		`DELETE FROM dpsql_answers`,
		`UPDATE dpsql_answers SET table_id = 2`,
		`UPDATE dpsql_answers SET sha256 = zeroblob(32)`,
		`UPDATE dpsql_answers SET id = 7`,
		`DELETE FROM dpsql_answers; DELETE FROM dpsql_rolls`,
		`UPDATE dpsql_answer_counts SET answers = 2`,
		`DELETE FROM dpsql_rolls WHERE name = 'history'`,
		`DELETE FROM dpsql_rolls WHERE name = 'releases'`,
		`DELETE FROM dpsql_rolls WHERE name = 'sources'`,
		`DELETE FROM dpsql_rolls`,
	} {
		path := stocked(t)
		raw(t, path, damage)
		_, err := readEverything(open(t, path))
		if sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s: %v", damage, err)
		}
	}
}

// A mechanism that is marked dropped by damage is not taken for one that was.
func TestMissingMechanism(t *testing.T) {
	path := stocked(t)
	byID := func() error {
		return open(t, path).Read(context.Background(), func(tx *catalog.Tx) error { _, err := tx.MechanismByID(2); return err })
	}
	wantCode(t, byID(), sqlerr.Unknown)
	raw(t, path, `UPDATE dpsql_mechanisms SET dropped_at = created_at`)
	wantCode(t, byID(), sqlerr.Corrupt)
}

// Answers are found whether or not the file counts them. A missing answer is noticed
// even by the Store that has the file open.
func TestMissingAnswers(t *testing.T) {
	ctx := context.Background()
	s := open(t, stocked(t))
	for _, c := range []struct {
		damage string
		query  string
		want   int
		code   sqlerr.Code
	}{
		{``, "age{7: 1}", 1, ""},
		{``, "age{8: 1}", 0, ""},
		{`DELETE FROM dpsql_answer_counts`, "age{7: 1}", 1, ""},
		{`INSERT INTO dpsql_answer_counts SELECT table_id, sha256, 1 FROM dpsql_answers; DELETE FROM dpsql_answers`, "age{7: 1}", 0, sqlerr.Corrupt},
		{``, "age{8: 1}", 0, ""},
		{`UPDATE dpsql_schema SET version = version + 1`, "age{8: 1}", 0, sqlerr.Unsupported},
	} {
		raw(t, s.Path(), c.damage)
		got, err := s.Answers(ctx, 1, c.query)
		if len(got) != c.want || sqlerr.CodeOf(err) != c.code {
			t.Errorf("after %q: %d answers to %s, %v", c.damage, len(got), c.query, err)
		}
		if got := s.Unanswered(ctx, 1, []string{"age{9: 1}", c.query}); got[1] != (c.want == 0 && c.code == "") || got[0] != (c.code != sqlerr.Unsupported) {
			t.Errorf("after %q: it is certain of age{9: 1} and %s that they have no answer: %v", c.damage, c.query, got)
		}
		err = s.Read(ctx, func(tx *catalog.Tx) error {
			for table, want := range map[int64]bool{1: true, 99: false} {
				if has, err := tx.HasAnswers(table); has != want || err != nil {
					t.Errorf("after %q: table %d has answers: %v, %v", c.damage, table, has, err)
				}
			}
			return nil
		})
		if (err != nil) != (c.code == sqlerr.Unsupported) {
			t.Errorf("after %q: %v", c.damage, err)
		}
	}
}

// The history is verified from any update on.
func TestHistoryFrom(t *testing.T) {
	path := stocked(t)
	for from, want := range map[int64]int{0: 3, 1: 3, 2: 2, 3: 1, 4: 0} {
		read(t, open(t, path), func(tx *catalog.Tx) error {
			rows, err := tx.History(1, from)
			if len(rows) != want || want > 0 && rows[0].Seq != max(1, from) {
				t.Errorf("from %d: %v", from, rows)
			}
			return err
		})
	}
	raw(t, path, `DROP TRIGGER dpsql_history_update; UPDATE dpsql_history SET noisy = 9 WHERE seq = 2`)
	for from, want := range map[int64]sqlerr.Code{1: sqlerr.Corrupt, 2: sqlerr.Corrupt, 3: ""} {
		err := open(t, path).Read(context.Background(), func(tx *catalog.Tx) error { _, err := tx.History(1, from); return err })
		if sqlerr.CodeOf(err) != want {
			t.Errorf("from %d: %v", from, err)
		}
	}
}
