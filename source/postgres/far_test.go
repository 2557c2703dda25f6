package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"dpsql/internal/pgtest"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// collations are those that a column of a shard has, unknown to the coordinator. The first of
// them takes more than equal bytes as equal, and all but the last order otherwise than bytes.
var collations = []string{"ci", "digits", "icu", "accents", `"C"`}

// apart returns a pool on a coordinator, and connections to it and to two shards, databases of
// one server. The coordinator has a foreign server for each.
func apart(t testing.TB) (*Pool, *pgx.Conn, []*pgx.Conn) {
	t.Helper()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	var has bool
	must(t, conn.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw')").Scan(&has))
	if !has {
		t.Skip("postgres_fdw is missing (apt-get install postgresql-contrib)")
	}
	prepare(t, conn)
	execute(t, conn, "CREATE EXTENSION postgres_fdw")
	var shards []*pgx.Conn
	for i := range 2 {
		name := fmt.Sprintf("%s_%d", strings.ToLower(t.Name()), i)
		dsn, err := pgtest.Shared(t).Database(name, "")
		must(t, err)
		t.Cleanup(func() {
			execute(t, dialled(t, pgtest.Shared(t).DSN()), "DROP DATABASE "+name+" WITH (FORCE)")
		})
		config, err := pgx.ParseConfig(dsn)
		must(t, err)
		execute(t, conn, fmt.Sprintf("CREATE SERVER shard%d FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%d', dbname '%s')", i, config.Host, config.Port, config.Database),
			fmt.Sprintf("CREATE USER MAPPING FOR postgres SERVER shard%d OPTIONS (user 'postgres')", i))
		shard := dialled(t, dsn)
		prepare(t, shard)
		execute(t, shard, "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE COLLATION digits (provider = icu, locale = 'und-u-kn-true', deterministic = false)",
			"CREATE COLLATION accents (provider = icu, locale = 'und-u-ks-level1-kc-true', deterministic = false)", "CREATE COLLATION icu (provider = icu, locale = 'und')")
		shards = append(shards, shard)
	}
	t.Cleanup(pool.Close) // before the databases go
	return pool, conn, shards
}

// move makes the table raw of the coordinator one of foreign tables, over the same rows in both
// shards. Its texts have the collations there that collation chooses, and here those of declared.
func move(t rapid.TB, conn *pgx.Conn, shards []*pgx.Conn, options string, collation, declared func() string) {
	t.Helper()
	columns := func(collation func() string) string {
		found, err := conn.Query(context.Background(), `SELECT quote_ident(attname) || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attcollation <> 0 THEN ' COLLATE ' ELSE '' END
			FROM pg_attribute WHERE attrelid = 'near'::regclass AND attnum > 0 ORDER BY attnum`)
		must(t, err)
		out, err := pgx.CollectRows(found, pgx.RowTo[string])
		must(t, err)
		for i, c := range out {
			if text, ok := strings.CutSuffix(c, " COLLATE "); ok {
				out[i] = text
				if name := collation(); name != "" {
					out[i] = c + name
				}
			}
		}
		return strings.Join(out, ", ") + ", shard int"
	}
	execute(t, conn, "DROP TABLE IF EXISTS near", "ALTER TABLE raw RENAME TO near")
	execute(t, conn, "CREATE TABLE raw ("+columns(declared)+") PARTITION BY LIST (shard)")
	for i, shard := range shards {
		execute(t, shard, "DROP TABLE IF EXISTS raw", "CREATE TABLE raw ("+columns(collation)+")")
		execute(t, conn, fmt.Sprintf("CREATE FOREIGN TABLE raw%d PARTITION OF raw FOR VALUES IN (%d) SERVER shard%d OPTIONS (table_name 'raw'%s)", i, i, i, options))
	}
	execute(t, conn, "INSERT INTO raw SELECT *, row_number() OVER () % "+strconv.Itoa(len(shards))+" FROM near")
	for _, shard := range shards {
		execute(t, shard, "ANALYZE raw")
	}
}

// TestForeignTextsSameAsSQLite compares the reader with SQLite's over the same rows, which are on
// two shards whose texts have any collations. No count depends on them.
func TestForeignTextsSameAsSQLite(t *testing.T) {
	t.Parallel()
	pool, conn, shards := apart(t)
	db := memory(t)
	rapid.Check(t, func(t *rapid.T) {
		s := newScenario(t, db, conn, rapid.Bool().Draw(t, "with unit"))
		shards := shards[:rapid.IntRange(1, 2).Draw(t, "shards")]
		move(t, conn, shards, rapid.SampledFrom([]string{"", ", use_remote_estimate 'true'"}).Draw(t, "options"),
			func() string { return rapid.SampledFrom(collations).Draw(t, "collation") },
			func() string { return rapid.SampledFrom([]string{"", `"C"`, "careless"}).Draw(t, "declared") })
		compare(t, pool, s, source.SQLite(db))
	})
}

// TestForeignTexts has cases in which a shard's collation would let one row, or one unit, count
// for more than is charged.
func TestForeignTexts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, conn, shards := apart(t)
	var spellings []query.Value
	var weights []int64
	for i := range 16 {
		b := []byte("abcd")
		for j := range b {
			b[j] -= byte(i>>j&1) * 32
		}
		spellings, weights = append(spellings, query.Text(string(b))), append(weights, int64(1000+i))
	}
	list, err := query.NewList(query.TypeText, spellings)
	must(t, err)
	ones, err := query.NewRange(0, 1000, false)
	must(t, err)
	columns := []query.Column{{Name: "u", Domain: list}, {Name: "n", Domain: ones}}
	u, err := query.NewUniverse(columns)
	must(t, err)
	sum := query.None(u)
	for i, s := range spellings {
		one, err := query.Where(u, 0, list.SetOf(s)).Times(weights[i])
		must(t, err)
		sum, err = sum.Plus(one)
		must(t, err)
	}
	cases := []struct {
		name, fill string
		unit       string
		q          query.Query
		want       int64
	}{
		{"weights", "SELECT 'abcd', 1 FROM generate_series(1, 100)", "", sum, 100_000},
		{"units", "SELECT chr(65 + i / 20) || chr(97 + i % 20), i FROM generate_series(0, 99) AS i UNION ALL SELECT 'abcd', i FROM generate_series(1, 500) AS i UNION ALL SELECT 'ABCD', i FROM generate_series(1, 500) AS i", "u", query.All(u), 2},
	}
	for _, collation := range collations {
		for _, c := range cases {
			execute(t, conn, "DROP TABLE IF EXISTS raw CASCADE", "CREATE TABLE raw (u text, n int)", "INSERT INTO raw "+c.fill)
			move(t, conn, shards, ", use_remote_estimate 'true'", func() string { return collation }, func() string { return `"C"` })
			table := source.Table{Source: "public.raw", Columns: columns, Unit: c.unit, MaxRows: 1, Key: []byte{1}}
			must(t, pool.Snapshot(ctx, func(reading source.Reader) error {
				r := reading.(*reader)
				if n, err := r.Count(ctx, anyone{}, table, c.q); err != nil || n != c.want {
					t.Errorf("%s, %s: %d rows, want %d, %v", c.name, collation, n, c.want, err)
				}
				if h, err := r.Cells(ctx, anyone{}, table, []int{0}, query.NewCoder(u.Project([]int{0}), [16]byte{}), 1000); err != nil || h.Len() != len(c.unit)+1 {
					t.Errorf("%s, %s: cells %v", c.name, collation, err)
				}
				for _, s := range statementsOver(t, r, table, query.Where(u, 0, list.SetOf(spellings[3]))) {
					sent := strings.Join(asked.FindAllString(explained(t, r, s), -1), "\n")
					if counted := strings.Contains(sent, "count("); c.unit != "" && (counted || strings.Contains(sent, "ORDER BY") || strings.Contains(sent, "GROUP BY") || strings.Contains(sent, "<>")) {
						t.Errorf("%s: a shard is asked to compare by its collation:\n%s", collation, sent)
					} else if !strings.Contains(sent, "ABcd") && (c.unit == "" && !counted || strings.Contains(s.text, " = $")) {
						t.Errorf("%s: a shard is not asked for what it can do:\n%s\n%s", collation, s.text, sent)
					}
				}
				return nil
			}))
		}
	}
}

// asked matches what a plan sends to a shard.
var asked = regexp.MustCompile(`Remote SQL: .*`)

// statementsOver returns the statements that read a table: those that group and count, or those
// that sort units and rank their rows.
func statementsOver(t testing.TB, r *reader, table source.Table, q query.Query) []statement {
	t.Helper()
	rel, err := r.open(context.Background(), table)
	must(t, err)
	rows, err := rowsOf(rel, table)
	must(t, err)
	if table.Unit != "" {
		u, err := rel.unit(table)
		must(t, err)
		return []statement{newPlan(rows, []int{0, 1}).byUnit(rel, u), newPlan(rows.ofUnits(rel, u, q), []int{0, 1}).byUnit(rel, u)}
	}
	count, _, ok := pushed(rows, q)
	if !ok {
		t.Error("the query is not pushed down")
	}
	return []statement{newPlan(rows, []int{0, 1}).statement(), count}
}

// TestJoinedForeignTexts counts the texts that a view joins of foreign tables, where the shard
// compares them by two collations, and so not at all what it joins.
func TestJoinedForeignTexts(t *testing.T) {
	t.Parallel()
	pool, conn, shards := apart(t)
	for i, name := range []string{"here", "there"} {
		execute(t, shards[0], "CREATE TABLE "+name+" (id int, t text COLLATE "+[]string{`"C"`, "icu"}[i]+")", "INSERT INTO "+name+" SELECT i, 'a' FROM generate_series(1, 9) AS i")
		execute(t, conn, "CREATE FOREIGN TABLE "+name+" (id int, t text) SERVER shard0 OPTIONS (use_remote_estimate 'true')")
	}
	execute(t, conn, "CREATE VIEW joined AS SELECT here.id, here.t || there.t AS t FROM here JOIN there ON here.id = there.id")
	list, err := query.NewList(query.TypeText, []query.Value{query.Text("aa"), query.Text("b")})
	must(t, err)
	u, err := query.NewUniverse([]query.Column{{Name: "t", Domain: list}})
	must(t, err)
	table := source.Table{Source: "public.joined", Columns: u.Columns(), Unit: "id", MaxRows: 1, Key: []byte{1}}
	must(t, pool.Snapshot(context.Background(), func(r source.Reader) error {
		for _, q := range []query.Query{query.All(u), query.Where(u, 0, list.SetOf(query.Text("aa")))} {
			if n, err := r.Count(context.Background(), anyone{}, table, q); err != nil || n != 9 {
				t.Errorf("%s: %d of 9, %v", q, n, err)
			}
		}
		return nil
	}))
}

// TestForeignViews checks that a view over foreign tables compares no texts: where the server
// compares them, by which collation, can differ from one statement to the next.
func TestForeignViews(t *testing.T) {
	t.Parallel()
	pool, conn, _ := spread(t, 0)
	execute(t, conn, "CREATE TABLE plain (LIKE visits)")
	for _, c := range []struct {
		view, unit string
		ok         bool
	}{
		{"SELECT id, code FROM %[1]s WHERE age > 3 AND code IS NOT NULL", "", true},
		{"SELECT CASE WHEN octet_length(code) < 3 THEN left(code, 1) || who END AS code FROM %[1]s", "", true},
		{"SELECT a.who, a.id FROM %[1]s AS a JOIN %[1]s AS b ON a.id = b.id", "id", true},
		{"SELECT CASE WHEN code = 'c1' THEN 1 ELSE 2 END AS x FROM %[1]s", "", false},
		{"SELECT CASE code WHEN 'c1' THEN 1 ELSE 2 END AS x FROM %[1]s", "", false},
		{"SELECT id FROM %[1]s WHERE code IN ('c1', 'c2')", "", false},
		{"SELECT id FROM %[1]s WHERE nullif(code, 'a') IS NULL", "", false},
		{"SELECT octet_length(lower(code)) AS x FROM %[1]s", "", false},
		{"SELECT id FROM %[1]s WHERE code LIKE 'c%%'", "", false},
		{"SELECT greatest(code, who) AS x FROM %[1]s", "", false},
		{"SELECT who, count(*) AS n FROM %[1]s GROUP BY who", "who", false},
		{"SELECT DISTINCT who FROM %[1]s", "who", false},
		{"SELECT who FROM %[1]s UNION SELECT who FROM %[1]s", "who", false},
		{"SELECT id, max(code) AS x FROM %[1]s GROUP BY id", "id", false},
		{"SELECT a.who FROM %[1]s AS a JOIN %[1]s AS b ON a.who = b.who", "who", false},
		{"SELECT who FROM %[1]s WHERE who IN (SELECT who FROM %[1]s)", "who", false},
	} {
		for _, of := range []string{"plain", "visits"} {
			execute(t, conn, "DROP VIEW IF EXISTS v", "CREATE VIEW v AS "+fmt.Sprintf(c.view, of))
			_, err := check(pool, source.Table{Source: "public.v", Unit: c.unit, MaxRows: 1, Key: []byte{1}})
			if want := c.ok || of == "plain"; want && err != nil || !want && sqlerr.CodeOf(err) != sqlerr.Unsupported {
				t.Errorf("%s of %s: %v", c.view, of, err)
			}
		}
	}
}
