package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/internal/pgtest"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// loop makes a foreign table of integers over a table of the same server that
// has others.
func loop(t testing.TB) *Pool {
	t.Helper()
	pool, conn, _ := spread(t, 0)
	far := dialled(t, strings.Replace(pgtest.Shared(t).DSN(), "dbname=postgres", "dbname="+strings.ToLower(t.Name())+"_shard", 1))
	execute(t, far, "CREATE TABLE halves (p text, x numeric)", "INSERT INTO halves VALUES ('whole', 1), ('half', 1.5)")
	execute(t, conn, "CREATE FOREIGN TABLE halves (p text, x int) SERVER shard", "CREATE TABLE sound (p text, x int)", "CREATE VIEW seen AS SELECT * FROM halves")
	return pool
}

// TestUnfitRowIsToldOnce reads a foreign table of which a row does not fit: a
// statement that meets the row fails, and none is tried again.
func TestUnfitRowIsToldOnce(t *testing.T) {
	ctx := context.Background()
	pool := loop(t)
	number, err := query.NewList(query.TypeInteger, []query.Value{query.Int(0), query.Int(1), query.Int(2)})
	must(t, err)
	table := source.Table{Columns: []query.Column{{Name: "p", Domain: query.Unbounded()}, {Name: "x", Domain: number}}}
	u, err := query.NewUniverse(table.Columns)
	must(t, err)
	cells := func(name string) error {
		table.Source = "public." + name
		return pool.Snapshot(ctx, func(r source.Reader) error {
			if _, err := r.Check(ctx, table); err != nil {
				return err
			}
			_, err := r.Cells(ctx, anyone{}, table, []int{0, 1}, query.NewCoder(u, [16]byte{}), 10)
			return err
		})
	}
	must(t, cells("sound"))
	first := cells("halves")
	fails(t, first, sqlerr.Invalid, "1.5", "half")
	_, again := check(pool, source.Table{Source: "public.halves"})
	if again == nil || again.Error() != first.Error() {
		t.Errorf("at first %v, later %v", first, again)
	}
	_, err = check(pool, source.Table{Source: "public.seen"})
	fails(t, err, sqlerr.Invalid)
	must(t, cells("sound"))
}

// TestErrorsOfRowsAreOne gives every error that can depend on a row the same
// words.
func TestErrorsOfRowsAreOne(t *testing.T) {
	for _, state := range []string{"0A000", "21000", "22003", "22012", "22P02", "22021", "23514", "2F005", "38000", "39000", "42804", "42883", "42P22", "42601", "44000", "P0001", "P0003", "XX000"} {
		err := &pgconn.PgError{Code: state, Message: "hunter2"}
		if f := faultOf(context.Background(), err); f != faultRow || !ofRow(err) {
			t.Errorf("%s is %v", state, f)
		}
	}
	for _, state := range []string{"", "08006", "25006", "28000", "3D000", "40001", "42501", "53200", "54001", "57014", "57P01", "58030", "XX001"} {
		err := &pgconn.PgError{Code: state}
		if f := faultOf(context.Background(), err); f == faultRow || ofRow(err) {
			t.Errorf("%s is said to depend on a row", state)
		}
	}
}
