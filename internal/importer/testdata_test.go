package importer_test

import (
	"path/filepath"
	"testing"

	"dpsql/internal/importer"
)

func TestRealFiles(t *testing.T) {
	tests := []struct {
		path, columns string
		rows          int64
		check         string // a query, and
		want          int64  // what it returns
	}{
		{"adult/adult.csv", "age INTEGER, workclass INTEGER, fnlwgt INTEGER, education-num INTEGER, marital-status INTEGER, occupation INTEGER, relationship INTEGER, " +
			"race INTEGER, sex INTEGER, capital-gain INTEGER, capital-loss INTEGER, hours-per-week INTEGER, native-country INTEGER, income>50K INTEGER",
			48_842, `SELECT COUNT(*) FROM t WHERE "income>50K" = 1`, 11_687},
		{"pums/PUMS.csv", "age INTEGER, sex INTEGER, educ INTEGER, race INTEGER, income REAL, married INTEGER", 1000, "SELECT COUNT(*) FROM t WHERE income = 0", 118},
		{"pums/PUMS_pid.csv", "age INTEGER, sex INTEGER, educ INTEGER, race INTEGER, income REAL, married INTEGER, pid INTEGER", 1000, "SELECT COUNT(DISTINCT pid) FROM t", 1000},
	}
	for _, test := range tests {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: filepath.Join("..", "..", "testdata", test.path), Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(r.Columns); got != test.columns || r.Rows != test.rows {
			t.Errorf("%s: %d rows of %s, want %d of %s", test.path, r.Rows, got, test.rows, test.columns)
		}
		var rows, got int64
		if err := db.QueryRow("SELECT COUNT(*), ("+test.check+") FROM t").Scan(&rows, &got); err != nil || rows != test.rows || got != test.want {
			t.Errorf("%s: %d rows, %s gives %d, %v; want %d", test.path, rows, test.check, got, err, test.want)
		}
	}
}

// BenchmarkImport loads Adult, 48,842 rows of 14 columns.
func BenchmarkImport(b *testing.B) {
	b.ReportAllocs()
	db := memory(b)
	for b.Loop() {
		if _, err := imported(b, db, importer.Options{Path: "../../testdata/adult/adult.csv", Table: "t"}); err != nil {
			b.Fatal(err)
		}
		if _, err := db.Exec("DROP TABLE t"); err != nil {
			b.Fatal(err)
		}
	}
}
