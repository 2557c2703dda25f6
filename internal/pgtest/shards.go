package pgtest

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// Shards is a coordinator whose tables are partitioned over other clusters, by foreign
// tables of postgres_fdw. The coordinator holds no rows and can read the catalogs of
// the shards. It logs the plan of each statement, with what it sends to the shards.
type Shards struct {
	*Cluster            // the coordinator
	Shard    []*Cluster // the clusters that hold the rows
	Link     []*Proxy   // the proxy between the coordinator and each shard
}

// Sharded starts a coordinator and n shards for one test. It skips the test if
// PostgreSQL or its package of contributed modules is missing.
func Sharded(t testing.TB, n int) *Shards {
	t.Helper()
	clusters := startAll(t, 1+n)
	s := &Shards{Cluster: clusters[0], Shard: clusters[1:]}
	if s.MustExec(t, "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") == "0" {
		t.Skip("postgres_fdw is missing (apt-get install postgresql-contrib)")
	}
	s.MustExec(t, `CREATE EXTENSION postgres_fdw; LOAD 'auto_explain'; ALTER SYSTEM SET enable_partitionwise_aggregate = on;
		ALTER SYSTEM SET session_preload_libraries = 'auto_explain'; ALTER SYSTEM SET auto_explain.log_min_duration = 0;
		ALTER SYSTEM SET auto_explain.log_verbose = on; SELECT pg_reload_conf()`)
	for i, shard := range s.Shard {
		link := shard.Proxy(t)
		s.MustExec(t, fmt.Sprintf(`CREATE SERVER shard%d FOREIGN DATA WRAPPER postgres_fdw
				OPTIONS (host '%s', port '5432', dbname 'postgres', fetch_size '5000', batch_size '1000', async_capable 'true');
			CREATE USER MAPPING FOR postgres SERVER shard%d OPTIONS (user 'postgres'); CREATE SCHEMA catalog%d;
			IMPORT FOREIGN SCHEMA pg_catalog LIMIT TO (pg_class, pg_namespace, pg_inherits) FROM SERVER shard%d INTO catalog%d`, i, link.folder, i, i, i, i))
		s.Link = append(s.Link, link)
	}
	return s
}

// Create creates a table on the coordinator. The columns are written as in "a text, b
// integer". A hash of the key spreads the rows over the shards.
func (s *Shards) Create(t testing.TB, table, columns, key string) {
	t.Helper()
	s.MustExec(t, fmt.Sprintf("CREATE TABLE %s (%s) PARTITION BY HASH (%s)", table, columns, key))
	for i, shard := range s.Shard {
		shard.MustExec(t, fmt.Sprintf("CREATE TABLE %s (%s)", table, columns))
		s.MustExec(t, fmt.Sprintf(`CREATE FOREIGN TABLE %s_%d PARTITION OF %s
			FOR VALUES WITH (MODULUS %d, REMAINDER %d) SERVER shard%d OPTIONS (table_name '%s')`,
			table, i, table, len(s.Shard), i, i, table))
	}
}

// Fill appends the records of a CSV file with a header to a table made by Create.
func (s *Shards) Fill(t testing.TB, table string, csv io.Reader) {
	t.Helper()
	// INSERT sends rows in batches, and COPY sends them one by one.
	s.MustExec(t, fmt.Sprintf("CREATE TABLE arriving (LIKE %s)", table))
	if err := s.Copy("arriving", csv); err != nil {
		t.Fatal(err)
	}
	s.Generate(t, table, "SELECT * FROM arriving")
	s.MustExec(t, "DROP TABLE arriving")
}

// Generate appends the rows of a query on the coordinator to a table made by Create.
func (s *Shards) Generate(t testing.TB, table, query string) {
	t.Helper()
	s.MustExec(t, fmt.Sprintf("INSERT INTO %s %s", table, query))
	s.Analyze(t, table)
}

// Analyze collects the planner's statistics for a table made by Create.
func (s *Shards) Analyze(t testing.TB, table string) {
	t.Helper()
	for _, shard := range s.Shard {
		shard.MustExec(t, "ANALYZE "+table)
	}
	s.MustExec(t, "ANALYZE "+table)
}

// Explain returns the coordinator's plan of a statement, with what it sends to the
// shards.
func (s *Shards) Explain(t testing.TB, statement string) string {
	t.Helper()
	return s.MustExec(t, "EXPLAIN (VERBOSE, COSTS OFF) "+strings.TrimSuffix(statement, ";"))
}
