package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/internal/period"
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
	s.SetNow(func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) })
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
				return tx.PutAnswer(&catalog.Answer{TableID: table, Query: catalog.SumOf("age{7: 1}"), Kind: catalog.AnswerDirect, Via: "direct", Estimate: 3})
			},
			func() error {
				return tx.AddSource(&catalog.Source{Name: "warehouse", Kind: catalog.Postgres, DSNEnv: "WAREHOUSE_DSN", Timeout: 30 * time.Second})
			},
			func() error {
				return tx.AddSource(&catalog.Source{Name: "old", Kind: catalog.Postgres, DSNEnv: "OLD_DSN"})
			},
			func() error { return tx.DropSource("old") },
			func() error {
				warehouse, err := tx.Source("warehouse")
				if err != nil {
					return err
				}
				return afar(tx, "visits", warehouse.ID)
			},
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
		m, err := tx.Mechanism("m")
		if err != nil {
			return err
		}
		for i := range int64(3) {
			if _, err := tx.AppendHistory(m.ID, "q", i); err != nil {
				return err
			}
		}
		if err := tx.SetNHat(table, period.All, catalog.NHat{Value: 100, Law: "dlap(1)"}); err != nil {
			return err
		}
		ana, err := tx.User("ana")
		if err != nil {
			return err
		}
		monthly := &catalog.Template{Name: "monthly", TableID: table, Using: "marginals", Options: json.RawMessage(`{"epsilon":"0.4"}`)}
		for _, step := range []func() error{
			func() error { _, err := tx.SetPartition(account, "raw", months()); return err },
			func() error { return tx.Retire(account, "raw", period.Only(1)) },
			func() error {
				return tx.SetNHat(table, period.Only(5), catalog.NHat{Value: 9, Rho: 2, Law: "dgauss(1)"})
			},
			func() error { return tx.AddTemplate(monthly) },
			func() error {
				return tx.AddRelease(&catalog.Release{Name: "monthly[5]", TableID: table, Columns: []int{0, 2}, Using: "marginals", Span: period.Only(5), Template: monthly.ID}, []byte("part"))
			},
			func() error {
				return tx.Grant(ana, &catalog.Table{ID: table, Account: account, Name: "raw"}, catalog.Quota{Rho: 10, Charge: 4})
			},
			func() error { return tx.AddSecret([]byte("of a server")) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	s.Close()
}

func TestMissingRecords(t *testing.T) {
	if _, err := readEverything(open(t, stocked(t))); err != nil {
		t.Fatal(err)
	}
	const freely = `DROP TRIGGER dpsql_history_delete; DROP TRIGGER dpsql_history_update; DROP TRIGGER dpsql_history_insert; `
	for _, damage := range []string{
		without("public table", "icd10"),
		revived("public table", "zips"),
		changed("public table", "icd10", "$.columns", "json('[]')"),
		changed("public table", "icd10", "$.columns[1].name", "'risk'"),
		changed("public table", "icd10", "$.columns[1].step", "'0.05'"),
		changed("public table", "icd10", "$.columns[1].step", "'1e1000000000'"),
		changed("public table", "icd10", "$.columns[1].step", "'-0.1'"),
		changed("public table", "icd10", "$.columns[1].highest", "'2'"),
		changed("public table", "icd10", "$.columns[1].lowest", "'x'"),
		changed("public table", "icd10", "$.columns[1].or_null", "json('true')"),
		changed("public table", "icd10", "$.keys.table", "'patients'"),
		changed("public table", "icd10", "$.keys.column", "'zip'"),
		changed("public table", "icd10", "$.keys", "NULL"),
		without("user", "ana"),
		`UPDATE dpsql_objects SET name = 'eva' WHERE name = 'ana'`,
		`UPDATE dpsql_objects SET name = 'Ana' WHERE name = 'ana'`,
		changed("user", "ana", "$.verifier", "'w'"),
		changed("user", "ana", "$.created_at", "'2020-01-01T00:00:00Z'"),
		revived("user", "bob"),
		dropped("user", "ana"),
		`UPDATE dpsql_objects SET id = 99 WHERE name = 'ana'`,
		`UPDATE dpsql_objects SET kind = 'source' WHERE name = 'ana'`,
		`INSERT INTO dpsql_objects SELECT 99, kind, 'eva', parent, NULL, digest, body FROM dpsql_objects WHERE name = 'ana'`,
		without("source", "warehouse"),
		dropped("source", "warehouse"),
		revived("source", "old"),
		`UPDATE dpsql_objects SET name = 'house' WHERE name = 'warehouse'`,
		changed("source", "warehouse", "$.kind", "''"),
		changed("source", "warehouse", "$.dsn_env", "'OLD_DSN'"),
		changed("source", "warehouse", "$.timeout", "0"),
		changed("source", "warehouse", "$.timeout", "31 + (1 << 60)"),
		changed("source", "warehouse", "$.created_at", "'2020-01-01T00:00:00Z'"),
		changed("account", "", "$.bases[1]", "'others'"),
		changed("account", "", "$.bases", "json('[]')"),
		changed("account", "", "$.unit", "'patient'"),
		changed("account", "", "$.caps.interactive_rho", "301"),
		changed("private table", "visits", "$.source_id", "2"),
		changed("private table", "raw", "$.source_id", "1"),
		changed("column list", "", "$[2].type", "'INTEGER'"),
		changed("column list", "", "$", "json('[]')"),
		changed("column list", "", "$[0].domain", "json('{}')"),
		`UPDATE dpsql_objects SET parent = 5 WHERE kind = 'column list'`,
		`DELETE FROM dpsql_objects WHERE kind = 'column list'`,
		changed("private table", "raw", "$.nhat", "NULL"),
		changed("private table", "raw", "$.nhat.value", "99"),
		`UPDATE dpsql_objects SET parent = NULL WHERE name = 'raw'`,
		dropped("private table", "raw"),
		revived("private table", "gone"),
		without("private table", "visits"),
		dropped("release", "r"),
		revived("release", "s"),
		without("release", "r"),
		changed("release", "r", "$.size", "6"),
		`UPDATE dpsql_objects SET parent = (SELECT id FROM dpsql_objects WHERE name = 'visits') WHERE name = 'r'`,
		dropped("mechanism", "m"),
		revived("mechanism", "n"),
		`UPDATE dpsql_objects SET name = 'k' WHERE name = 'm'`,
		changed("template", "monthly", "$.ever", "json('[]')"),
		without("template", "monthly"),
		changed("row count", "", "$.value", "8"),
		changed("row count", "", "$.periods.last", "6"),
		changed("grant", "", "$.spent", "-1"),
		changed("secret", "", "$.secret", "''"),
		`DELETE FROM dpsql_objects WHERE kind = 'secret'`,
		changed("run counter", "", "$.leased", "json('true')"),
		changed("run counter", "", "$.comparisons", "1"),
		`UPDATE dpsql_objects SET dropped_at = '' WHERE kind = 'run counter'`,
		`DELETE FROM dpsql_objects WHERE kind = 'run counter'`,
		`UPDATE dpsql_objects SET body = body || ' '`,
		`UPDATE dpsql_objects SET digest = zeroblob(32)`,
		freely + `DELETE FROM dpsql_history WHERE seq = 1`,
		freely + `DELETE FROM dpsql_history WHERE seq = 2`,
		freely + `DELETE FROM dpsql_history WHERE seq = 3`,
		freely + `DELETE FROM dpsql_history`,
		freely + `UPDATE dpsql_history SET noisy = 2 - noisy`,
		freely + `INSERT INTO dpsql_history SELECT id, 4, 'q', 0, x'' FROM dpsql_objects WHERE name = 'm'`,
		`DELETE FROM dpsql_answers`,
		`UPDATE dpsql_answers SET table_id = 1`,
		`UPDATE dpsql_answers SET sha256 = zeroblob(32)`,
		`UPDATE dpsql_answers SET id = 7`,
		`DELETE FROM dpsql_answers; DELETE FROM dpsql_rolls`,
		`UPDATE dpsql_answer_counts SET answers = 2`,
		`DELETE FROM dpsql_rolls WHERE name = 'history'`,
		`DELETE FROM dpsql_rolls WHERE name = 'releases'`,
		`DELETE FROM dpsql_rolls WHERE name = 'sources'`,
		`DELETE FROM dpsql_rolls WHERE name = 'run counters'`,
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

// These are statements that damage an object of a kind. The name is "" for objects without one.

func changed(kind, name, path, value string) string {
	return fmt.Sprintf(`UPDATE dpsql_objects SET body = json_set(body, '%s', %s) WHERE kind = '%s' AND COALESCE(name, '') = '%s'`, path, value, kind, name)
}

func dropped(kind, name string) string {
	return fmt.Sprintf(`UPDATE dpsql_objects SET dropped_at = '2020-01-01T00:00:00Z' WHERE kind = '%s' AND name = '%s'`, kind, name)
}

func revived(kind, name string) string {
	return fmt.Sprintf(`UPDATE dpsql_objects SET dropped_at = NULL WHERE kind = '%s' AND name = '%s'`, kind, name)
}

func without(kind, name string) string {
	return fmt.Sprintf(`DELETE FROM dpsql_objects WHERE kind = '%s' AND name = '%s'`, kind, name)
}

// A mechanism that is marked dropped by damage is not taken for one that was.
func TestMissingMechanism(t *testing.T) {
	path := stocked(t)
	byID := func() error {
		return open(t, path).Read(context.Background(), func(tx *catalog.Tx) error { _, err := tx.MechanismByID(99); return err })
	}
	wantCode(t, byID(), sqlerr.Unknown)
	raw(t, path, dropped("mechanism", "m"))
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
		got, err := s.Answers(ctx, 2, c.query)
		if len(got) != c.want || sqlerr.CodeOf(err) != c.code {
			t.Errorf("after %q: %d answers to %s, %v", c.damage, len(got), c.query, err)
		}
		if got := s.Unanswered(ctx, 2, []string{"age{9: 1}", c.query}); got[1] != (c.want == 0 && c.code == "") || got[0] != (c.code != sqlerr.Unsupported) {
			t.Errorf("after %q: it is certain of age{9: 1} and %s that they have no answer: %v", c.damage, c.query, got)
		}
		err = s.Read(ctx, func(tx *catalog.Tx) error {
			for table, want := range map[int64]bool{2: true, 99: false} {
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

// historyOf returns the history of the only mechanism.
func historyOf(tx *catalog.Tx, from int64) ([]catalog.HistoryRow, error) {
	all, err := tx.Mechanisms(0)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return tx.History(all[0].ID, from)
}

// The history is verified from any update on.
func TestHistoryFrom(t *testing.T) {
	path := stocked(t)
	for from, want := range map[int64]int{0: 3, 1: 3, 2: 2, 3: 1, 4: 0} {
		read(t, open(t, path), func(tx *catalog.Tx) error {
			rows, err := historyOf(tx, from)
			if len(rows) != want || want > 0 && rows[0].Seq != max(1, from) {
				t.Errorf("from %d: %v", from, rows)
			}
			return err
		})
	}
	raw(t, path, `DROP TRIGGER dpsql_history_update; UPDATE dpsql_history SET noisy = 9 WHERE seq = 2`)
	for from, want := range map[int64]sqlerr.Code{1: sqlerr.Corrupt, 2: sqlerr.Corrupt, 3: ""} {
		err := open(t, path).Read(context.Background(), func(tx *catalog.Tx) error { _, err := historyOf(tx, from); return err })
		if sqlerr.CodeOf(err) != want {
			t.Errorf("from %d: %v", from, err)
		}
	}
}
