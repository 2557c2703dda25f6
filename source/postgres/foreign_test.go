package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/source"
	"dpsql/sqlerr"
)

// TestForeignTablesOfOneTable declares foreign tables over the same rows: they
// have a base in common, or their rows would have two budgets.
func TestForeignTablesOfOneTable(t *testing.T) {
	pool, conn, _ := spread(t, 0)
	execute(t, conn, "CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'Nowhere', dbname 'd')", "CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'x')",
		"CREATE SERVER again FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'd', port '5432', host 'nowhere', fetch_size '7')", "CREATE USER MAPPING FOR postgres SERVER again OPTIONS (user 'y')",
		"CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'nowhere', dbname 'e')", "CREATE USER MAPPING FOR postgres SERVER elsewhere OPTIONS (user 'x')",
		"CREATE FOREIGN TABLE f1 (p text, x int) SERVER far OPTIONS (schema_name 'public', table_name 'secret')",
		"CREATE FOREIGN TABLE f2 (x int) SERVER far OPTIONS (table_name 'secret', schema_name 'public')",
		"CREATE FOREIGN TABLE secret (y int) SERVER far", "CREATE FOREIGN TABLE f3 (x int) SERVER again OPTIONS (table_name 'secret')", "CREATE VIEW f4 AS SELECT x FROM f3",
		"CREATE FOREIGN TABLE other (x int) SERVER far OPTIONS (table_name 'other')", "CREATE FOREIGN TABLE away (x int) SERVER elsewhere OPTIONS (table_name 'secret')", `CREATE FOREIGN TABLE "public.secret" (x int) SERVER far`,
		"CREATE FOREIGN TABLE alone (id int) SERVER shard OPTIONS (table_name 'part1')")
	bases := func(name string) string {
		t.Helper()
		s, err := check(pool, source.Table{Source: name})
		must(t, err)
		if len(s.Bases) != 1 {
			t.Errorf("%s has the bases %q", name, s.Bases)
		}
		return strings.Join(s.Bases, " ")
	}
	all := make(map[string]string)
	for _, group := range [][]string{{"public.f1", "public.f2", "public.secret", "public.f3", "public.f4"}, {"public.other"}, {"public.away"}, {`public."public.secret"`}, {"public.visits", "public.part0", "public.part1", "public.alone"}} {
		base := bases(group[0])
		if all[base] != "" {
			t.Errorf("%s and %s have the base %s", all[base], group[0], base)
		}
		for _, name := range group {
			all[base] = name
			if also := bases(name); also != base {
				t.Errorf("foreign tables over the same rows, %s and %s, have the bases %s and %s", group[0], name, base, also)
			}
		}
	}
	execute(t, conn, "ALTER TABLE visits DETACH PARTITION part1")
	if bases("public.alone") != bases("public.part1") || bases("public.alone") == bases("public.visits") {
		t.Error("a partition that stands by itself has not the base of its rows")
	}
}

// TestOtherWrappers refuses foreign tables that fail on what their rows are.
func TestOtherWrappers(t *testing.T) {
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
