package projection

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpsql/internal/sealed"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/sqlerr"
)

// stored returns releases of every transform and word size, small enough to be
// damaged bit by bit.
func stored(t testing.TB) map[string]*Release {
	src, _ := seeded(t)
	u, text := line(t, 40), infinite(t)
	d := counts{1: 5, 7: 1000, 8: 1, 39: 70_000}
	b, err := NewBuilder(text, Params{Transform: Sparse, Rows: 9, Law: laplace(t, 1, 1)}, coin.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	x, _ := b.Coder().Code([]query.Value{query.Text("a"), query.Int(3)})
	uncoded, err := b.Build(named{{x, 12}}.cells(), src)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Release{
		"identity":       build(t, u, Params{Transform: Identity, Rows: 40, Law: laplace(t, 1, 1), Bulk: true}, src, d.cells()),
		"sparse":         build(t, u, Params{Transform: Sparse, Rows: 17, Law: laplace(t, 5, 2)}, src, d.cells()),
		"wide":           build(t, u, Params{Transform: Sparse, Rows: 17, Law: laplace(t, 100, 1)}, src, d.cells()),
		"widest":         build(t, u, Params{Transform: Sparse, Rows: 7, Law: laplace(t, 1e12, 1)}, src, d.cells()),
		"dense":          build(t, u, Params{Transform: Dense, Rows: 70, Law: laplace(t, 9, 1), Independence: 4}, src, d.cells()),
		"no codes":       uncoded,
		"clip":           build(t, u, clipped(t, 17, 20, laplace(t, 1, 1), 0.1), src, d.cells()),
		"named":          build(t, u, naming(t, 17, 0.1), src, d.cells()),
		"clip, no codes": heavyText(t, text, src, false),
		"texts":          heavyText(t, text, src, true),
	}
}

func heavyText(t testing.TB, text *query.Universe, src *noise.Source, texts bool) *Release {
	t.Helper()
	p := clipped(t, 9, 5, laplace(t, 1, 1), 0.1)
	if texts {
		p = naming(t, 9, 0.1)
	}
	b, err := NewBuilder(text, p, coin.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	x, _ := b.Coder().Code([]query.Value{query.Text("a"), query.Int(3)})
	y, _ := b.Coder().Code([]query.Value{query.Text("b"), query.Null()})
	if texts {
		b.WithTexts(func(cell query.Element) string {
			return text.TextsOf([]query.Value{query.Text(map[query.Element]string{x: "a", y: "b"}[cell]), query.Null()})
		})
	}
	r, err := b.Build(named{{x, 1200}, {y, 300}}.cells(), src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func marshal(t testing.TB, r *Release) []byte {
	t.Helper()
	data, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRoundTrip(t *testing.T) {
	for name, r := range stored(t) {
		data := marshal(t, r)
		s, err := Unmarshal(r.Universe(), data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(marshal(t, s), data) {
			t.Errorf("%s: written again it is another release", name)
		}
		if texts(s.Params()) != texts(r.Params()) {
			t.Errorf("%s: %+v came back as %+v", name, r.Params(), s.Params())
		}
		var q query.Query
		if r.Universe().Coded() {
			q = among(r.Universe(), 1, 2, 7, 39)
		} else {
			q, _ = query.Where(r.Universe(), 0, r.Universe().Columns()[0].Domain.SetOf(query.Text("a"))).
				And(query.Where(r.Universe(), 1, r.Universe().Columns()[1].Domain.SetOf(query.Int(3))))
		}
		if estimate(t, r, q) != estimate(t, s, q) || margin(t, r, q, 0.9) != margin(t, s, q, 0.9) {
			t.Errorf("%s: it answers differently", name)
		}
	}
}

// texts returns parameters as a text: laws are pointers.
func texts(p Params) string { return fmt.Sprintf("%+v", p) }

// The bytes of a release written out by hand.
func TestGoldenBytes(t *testing.T) {
	u := line(t, 40)
	m := matrix{sketch: &countSketch{
		bucket: polynomial{1, 2, 3, 4}, sign: polynomial{5, 6, 7, 8}, key: [2]uint64{9, 10}, rows: 4, coded: true}}
	copy(m.key[:], "0123456789abcdef")
	v := newVector(4, 1)
	for i, x := range []int64{-3, 127, -128, 1000} {
		v.add(uint64(i), x)
	}
	r := newRelease(u, Params{Transform: Sparse, Rows: 4, Law: laplace(t, 5, 2), Bulk: true}, m, v, nil, false)
	universe := sha256.Sum256([]byte("\x01\x00\x00\x00\x00\x00\x00\x00x" + string([]byte{byte(query.TypeInteger)}) +
		"\x10\x00\x00\x00\x00\x00\x00\x00BETWEEN 0 AND 39"))
	body := "\x03\x00" +
		"PARM" + number(53) + "\x02\x01" + number(4) + "\x00\x00" + string(universe[:]) + "dlap(5/2)" +
		"MATR" + number(96) + "0123456789abcdef" +
		number(1) + number(5) + number(2) + number(6) + number(3) + number(7) + number(4) + number(8) + number(9) + number(10) +
		"CELL" + number(21) + "\x01" + "\xfd\x7f\x80\x80" + number(-128) + number(1000)
	if got, want := marshal(t, r), seal([]byte(body)); !bytes.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", hex.Dump(got), hex.Dump(want))
	}
}

func number(v int64) string { return string(binary.LittleEndian.AppendUint64(nil, uint64(v))) }

func TestOneByteARow(t *testing.T) {
	src, _ := seeded(t)
	const rows = 100_000
	r := build(t, line(t, 1<<40), Params{Transform: Sparse, Rows: rows, Law: laplace(t, 2, 1), Bulk: true}, src, counts{5: 1 << 40}.cells())
	if size := len(marshal(t, r)); size > rows+500 {
		t.Errorf("%d rows take %d bytes", rows, size)
	}
}

func TestDamageIsNoticed(t *testing.T) {
	for name, r := range stored(t) {
		data := marshal(t, r)
		for bit := range 8 * len(data) {
			bad := slices.Clone(data)
			bad[bit/8] ^= 1 << (bit % 8)
			if _, err := Unmarshal(r.Universe(), bad); sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Fatalf("%s: bit %d flipped: %v", name, bit, err)
			}
		}
		for n := range data {
			if _, err := Unmarshal(r.Universe(), data[:n]); sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Fatalf("%s: cut to %d bytes: %v", name, n, err)
			}
		}
		if _, err := Unmarshal(r.Universe(), append(slices.Clone(data), 0)); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Fatalf("%s: a byte more: %v", name, err)
		}
	}
}

// seal puts a body into its envelope.
func seal(body []byte) []byte {
	return sealed.End(append(sealed.Begin(sealed.Projection, version, len(body)), body...))
}

// bodyOf returns the body of a stored release.
func bodyOf(t testing.TB, data []byte) []byte {
	t.Helper()
	body, err := sealed.Open(sealed.Projection, version, data)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(body)
}

// Bytes with a good checksum are checked as hard: they may come from a later
// dpsql, or from a fault in this one.
func TestSealedNonsense(t *testing.T) {
	releases := stored(t)
	change := func(r *Release, at string, offset int, to string) []byte {
		body := bodyOf(t, marshal(t, r))
		i := bytes.Index(body, []byte(at)) + offset
		return seal(append(body[:i:i], append([]byte(to), body[i+len(to):]...)...))
	}
	const payload = sectionHeaderSize
	sparse, dense, wide, clip := releases["sparse"], releases["dense"], releases["widest"], releases["clip"]
	for _, c := range []struct {
		name string
		r    *Release
		data []byte
		code sqlerr.Code
	}{
		{"version 2", sparse, sealed.End(append(sealed.Begin(sealed.Projection, 2, 0), bodyOf(t, marshal(t, sparse))...)), sqlerr.Unsupported},
		{"unknown section", sparse, change(sparse, "CELL", 0, "HEAV"), sqlerr.Unsupported},
		{"repeated section", sparse, change(sparse, "CELL", 0, "MATR"), sqlerr.Unsupported},
		{"a section less", sparse, change(sparse, "PARM", -2, "\x02"), sqlerr.Corrupt},
		{"a section more", sparse, change(sparse, "PARM", -2, "\x04"), sqlerr.Corrupt},
		{"heavy cells of another form", clip, change(clip, "HEAV", payload, "\x03"), sqlerr.Corrupt},
		{"heavy cells named by no law", clip, change(clip, "HEAV", payload, "\x02"), sqlerr.Corrupt},
		{"a clip of 0", clip, change(clip, "HEAV", payload+1, number(0)), sqlerr.Corrupt},
		{"a threshold above what is published", clip, change(clip, "HEAV", payload+9, number(1<<40)), sqlerr.Corrupt},
		{"a heavy cell more", clip, change(clip, "HEAV", payload+19, number(99)), sqlerr.Corrupt},
		{"a heavy cell outside", clip, change(clip, "HEAV", payload+27, number(40)), sqlerr.Corrupt},
		{"heavy cells out of order", clip, change(clip, "HEAV", payload+27, number(39)), sqlerr.Corrupt},
		{"length of 2^64 - 1", sparse, change(sparse, "CELL", 4, number(-1)), sqlerr.Corrupt},
		{"length of 0", sparse, change(sparse, "CELL", 4, number(0)), sqlerr.Corrupt},
		{"transform 0", sparse, change(sparse, "PARM", payload, "\x00"), sqlerr.Corrupt},
		{"transform 4", sparse, change(sparse, "PARM", payload, "\x04"), sqlerr.Corrupt},
		{"another transform", sparse, change(sparse, "PARM", payload, "\x03"), sqlerr.Corrupt},
		{"bulk 2", sparse, change(sparse, "PARM", payload+1, "\x02"), sqlerr.Corrupt},
		{"2^32 rows", sparse, change(sparse, "PARM", payload+2, number(MaxRows)), sqlerr.Corrupt},
		{"no rows", sparse, change(sparse, "PARM", payload+2, number(0)), sqlerr.Corrupt},
		{"a row less", sparse, change(sparse, "PARM", payload+2, number(16)), sqlerr.Corrupt},
		{"independence of sparse", sparse, change(sparse, "PARM", payload+10, "\x04"), sqlerr.Corrupt},
		{"independence 6", dense, change(dense, "PARM", payload+10, "\x06"), sqlerr.Corrupt},
		{"another universe", sparse, change(sparse, "PARM", payload+12, "\x00\x00\x00\x00"), sqlerr.Corrupt},
		{"no law", sparse, change(sparse, "dlap", 0, "flap"), sqlerr.Corrupt},
		{"coefficient 2^61 - 1", sparse, change(sparse, "MATR", payload+16, number(prime)), sqlerr.Corrupt},
		{"words of 3 bytes", sparse, change(sparse, "CELL", payload, "\x03"), sqlerr.Corrupt},
		{"words of 8 bytes", sparse, change(sparse, "CELL", payload, "\x08"), sqlerr.Corrupt},
		{"words of 1 byte", dense, change(dense, "CELL", payload, "\x01"), sqlerr.Corrupt},
		{"escape for nothing", wide, change(wide, "CELL", payload+1, number(math.MinInt64)), sqlerr.Corrupt},
	} {
		if _, err := Unmarshal(c.r.Universe(), c.data); sqlerr.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
	}
}

func TestAnotherUniverseIsRefused(t *testing.T) {
	r := stored(t)["sparse"]
	data := marshal(t, r)
	if _, err := Unmarshal(line(t, 40), data); err != nil {
		t.Errorf("an equal universe: %v", err)
	}
	renamed := universe(t, query.Column{Name: "y", Domain: r.Universe().Columns()[0].Domain})
	for _, u := range []*query.Universe{line(t, 41), infinite(t), renamed} {
		if _, err := Unmarshal(u, data); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%v: %v", u.Columns(), err)
		}
	}
}

// A short text that claims 2^32 rows must not be given the memory for them.
func TestUnmarshalDoesNotOverAllocate(t *testing.T) {
	r := stored(t)["sparse"]
	body := bodyOf(t, marshal(t, r))
	i := bytes.Index(body, []byte("PARM")) + sectionHeaderSize
	binary.LittleEndian.PutUint64(body[i+2:], MaxRows)
	bad := seal(body)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Unmarshal(r.Universe(), bad)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; err == nil || got > 1<<20 {
		t.Errorf("%d bytes allocated, %v", got, err)
	}
}

// Whatever the bytes are, Unmarshal does not panic, and what it accepts it
// writes back byte for byte and can answer from. The fuzzer changes the body and
// the target seals it, or it could never get past the checksum.
func FuzzUnmarshal(f *testing.F) {
	universes := []*query.Universe{line(f, 40), infinite(f)}
	for _, r := range stored(f) {
		f.Add(bodyOf(f, marshal(f, r)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := Unmarshal(universes[0], body); err == nil {
			t.Error("bytes without a checksum are accepted")
		}
		data := seal(body)
		for _, u := range universes {
			r, err := Unmarshal(u, data)
			if err != nil {
				continue
			}
			if !bytes.Equal(marshal(t, r), data) {
				t.Error("what is accepted is not what is written")
			}
			if !u.Coded() {
				continue
			}
			q := among(u, 3, 39)
			a, err := r.Answer(context.Background(), q, 0.95)
			if err != nil && sqlerr.CodeOf(err) != sqlerr.Unsupported {
				t.Error(err)
			}
			if err == nil && !(a.Margin >= 0) {
				t.Errorf("margin %v", a.Margin)
			}
		}
	})
}

// A source that fails must fail the build at any point, not weaken the noise.
func TestFailingSource(t *testing.T) {
	u := line(t, 40)
	for _, p := range []Params{
		{Transform: Identity, Rows: 40, Law: laplace(t, 1, 1)},
		{Transform: Identity, Rows: 40, Law: laplace(t, 1, 1), Bulk: true},
		{Transform: Sparse, Rows: 40, Law: laplace(t, 1, 1)},
		{Transform: Dense, Rows: 40, Law: laplace(t, 1, 1), Independence: 4},
	} {
		for n := range 60 {
			bits := func() io.Reader {
				return io.LimitReader(strings.NewReader(strings.Repeat("\x5a\xc3\x17", 1000)), int64(4*n))
			}
			src := noise.NewSourceFrom(bits())
			b, err := NewBuilder(u, p, coin.NewSourceFrom(bits()))
			if enough := err == nil; enough != (n >= 4) && p.Transform == Identity {
				t.Fatalf("%d bytes for the key of a coder: %v", 4*n, err)
			}
			if err == nil {
				_, err = b.Build(counts{}.cells(), src)
			}
			if sqlerr.CodeOf(err) != sqlerr.IO {
				t.Fatalf("%s: %d bytes of randomness suffice: %v", p.Transform, 4*n, err)
			}
		}
	}
}
