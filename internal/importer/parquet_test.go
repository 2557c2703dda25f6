package importer_test

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"dpsql/internal/importer"
	"dpsql/internal/scratch"
	"dpsql/internal/seeds"
	"dpsql/sqlerr"
)

func TestMain(m *testing.M) {
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

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

// TestParquetTypes reads the types that other programs write, from a column of one value and
// one NULL.
func TestParquetTypes(t *testing.T) {
	fixed := func(b ...byte) parquet.Value { return parquet.FixedLenByteArrayValue(b) }
	noon := int64(12 * time.Hour)
	for _, test := range []struct {
		name       string
		node       parquet.Node
		value      parquet.Value
		typ, wrote string
	}{
		{"decimal in 32 bits", parquet.Decimal(2, 8, parquet.Int32Type), parquet.Int32Value(-1250), "REAL", "-12.5"},
		{"decimal in 64 bits", parquet.Decimal(1, 18, parquet.Int64Type), parquet.Int64Value(3), "REAL", "0.3"},
		{"decimal in fixed bytes", parquet.Decimal(2, 10, parquet.FixedLenByteArrayType(5)), fixed(0xff, 0xff, 0xff, 0xff, 0xfe), "REAL", "-0.02"},
		{"decimal in bytes", parquet.Decimal(3, 38, parquet.ByteArrayType), parquet.ByteArrayValue([]byte{1, 0}), "REAL", "0.256"},
		{"decimal of no bytes", parquet.Decimal(3, 38, parquet.ByteArrayType), parquet.ByteArrayValue(nil), "REAL", "0.0"},
		{"whole decimal", parquet.Decimal(0, 9, parquet.Int32Type), parquet.Int32Value(7), "INTEGER", "7"},
		{"whole decimal of 38 digits", parquet.Decimal(0, 38, parquet.FixedLenByteArrayType(16)), fixed(append(make([]byte, 15), 42)...), "INTEGER", "42"},
		{"large decimal", parquet.Decimal(0, 38, parquet.ByteArrayType), parquet.ByteArrayValue([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0}), "TEXT", "'18446744073709551616'"},
		{"INT96", parquet.Leaf(parquet.Int96Type), parquet.Int96Value(deprecated.Int96{uint32(noon & 0xffffffff), uint32(noon >> 32), 2440589}), "TEXT", "'1970-01-02 12:00:00'"},
		{"INT96 before 1970", parquet.Leaf(parquet.Int96Type), parquet.Int96Value(deprecated.Int96{5e8, 0, 2440587}), "TEXT", "'1969-12-31 00:00:00.5'"},
		{"UUID", parquet.UUID(), fixed([]byte("0123456789abcdef")...), "TEXT", "'30313233-3435-3637-3839-616263646566'"},
		{"NULL", parquet.Leaf(parquet.NullType), parquet.NullValue(), "TEXT", "NULL"},
		{"time in milliseconds", parquet.Time(parquet.Millisecond), parquet.Int32Value(45_296_500), "TEXT", "'12:34:56.5'"},
		{"time in microseconds", parquet.Time(parquet.Microsecond), parquet.Int64Value(45_296_000_000), "TEXT", "'12:34:56'"},
		{"time in nanoseconds", parquet.TimeAdjusted(parquet.Nanosecond, false), parquet.Int64Value(noon), "TEXT", "'12:00:00'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			w := parquet.NewWriter(&b, parquet.NewSchema("t", parquet.Group{"x": parquet.Optional(test.node)}))
			defined := 1
			if test.value.IsNull() {
				defined = 0
			}
			_, err := w.WriteRows([]parquet.Row{{test.value.Level(0, defined, 0)}, {parquet.NullValue().Level(0, 0, 0)}})
			if err := cmp.Or(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			db := memory(t)
			r, err := imported(t, db, importer.Options{Path: write(t, "x.parquet", b.String()), Table: "x"})
			if err != nil {
				t.Fatal(err)
			}
			got := contents(t, db, "x", r.Columns)
			if r.Columns[0].Type != test.typ || !slices.Equal(got, []string{test.wrote, "NULL"}) {
				t.Errorf("%s %q, want %s %s", r.Columns[0].Type, got, test.typ, test.wrote)
			}
		})
	}
}

// TestParquetLeavesOut reads a file with columns that cannot be taken before, between and
// behind others.
func TestParquetLeavesOut(t *testing.T) {
	type row struct {
		A []int64
		B int64
		C struct{ D, E string }
		F *string `parquet:",optional"`
		G map[string]int64
		H [3]byte
		L int64 `parquet:"b"`
	}
	text := "f"
	db := memory(t)
	path := write(t, "rows.parquet", string(parquetBytes(t, row{A: []int64{1, 2, 3}, B: 4, F: &text, G: map[string]int64{"x": 1, "y": 2}}, row{B: 5})))
	r, err := imported(t, db, importer.Options{Path: path, Table: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, db, "x", r.Columns), []string{"4 'f' 0", "5 NULL 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want := []string{"column 7 has the name of another, and is called b_2", "column A is left out: it is nested", "column C is left out: it is nested", "column G is left out: it is nested",
		"column H is left out: it has type FIXED_LEN_BYTE_ARRAY(3)"}
	if !slices.Equal(r.Notes, want) {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestParquetFiles reads files of old programs.
func TestParquetFiles(t *testing.T) {
	for _, test := range []struct{ file, query, want string }{
		{"fees", `SELECT COUNT(*) || ' ' || SUM(fee) FROM t`, "200 3475.0"},
		{"stamps", `SELECT COUNT(at) || ' ' || MIN(at) FROM t`, "200 2024-01-01 00:00:00"},
	} {
		db := memory(t)
		path := filepath.Join("..", "..", "testdata", "reports", test.file+".parquet")
		if _, err := imported(t, db, importer.Options{Path: path, Table: "t"}); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := db.QueryRow(test.query).Scan(&got); err != nil || got != test.want {
			t.Errorf("%s: %s, %v; want %s", test.file, got, err, test.want)
		}
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
	for name, test := range map[string]struct {
		content []byte
		code    sqlerr.Code
	}{
		"nested":   {parquetBytes(t, nested{}), sqlerr.Unsupported},
		"repeated": {parquetBytes(t, repeated{[]int64{1}}), sqlerr.Unsupported},
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
	for range 150 {
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
