package server

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"dpsql/query"
)

// TestValues encodes values in both formats and has pgx's types read them, and has pgx's types
// write them and decodes that.
func TestValues(t *testing.T) {
	m := pgtype.NewMap()
	random := rand.New(rand.NewPCG(17, 0))
	check := func(v any, oid uint32) {
		t.Helper()
		text, err := column{oid: oid}.appendValue(nil, v, pgproto3.TextFormat)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := column{oid: oid}.appendValue(nil, v, pgproto3.BinaryFormat)
		if err != nil {
			t.Fatalf("%v as %d: %v", v, oid, err)
		}
		typ, _ := m.TypeForOID(oid)
		a, err := typ.Codec.DecodeDatabaseSQLValue(m, oid, pgproto3.TextFormat, text)
		if err != nil {
			t.Fatalf("%q as %d: %v", text, oid, err)
		}
		b, err := typ.Codec.DecodeDatabaseSQLValue(m, oid, pgproto3.BinaryFormat, raw)
		if err != nil {
			t.Fatalf("%x as %d: %v", raw, oid, err)
		}
		if at, ok := a.(time.Time); ok {
			if !at.Equal(b.(time.Time)) {
				t.Errorf("%v as %d: %v in text, %v in binary", v, oid, a, b)
			}
		} else if a != b {
			t.Errorf("%v as %d: %v in text, %v in binary", v, oid, a, b)
		}
		one, err := decode(oid, string(text))
		if err != nil {
			t.Fatal(err)
		}
		two, err := decode(oid, raw)
		if err != nil {
			t.Fatal(err)
		}
		if one != two && oid != oidFloat8 { // whose texts may have an exponent
			t.Errorf("%v as %d comes back as %v and %v", v, oid, one, two)
		}
	}
	for range 300 {
		n := random.Int64() >> random.IntN(64)
		check(n, oidInt8)
		check(-n, oidInt8)
		f := math.Float64frombits(random.Uint64())
		if !math.IsNaN(f) && !math.IsInf(f, 0) {
			check(f, oidFloat8)
		}
		check(float64(n)/8, oidFloat8)
		check(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, random.IntN(3_600_000)).Format(time.DateOnly), oidDate)
		at := time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(math.MaxInt64)))
		check(at.Format("2006-01-02 15:04:05"), oidTimestamp)
		check(float64(n), oidNumeric)
		check(float64(n)/1024, oidNumeric)
		check(-random.Float64()/math.Pow(10, float64(random.IntN(9))), oidNumeric)
	}
	for _, v := range []bool{true, false} {
		check(v, oidBool)
	}
	for _, text := range []string{"", "x", "ä € 😀", "\\", "\t\n"} {
		check(text, oidText)
	}
	for _, n := range []int64{0, 1, -1, math.MinInt16, math.MaxInt16} {
		check(n, oidInt2)
		check(n, oidInt4)
	}
}

// TestNumber writes numbers as PostgreSQL 15 does.
func TestNumber(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 1: "1", -1.5: "-1.5", 1e6: "1000000", 1234567: "1234567", 1e14: "100000000000000", 1e15: "1e+15",
		123456789012345680: "1.2345678901234568e+17", 0.0001: "0.0001", 0.00001: "1e-05", 1.0 / 3: "0.3333333333333333", math.Inf(1): "Infinity", math.Inf(-1): "-Infinity",
		1e300: "1e+300", 5e-324: "5e-324"} {
		if got := number(f); got != want {
			t.Errorf("%g is written %s, want %s", f, got, want)
		}
	}
	if got := number(math.NaN()); got != "NaN" {
		t.Error(got)
	}
}

// TestNumericText writes numerics as PostgreSQL 15 does: never with an exponent.
func TestNumericText(t *testing.T) {
	for f, want := range map[float64]string{0: "0", -1.5: "-1.5", 1e15: "1000000000000000", -123456789012345680: "-123456789012345680", 0.00001: "0.00001"} {
		if got, err := (column{oid: oidNumeric}).appendValue(nil, f, pgproto3.TextFormat); err != nil || string(got) != want {
			t.Errorf("%g is written %s, want %s (%v)", f, got, want, err)
		}
	}
}

// TestMalformedValues decodes what no client should send.
func TestMalformedValues(t *testing.T) {
	for _, e := range []struct {
		oid    uint32
		format int16
		raw    string
	}{
		{oidInt8, 0, "x"}, {oidInt8, 0, "1.5"}, {oidInt8, 0, ""}, {oidInt8, 1, "1234567"}, {oidInt4, 1, ""}, {oidFloat8, 0, "one"}, {oidFloat8, 0, "NaN"},
		{oidFloat8, 1, "\x7f\xf0\x00\x00\x00\x00\x00\x00"}, {oidBool, 0, "maybe"}, {oidBool, 1, "ab"}, {oidText, 0, "\xff"}, {oidText, 0, "a\x00b"}, {oidText, 1, "\xff"},
		{oidDate, 1, "\x7f\xff\xff\xff"}, {oidTimestamp, 1, "\x80\x00\x00\x00\x00\x00\x00\x00"}, {oidNumeric, 1, ""}, {oidNumeric, 1, "\x00\x01\x00\x00\xc0\x00\x00\x00\x00\x01"},
		{oidNumeric, 1, "\xff\xff\x00\x00\x00\x00\x00\x00"}, {oidNumeric, 1, "\x00\x01\x7f\xff\x00\x00\x00\x00\x00\x01"},
	} {
		var sent any = e.raw
		if e.format == pgproto3.BinaryFormat {
			sent = []byte(e.raw)
		}
		if v, err := decode(e.oid, sent); err == nil {
			t.Errorf("%q as %d in format %d is %v", e.raw, e.oid, e.format, v)
		}
	}
	if v, err := decode(oidInt8, nil); err != nil || v != query.Null() {
		t.Errorf("NULL is %v %v", v, err)
	}
}
