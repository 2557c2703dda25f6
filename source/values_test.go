package source_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

func TestValues(t *testing.T) {
	db := memory(t, "CREATE TABLE codes (c COLLATE NOCASE)", "INSERT INTO codes VALUES ('b'), ('B'), ('a'), ('b'), (7), ('7'), (NULL)",
		"CREATE TABLE numbers (n)", "INSERT INTO numbers VALUES ('10'), (10.0), (9), (' 9 ')", "CREATE VIEW v AS SELECT c AS d FROM codes WHERE c = 'a'",
		"CREATE TABLE bad (n)", "INSERT INTO bad VALUES (1), ('secret')", "CREATE TABLE blobs (c)", "INSERT INTO blobs VALUES (x'61')",
		"CREATE TABLE dpsql_x (c)", "CREATE TABLE empty (c)")
	txt, num := query.Text, query.Int
	tests := []struct {
		table, column string
		ty            query.Type
		limit         int
		want          []query.Value
		code          sqlerr.Code
	}{
		{"codes", "c", query.TypeText, 5, []query.Value{query.Null(), txt("7"), txt("B"), txt("a"), txt("b")}, ""},
		{"Codes", "C", query.TypeText, 4, nil, sqlerr.Invalid},
		{"numbers", "n", query.TypeInteger, 2, []query.Value{num(9), num(10)}, ""},
		{"numbers", "n", query.TypeText, 9, []query.Value{txt(" 9 "), txt("10"), txt("10.0"), txt("9")}, ""},
		{"v", "d", query.TypeText, 1, []query.Value{txt("a")}, ""},
		{"empty", "c", query.TypeText, 1, []query.Value{}, ""},
		{"bad", "n", query.TypeInteger, 9, nil, sqlerr.Invalid},
		{"blobs", "c", query.TypeText, 9, nil, sqlerr.Invalid},
		{"codes", "nosuch", query.TypeText, 9, nil, sqlerr.Unknown},
		{"nosuch", "c", query.TypeText, 9, nil, sqlerr.Unknown},
		{"dpsql_x", "c", query.TypeText, 9, nil, sqlerr.Forbidden},
	}
	for _, test := range tests {
		got, err := source.Values(context.Background(), db, test.table, test.column, test.ty, test.limit)
		if sqlerr.CodeOf(err) != test.code || !slices.Equal(got, test.want) {
			t.Errorf("%s.%s as %v: %v, %v, want %v %s", test.table, test.column, test.ty, got, err, test.want, test.code)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v quotes a value", err)
		}
	}
}
