package marginals

import (
	"bytes"
	"testing"

	"dpsql/internal/sealed"
	"dpsql/query"
	"dpsql/sqlerr"
)

// small returns a release of a small table, and its universe.
func small(t testing.TB) (*query.Universe, *Release) {
	u := universe(t, 3, 4, 2)
	table := make([]int64, 24)
	for i := range table {
		table[i] = int64(i * i % 17 * 5)
	}
	return u, build(t, u, calibrated(t, u, 2, "1", "1e-6"), table)
}

// TestFormat stores a release, reads it and compares the answers and the bytes.
func TestFormat(t *testing.T) {
	u, r := small(t)
	data, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Unmarshal(u, data)
	if err != nil {
		t.Fatal(err)
	}
	q := query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(1), query.Int(3)))
	want, err1 := r.Answer(t.Context(), q, 0.9)
	got, err2 := again.Answer(t.Context(), q, 0.9)
	if err1 != nil || err2 != nil || got != want {
		t.Errorf("%+v, %v; before it was stored %+v, %v", got, err2, want, err1)
	}
	if rest, err := again.MarshalBinary(); err != nil || !bytes.Equal(rest, data) {
		t.Errorf("it is stored otherwise the second time: %v", err)
	}
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1 << (i % 8)
		if _, err := Unmarshal(u, damaged); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Fatalf("a bit of byte %d is flipped: %v", i, err)
		}
	}
	if _, err := Unmarshal(universe(t, 3, 4, 3), data); sqlerr.CodeOf(err) != sqlerr.Corrupt {
		t.Errorf("over another universe: %v", err)
	}
}

// bodyOf returns the body of a stored release.
func bodyOf(t testing.TB, kind sealed.Kind, data []byte) []byte {
	t.Helper()
	body, err := sealed.Open(kind, version, data)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(body)
}

// FuzzUnmarshal reads arbitrary bytes in a valid envelope.
func FuzzUnmarshal(f *testing.F) {
	u, r := small(f)
	data, err := r.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bodyOf(f, sealed.Marginals, data))
	if data, err = newOnDemand(r, seed{}).MarshalBinary(); err != nil {
		f.Fatal(err)
	}
	f.Add(bodyOf(f, sealed.OnDemand, data))
	declared, own := keyedUniverses(f)
	if data, err = keyedRelease(f, own).MarshalBinary(); err != nil {
		f.Fatal(err)
	}
	f.Add(bodyOf(f, sealed.Marginals, data))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := sealed.End(append(sealed.Begin(sealed.Marginals, version, len(data)), data...))
		if r, err := Unmarshal(declared, whole); err == nil {
			if again, err := r.MarshalBinary(); err != nil {
				t.Error(err)
			} else if _, err := Unmarshal(declared, again); err != nil {
				t.Errorf("what was read and stored again: %v", err)
			}
		}
		if o, err := UnmarshalOnDemand(u, sealed.End(append(sealed.Begin(sealed.OnDemand, version, len(data)), data...))); err == nil {
			if _, _, err := o.Over(t.Context(), []int{0, 1}, nil, true); err != nil && sqlerr.CodeOf(err) == sqlerr.Internal {
				t.Error(err)
			}
		}
		r, err := Unmarshal(u, whole)
		if err != nil {
			return
		}
		if _, err := r.Answer(t.Context(), query.All(u), 0.95); err != nil && sqlerr.CodeOf(err) == sqlerr.Internal {
			t.Error(err)
		}
	})
}
