package render

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"

	"dpsql/engine"
)

// TestParquet writes results and reads them back: the order and the names of columns, their
// types, and NULL.
func TestParquet(t *testing.T) {
	r := &engine.Result{
		Columns: []engine.Column{{Name: "z", Type: "TEXT"}, {Name: "COUNT(*)", Type: "INTEGER"}, {Name: "a b", Type: "REAL"}, {Name: "Z", Type: "INTEGER"},
			{Name: "2", Type: "INTEGER"}, {Name: "", Type: ""}, {Name: "größe", Type: "INTEGER"}, {Name: "nothing", Type: "REAL"}},
		Rows: [][]any{{"x", int64(-3), 2.5, int64(1), 0.5, int64(7), int64(1), nil}, {nil, nil, int64(1), int64(1 << 62), int64(2), "seven", nil, nil}},
	}
	names := []string{"z", "COUNT(*)", "a b", "Z:1", "2", "", "größe", "nothing"}
	kinds := []parquet.Kind{parquet.ByteArray, parquet.Int64, parquet.Double, parquet.Int64, parquet.Double, parquet.ByteArray, parquet.Int64, parquet.Double}
	want := [][]any{{"x", int64(-3), 2.5, int64(1), 0.5, "7", int64(1), nil}, {nil, nil, 1.0, int64(1 << 62), 2.0, "seven", nil, nil}}
	for _, rows := range [][][]any{r.Rows, {}} {
		r.Rows = rows
		var file bytes.Buffer
		if err := Parquet.Rows(&file, r, 0, true); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range f.Root().Columns() {
			if c.Name() != names[i] || len(rows) > 0 && c.Type().Kind() != kinds[i] || !c.Optional() {
				t.Errorf("column %d is %s %v, want %s %v", i, c.Name(), c.Type(), names[i], kinds[i])
			}
		}
		if len(rows) == 0 {
			continue
		}
		read := make([]parquet.Row, 3)
		n, _ := f.RowGroups()[0].Rows().ReadRows(read)
		if n != len(want) {
			t.Fatalf("%d rows, want %d", n, len(want))
		}
		for i, row := range read[:n] {
			for j, v := range row {
				if got := goValue(v); !reflect.DeepEqual(got, want[i][j]) {
					t.Errorf("row %d, %s: %v, want %v", i, names[j], got, want[i][j])
				}
			}
		}
	}
}

func goValue(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case v.Kind() == parquet.Double:
		return v.Double()
	}
	return string(v.ByteArray())
}
