package page_test

import (
	"math"
	"math/big"
	"reflect"
	"testing"

	"dpsql/page"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
)

// pictured returns a picture of a public table of one row.
func pictured(row []any) page.Picture {
	p := page.Public{Name: "codes", Rows: 1}
	for i := range row {
		p.Columns = append(p.Columns, page.PublicColumn{Column: around.Column{Name: string(rune('a' + i)), Affinity: "BLOB", Collation: "BINARY"}})
	}
	return page.Picture{Publics: []page.Public{p}}
}

// TestPublicRows: the rows of a public table come back as they were: every kind of value, to the last digit.
func TestPublicRows(t *testing.T) {
	row := []any{nil, int64(math.MinInt64), int64(math.MaxInt64), 2.0, 0.1, math.Inf(-1), math.Copysign(0, -1), "", "null", "a\xff", `{"real":"1"}`, []byte{}, []byte("\x00<")}
	payload, err := page.Rows([][]any{row})
	if err != nil {
		t.Fatal(err)
	}
	desk, err := page.Open(pictured(row), [][]byte{payload})
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	row[len(row)-2], row[len(row)-1] = `X''`, `X'003C'` // as results have them
	got, err := desk.Ask(t.Context(), `SELECT * FROM codes`)
	if err != nil || !reflect.DeepEqual(got.Rows, [][]any{row}) {
		t.Errorf("%#v, %v, want %#v", got, err, row)
	}
	got, err = desk.Ask(t.Context(), `SHOW TABLES`)
	if err != nil || len(got.Rows) != 1 || got.Rows[0][0] != "codes" || got.Rows[0][1] != "public" {
		t.Errorf("%v %v", got, err)
	}
}

// TestPublicDamaged: a payload that is not the rows of its table opens no page.
func TestPublicDamaged(t *testing.T) {
	steps := pictured([]any{nil})
	step, err := query.NewSteps(big.NewRat(0, 1), big.NewRat(1, 1), big.NewRat(1, 2), false)
	if err != nil {
		t.Fatal(err)
	}
	steps.Publics[0].Columns[0].Steps = page.StepsOf(step)
	for payload, p := range map[string]page.Picture{`[]`: pictured([]any{nil}), `[[1, 2]]`: pictured([]any{nil}), `[[1.5]]`: pictured([]any{nil}), `[[{"real": "x"}]]`: pictured([]any{nil}),
		`[[true]]`: pictured([]any{nil}), `x`: pictured([]any{nil}), `[[2]]`: steps, `[[null]]`: steps} {
		if _, err := page.Open(p, [][]byte{[]byte(payload)}); codeOf(t, err) != sqlerr.Corrupt {
			t.Errorf("%s: %v", payload, err)
		}
	}
	if _, err := page.Open(steps, [][]byte{[]byte(`[[1]]`)}); err != nil {
		t.Error(err)
	}
	if _, err := page.Open(steps, nil); codeOf(t, err) != sqlerr.Corrupt {
		t.Error(err)
	}
}
