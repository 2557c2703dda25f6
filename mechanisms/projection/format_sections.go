package projection

import (
	"crypto/sha256"
	"encoding/binary"

	"dpsql/noise"
	"dpsql/query"
)

// transforms are the transforms by their number in the format.
var transforms = [...]Transform{1: Identity, 2: Sparse, 3: Dense}

// maxLaw bounds the length of the text of a law.
const maxLaw = 512

// paramsSize is the length of the parameters without the law's text.
const paramsSize = 1 + 1 + 8 + 2 + sha256.Size

// encodeParams writes the transform, the bulk flag, T, r, the universe's digest
// and the law's text.
func (r *Release) encodeParams() []byte {
	var out []byte
	for i, t := range transforms {
		if t == r.p.Transform {
			out = append(out, byte(i))
		}
	}
	bulk := byte(0)
	if r.p.Bulk {
		bulk = 1
	}
	out = append(out, bulk)
	out = binary.LittleEndian.AppendUint64(out, r.p.Rows)
	out = binary.LittleEndian.AppendUint16(out, uint16(r.p.Independence))
	digest := digestOf(r.u)
	out = append(out, digest[:]...)
	return append(out, r.p.Law.String()...)
}

func (r *Release) decodeParams(b []byte) error {
	if len(b) < paramsSize || len(b) > paramsSize+maxLaw || b[0] == 0 || int(b[0]) >= len(transforms) || b[1] > 1 {
		return damaged("its parameters cannot be read")
	}
	r.p.Transform = transforms[b[0]]
	r.p.Bulk = b[1] == 1
	r.p.Rows = binary.LittleEndian.Uint64(b[2:])
	r.p.Independence = int(binary.LittleEndian.Uint16(b[10:]))
	if digestOf(r.u) != [sha256.Size]byte(b[12:]) {
		return damaged("it is over other columns or domains")
	}
	var err error
	if r.p.Law, err = noise.ParseLaw(string(b[paramsSize:])); err != nil {
		return damaged("its noise law cannot be read")
	}
	if r.p.check(r.u) != nil || r.p.Transform != Dense && r.p.Independence != 0 {
		return damaged("its parameters contradict each other")
	}
	return nil
}

// digestOf names a universe by its columns' names and declared domains.
func digestOf(u *query.Universe) [sha256.Size]byte {
	h := sha256.New()
	text := func(s string) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	for _, c := range u.Columns() {
		text(query.FoldName(c.Name))
		h.Write([]byte{byte(c.Domain.Type())})
		text(c.Domain.String())
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// encodeMatrix writes the coder's key and the coefficients of the hash functions.
func (r *Release) encodeMatrix() []byte {
	out := append([]byte(nil), r.matrix.key[:]...)
	for _, w := range r.matrix.words() {
		out = binary.LittleEndian.AppendUint64(out, *w)
	}
	return out
}

// words returns the words that describe the hash functions, in stored order.
func (m *matrix) words() []*uint64 {
	var ws []*uint64
	if c := m.sketch; c != nil {
		for i := range c.bucket {
			ws = append(ws, &c.bucket[i], &c.sign[i])
		}
		ws = append(ws, &c.key[0], &c.key[1])
	}
	for i := range m.signs {
		ws = append(ws, &m.signs[i].lo, &m.signs[i].hi)
	}
	return ws
}

func decodeMatrix(u *query.Universe, p Params, v uint16, b []byte) (matrix, error) {
	m := matrix{version: v}
	switch p.Transform {
	case Sparse:
		m.sketch = &countSketch{rows: p.Rows, coded: u.Coded(), chained: v == first}
	case Dense:
		m.signs = make(signs, p.Independence)
	}
	ws := m.words()
	if len(b) != len(m.key)+8*len(ws) {
		return matrix{}, damaged("its matrix has another size")
	}
	copy(m.key[:], b)
	for i, w := range ws {
		*w = binary.LittleEndian.Uint64(b[len(m.key)+8*i:])
	}
	if m.sketch != nil && !m.sketch.reduced() {
		return matrix{}, damaged("a coefficient of its matrix is out of range")
	}
	return m, nil
}
