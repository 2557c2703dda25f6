package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpsql/internal/pgtest"
	"dpsql/source"
	"dpsql/sqlerr"
)

// TestForeignTablesOfOneTable declares foreign tables over the same rows: they
// have a base in common, or their rows would have two budgets.
func TestForeignTablesOfOneTable(t *testing.T) {
	t.Parallel()
	pool, conn, _ := spread(t, 0)
	execute(t, conn, "CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'Nowhere', dbname 'd')", "CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'x')",
		"CREATE SERVER again FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'd', port '5432', host 'nowhere', fetch_size '7')", "CREATE USER MAPPING FOR postgres SERVER again OPTIONS (user 'y')",
		"CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'nowhere', dbname 'e')", "CREATE USER MAPPING FOR postgres SERVER elsewhere OPTIONS (user 'x')",
		"CREATE FOREIGN TABLE f1 (p text, x int) SERVER far OPTIONS (schema_name 'public', table_name 'secret')",
		"CREATE FOREIGN TABLE f2 (x int) SERVER far OPTIONS (table_name 'secret', schema_name 'public')",
		"CREATE FOREIGN TABLE secret (y int) SERVER far", "CREATE FOREIGN TABLE f3 (x int) SERVER again OPTIONS (table_name 'secret')", "CREATE VIEW f4 AS SELECT x FROM f3",
		"CREATE FOREIGN TABLE other (x int) SERVER far OPTIONS (table_name 'other')", "CREATE FOREIGN TABLE away (x int) SERVER elsewhere OPTIONS (table_name 'secret')", `CREATE FOREIGN TABLE "public.secret" (x int) SERVER far`,
		"CREATE FOREIGN TABLE alone (id int) SERVER shard OPTIONS (table_name 'part1')")
	schemas := make(map[string]source.Schema)
	groups := [][]string{{"public.f1", "public.f2", "public.secret", "public.f3", "public.f4", "public.other", `public."public.secret"`}, {"public.away"}, {"public.visits", "public.part0", "public.part1", "public.alone"}}
	for _, name := range slices.Concat(groups...) {
		s, err := check(pool, source.Table{Source: name})
		must(t, err)
		if len(s.Notes) == 0 {
			t.Errorf("%s: nothing is said of the database that all share a budget of", name)
		}
		schemas[name] = s
	}
	for i, group := range groups {
		for j, other := range groups {
			for _, a := range group {
				for _, b := range other {
					if got := shares(schemas[a], schemas[b]); got != (i == j) {
						t.Errorf("%s and %s share a budget: %v; their bases are %q and %q", a, b, got, schemas[a], schemas[b])
					}
				}
			}
		}
	}
}

// shares reports whether what is declared after another source has its account.
func shares(first, then source.Schema) bool {
	return overlap(append(slices.Clone(first.Bases), first.Also...), append(slices.Clone(then.Bases), then.Others()...))
}

// TestForeignCatalogs reads the catalog of another database by foreign tables over it,
// and the catalog of this database by a foreign server that leads back to it. Tables
// with the same rows have one account there, and other tables have their own.
func TestForeignCatalogs(t *testing.T) {
	t.Parallel()
	pool, conn, _ := spread(t, 0)
	config, err := pgx.ParseConfig(pgtest.Shared(t).DSN())
	must(t, err)
	config.Database = strings.ToLower(t.Name()) + "_shard"
	far, err := pgx.ConnectConfig(context.Background(), config)
	must(t, err)
	t.Cleanup(func() { far.Close(context.Background()) })
	execute(t, far, "CREATE TABLE whole (x int) PARTITION BY LIST (x)", "CREATE TABLE leaf PARTITION OF whole DEFAULT", "CREATE TABLE plain (x int)", "CREATE VIEW seen AS SELECT x FROM plain",
		"CREATE TABLE heir () INHERITS (plain)", "CREATE TABLE guarded (x int)", "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY", "CREATE TABLE other (x int)")
	execute(t, conn, fmt.Sprintf("CREATE SERVER back FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '5432', dbname '%s')", config.Host, strings.ToLower(t.Name())), "CREATE USER MAPPING FOR postgres SERVER back OPTIONS (user 'postgres')",
		"CREATE TABLE mine (x int)", "CREATE VIEW glass AS SELECT x FROM mine", "CREATE FOREIGN TABLE mirror (x int) SERVER back OPTIONS (table_name 'mine')", "CREATE FOREIGN TABLE lens (x int) SERVER back OPTIONS (table_name 'glass')",
		"CREATE FOREIGN TABLE names (oid oid) SERVER shard OPTIONS (schema_name 'pg_catalog', table_name 'pg_class')")
	for _, name := range []string{"whole", "leaf", "plain", "seen", "heir", "guarded", "other"} {
		execute(t, conn, fmt.Sprintf("CREATE FOREIGN TABLE %s (x int) SERVER shard", name))
	}
	schema := func(name string) source.Schema {
		t.Helper()
		s, err := check(pool, source.Table{Source: "public." + name})
		must(t, err)
		return s
	}
	one := func(a, b string, want bool) {
		t.Helper()
		if got := shares(schema(a), schema(b)); got != want {
			t.Errorf("%s and %s share a budget: %v; their bases are %v and %v", a, b, got, schema(a), schema(b))
		}
	}
	one("plain", "seen", true)
	one("plain", "other", true)
	unread := schema("seen")
	_, err = check(pool, source.Table{Source: "public.names"})
	fails(t, err, sqlerr.Forbidden)
	execute(t, conn, "DROP FOREIGN TABLE names", "CREATE SCHEMA shard_catalog", "IMPORT FOREIGN SCHEMA pg_catalog LIMIT TO (pg_class, pg_namespace, pg_inherits) FROM SERVER shard INTO shard_catalog")
	if notes := schema("plain").Notes; len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{{"whole", "leaf", true}, {"plain", "heir", true}, {"plain", "other", false}, {"plain", "whole", false}, {"visits", "plain", false}, {"visits", "part0", true}, {"mine", "mirror", true}, {"mirror", "plain", false}} {
		one(c.a, c.b, c.same)
	}
	for _, name := range []string{"seen", "guarded", "lens"} {
		_, err := check(pool, source.Table{Source: "public." + name})
		fails(t, err, sqlerr.Unsupported)
	}
	if !shares(unread, schema("plain")) || !shares(unread, schema("other")) {
		t.Error("a budget from before the catalog could be read is not found again")
	}
	execute(t, conn, "DROP SCHEMA shard_catalog CASCADE", "CREATE SCHEMA shard_catalog", "CREATE FOREIGN TABLE shard_catalog.pg_class (oid oid) SERVER shard OPTIONS (schema_name 'pg_catalog')", "CREATE FOREIGN TABLE shard_catalog.pg_namespace (oid oid) SERVER shard OPTIONS (schema_name 'pg_catalog')",
		"CREATE FOREIGN TABLE shard_catalog.pg_inherits (inhrelid oid) SERVER shard OPTIONS (schema_name 'pg_catalog')")
	_, err = check(pool, source.Table{Source: "public.plain"})
	fails(t, err, sqlerr.Invalid)
}

// TestOtherWrappers checks that foreign tables whose reading can fail on their rows are
// refused.
func TestOtherWrappers(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	if _, err := conn.Exec(context.Background(), "CREATE EXTENSION file_fdw"); err != nil {
		t.Skip("file_fdw is missing (apt-get install postgresql-contrib)")
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(path, []byte("1\nx\n"), 0o600))
	execute(t, conn, "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw", fmt.Sprintf("CREATE FOREIGN TABLE lines (x int) SERVER files OPTIONS (filename '%s', format 'csv')", path), "CREATE VIEW seen AS SELECT x FROM lines",
		"CREATE TABLE whole (x int) PARTITION BY LIST (x)", fmt.Sprintf("CREATE FOREIGN TABLE part PARTITION OF whole DEFAULT SERVER files OPTIONS (filename '%s', format 'csv')", path), "CREATE TABLE parent (x int)",
		fmt.Sprintf("CREATE FOREIGN TABLE heir () INHERITS (parent) SERVER files OPTIONS (filename '%s', format 'csv')", path), "CREATE TABLE none (x int)")
	for _, name := range []string{"lines", "seen", "whole", "part", "parent", "heir"} {
		_, err := check(pool, source.Table{Source: "public." + name})
		fails(t, err, sqlerr.Unsupported)
	}
	_, err := check(pool, source.Table{Source: "public.none"})
	must(t, err)
}
