package projection

import (
	"encoding/binary"

	"dpsql/noise"
	"dpsql/query"
)

// forms are the forms of heavy cells by their number in the format.
var forms = [...]Form{1: Clipped, 2: Named}

// heavyHead is the length of the section without the law's text and the cells.
const heavyHead = 1 + 8 + 8 + 2 + 8

// encodeHeavy writes the form, the clip, the threshold, the length of the name
// law's text and the text, the number of published cells, and the cells in
// ascending order: their names (8 bytes where the universe is coded, else 16,
// the high half first) and their noisy values.
func (r *Release) encodeHeavy() []byte {
	var out []byte
	for i, f := range forms {
		if f == r.p.Heavy.Form {
			out = append(out, byte(i))
		}
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(r.p.Heavy.Clip))
	out = binary.LittleEndian.AppendUint64(out, uint64(r.p.Heavy.Threshold))
	text := ""
	if r.p.Heavy.NameLaw != nil {
		text = r.p.Heavy.NameLaw.String()
	}
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	out = append(out, text...)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(r.heavy)))
	for _, c := range r.heavy {
		if !r.u.Coded() {
			out = binary.LittleEndian.AppendUint64(out, c.x.Hi)
		}
		out = binary.LittleEndian.AppendUint64(out, c.x.Lo)
		out = binary.LittleEndian.AppendUint64(out, uint64(c.noisy))
	}
	return out
}

// decodeHeavy reads the section, if there is one. It accepts only what
// encodeHeavy writes.
func (r *Release) decodeHeavy(b []byte, present bool) error {
	if !present {
		return nil
	}
	if len(b) < heavyHead || b[0] == 0 || int(b[0]) >= len(forms) {
		return damaged("its heavy cells cannot be read")
	}
	h := Heavy{Form: forms[b[0]], Clip: int64(binary.LittleEndian.Uint64(b[1:])), Threshold: int64(binary.LittleEndian.Uint64(b[9:]))}
	text := int(binary.LittleEndian.Uint16(b[17:]))
	if text > maxLaw || len(b) < heavyHead+text {
		return damaged("its heavy cells cannot be read")
	}
	if text > 0 {
		var err error
		if h.NameLaw, err = noise.ParseLaw(string(b[19 : 19+text])); err != nil {
			return damaged("the noise law of its heavy cells cannot be read")
		}
	}
	r.p.Heavy = h
	if r.p.Transform != Sparse || h.check() != nil {
		return damaged("the parameters of its heavy cells contradict each other")
	}
	return r.decodeCells(binary.LittleEndian.Uint64(b[19+text:]), b[heavyHead+text:])
}

func (r *Release) decodeCells(count uint64, b []byte) error {
	size := 24
	if r.u.Coded() {
		size = 16
	}
	if uint64(len(b))%uint64(size) != 0 || count != uint64(len(b)/size) {
		return damaged("its heavy cells are cut short")
	}
	r.heavy = make(heavyCells, count)
	for i := range r.heavy {
		c := &r.heavy[i]
		if !r.u.Coded() {
			c.x.Hi = binary.LittleEndian.Uint64(b)
			b = b[8:]
		}
		c.x.Lo, c.noisy = binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:]))
		b = b[16:]
		if i > 0 && byName(r.heavy[i-1], *c) >= 0 || !r.possible(*c) {
			return damaged("its heavy cells are not in normal form")
		}
	}
	return nil
}

// possible reports whether a release can have published the cell.
func (r *Release) possible(c published) bool {
	const most = 1 << 62
	if c.noisy > most || c.noisy < -most || r.p.Heavy.Form == Clipped && c.noisy < r.p.Heavy.Threshold {
		return false
	}
	return inside(r.u, c.x)
}

// inside reports whether the coder of the universe can have made the name.
func inside(u *query.Universe, x query.Element) bool {
	return !u.Coded() || x.Hi == 0 && x.Lo < u.Size().Uint64()
}
