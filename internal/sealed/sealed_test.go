package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"dpsql/sqlerr"
)

// TestEnvelope opens what was sealed, and refuses each change of it.
func TestEnvelope(t *testing.T) {
	for _, body := range []string{"", "a body", string(make([]byte, 5000))} {
		data := End(append(Begin(Marginals, 7, len(body)), body...))
		if got, err := Open(Marginals, 7, data); err != nil || string(got) != body || !Is(Marginals, data) || Is(OnDemand, data) {
			t.Fatalf("%q, %v", got, err)
		}
		if _, err := Open(OnDemand, 7, data); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("another kind: %v", err)
		}
		for _, v := range []uint16{6, 8} {
			if _, err := Open(Marginals, v, data); sqlerr.CodeOf(err) != sqlerr.Unsupported {
				t.Errorf("version %d: %v", v, err)
			}
		}
		for i := range min(len(data), 100) {
			for _, damaged := range [][]byte{data[:i], flipped(data, i), flipped(data, len(data)-1-i)} {
				if _, err := Open(Marginals, 7, damaged); sqlerr.CodeOf(err) != sqlerr.Corrupt {
					t.Errorf("byte %d: %v", i, err)
				}
			}
		}
		longer := append(bytes.Clone(data[:len(data)-sha256.Size]), "more"...)
		sum := sha256.Sum256(longer)
		if _, err := Open(Marginals, 7, append(longer, sum[:]...)); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("another length: %v", err)
		}
	}
}

func flipped(data []byte, i int) []byte {
	data = bytes.Clone(data)
	data[i] ^= 0x40
	return data
}

// TestForm holds the envelope to its documented form.
func TestForm(t *testing.T) {
	want := []byte("dpsqlpayproj\x01\x00\x03\x00\x00\x00\x00\x00\x00\x00abc")
	sum := sha256.Sum256(want)
	if got := End(append(Begin(Projection, 1, 0), "abc"...)); !bytes.Equal(got, append(want, sum[:]...)) {
		t.Errorf("%q", got)
	}
	if binary.Size([headerSize]byte{}) != 22 {
		t.Error("the header has another size")
	}
}
