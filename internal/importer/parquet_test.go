package importer_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"dpsql/internal/importer"
	"dpsql/internal/seeds"
	"dpsql/sqlerr"
)

// visit has a column of every supported kind.
type visit struct {
	Age   int32     `parquet:"age"`
	Big   int64     `parquet:"big"`
	Small uint32    `parquet:"small"`
	Huge  uint64    `parquet:"huge"`
	Sex   *string   `parquet:"sex,optional"`
	Cost  float64   `parquet:"cost"`
	Ratio float32   `parquet:"ratio"`
	Dead  bool      `parquet:"dead"`
	On    int32     `parquet:"on,date"`
	At    time.Time `parquet:"at,timestamp(millisecond)"`
}

func parquetBytes[T any](t testing.TB, rows ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquet(t *testing.T) {
	female := "F"
	at := time.Date(2011, 5, 31, 23, 59, 58, 7e6, time.UTC)
	path := write(t, "visits.parquet", string(parquetBytes(t,
		visit{-1, 1 << 60, 1 << 31, 1 << 63, &female, 0.1, 0.5, true, 365, at},
		visit{Sex: nil, Dead: false, At: time.Unix(0, 0)})))
	db := memory(t)
	r, err := imported(t, db, importer.Options{Path: path, Table: "visits"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(r.Columns), "age INTEGER, big INTEGER, small INTEGER, huge TEXT, sex TEXT, cost REAL, ratio REAL, dead INTEGER, on TEXT, at TEXT"; got != want || r.Rows != 2 {
		t.Errorf("%d rows of %s", r.Rows, got)
	}
	want := []string{
		"-1 1152921504606846976 2147483648 '9223372036854775808' 'F' 0.1 0.5 1 '1971-01-01' '2011-05-31 23:59:58.007'",
		"0 0 0 '0' NULL 0.0 0.0 0 '1970-01-01' '1970-01-01 00:00:00'",
	}
	if got := contents(t, db, "visits", r.Columns); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if r, err := imported(t, db, importer.Options{Path: path, Table: "visits", Append: true}); err != nil || r.Rows != 2 {
		t.Errorf("appended %d rows, %v", r.Rows, err)
	}
}

func TestParquetInManyBatches(t *testing.T) {
	type row struct{ N int64 }
	rows := make([]row, 3*importer.ParquetBatch+17)
	for i := range rows {
		rows[i].N = int64(i)
	}
	db := memory(t)
	var last int64
	path := write(t, "n.parquet", string(parquetBytes(t, rows...)))
	r, err := imported(t, db, importer.Options{Path: path, Table: "n", Progress: func(done, all int64) { last = all - done }})
	if err != nil || r.Rows != int64(len(rows)) || last != 0 {
		t.Fatalf("%d of %d rows, %d left, %v", r.Rows, len(rows), last, err)
	}
	var sum, distinct int64
	if err := db.QueryRow(`SELECT SUM(N), COUNT(DISTINCT N) FROM n`).Scan(&sum, &distinct); err != nil || sum != r.Rows*(r.Rows-1)/2 || distinct != r.Rows {
		t.Errorf("sum %d of %d, %v", sum, distinct, err)
	}
}

func TestParquetRefusals(t *testing.T) {
	type nested struct{ A struct{ B int64 } }
	type repeated struct{ A []int64 }
	type twice struct {
		A int64 `parquet:"a"`
		B int64 `parquet:"A"`
	}
	for name, test := range map[string]struct {
		content []byte
		code    sqlerr.Code
	}{
		"nested":   {parquetBytes(t, nested{}), sqlerr.Unsupported},
		"repeated": {parquetBytes(t, repeated{[]int64{1}}), sqlerr.Unsupported},
		"twice":    {parquetBytes(t, twice{}), sqlerr.Invalid},
		"csv":      {[]byte("a,b\n1,2\n"), sqlerr.Invalid},
		"empty":    {nil, sqlerr.Invalid},
	} {
		_, err := imported(t, memory(t), importer.Options{Path: write(t, name+".parquet", string(test.content)), Table: "x"})
		if sqlerr.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
	if _, err := imported(t, memory(t), importer.Options{Path: "no.parquet", Table: "x"}); sqlerr.CodeOf(err) != sqlerr.IO {
		t.Errorf("no file: %v", err)
	}
}

// TestDamagedParquet reads damaged files. Each is refused or read, and none panics.
func TestDamagedParquet(t *testing.T) {
	female := "F"
	rows := make([]visit, 200)
	for i := range rows {
		rows[i] = visit{Age: int32(i % 90), Big: int64(i), Sex: &female, Cost: float64(i) / 3, At: time.Unix(int64(i), 0)}
	}
	sound := parquetBytes(t, rows...)
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "visits.parquet")
	for range 300 {
		damaged := slices.Clone(sound)
		for range 1 + random.IntN(4) {
			damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := imported(t, memory(t), importer.Options{Path: path, Table: "visits"})
		switch sqlerr.CodeOf(err) {
		case "", sqlerr.Invalid, sqlerr.Unsupported:
		default:
			t.Fatalf("%v", err)
		}
	}
}
