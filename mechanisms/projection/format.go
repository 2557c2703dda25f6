package projection

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"dpsql/internal/sealed"
	"dpsql/noise/law"
	"dpsql/query"
)

// A stored release is, in an envelope of package sealed,
//
//	sections  { name  length  payload }…
//
// with the number of sections as a 16-bit number, lengths as 64-bit numbers and names of four
// bytes. All numbers are little-endian. The sections below come in this order, HEAV only if heavy
// cells are published and TEXT only if these have texts. A reader refuses sections it does not
// know, so a section can be added without a new version.
const (
	version = 1

	sectionParams = "PARM"
	sectionMatrix = "MATR"
	sectionCells  = "CELL"
	sectionHeavy  = "HEAV"
	sectionTexts  = "TEXT"
)

const sectionHeaderSize = 4 + 8

type section struct {
	name    string
	payload []byte
}

// MarshalBinary returns the release as bytes: close to one byte a row for noise
// of scale up to 17, more for wider noise. It never fails.
func (r *Release) MarshalBinary() ([]byte, error) {
	sections := []section{
		{sectionParams, r.encodeParams()},
		{sectionMatrix, r.encodeMatrix()},
		{sectionCells, encodeVector(r.sketch)},
	}
	if r.p.Heavy.Form != Whole {
		sections = append(sections, section{sectionHeavy, r.encodeHeavy()})
	}
	if r.texts {
		sections = append(sections, section{sectionTexts, r.encodeTexts()})
	}
	size := 2
	for _, s := range sections {
		size += sectionHeaderSize + len(s.payload)
	}
	out := sealed.Begin(sealed.Projection, version, size)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(sections)))
	for _, s := range sections {
		out = append(out, s.name...)
		out = binary.LittleEndian.AppendUint64(out, uint64(len(s.payload)))
		out = append(out, s.payload...)
	}
	return sealed.End(out), nil
}

// Unmarshal reads a release over u that MarshalBinary wrote. It refuses as
// corrupt bytes that do not verify and a release over another universe, and as
// unsupported a version or a section of a later dpsql. It copies what it keeps
// of data, and takes no more memory than a small multiple of its length.
func Unmarshal(u *query.Universe, data []byte) (*Release, error) {
	sections, err := open(data)
	if err != nil {
		return nil, err
	}
	var r Release
	r.u = u
	if err := r.decodeParams(sections[sectionParams]); err != nil {
		return nil, err
	}
	m, err := decodeMatrix(u, r.p, sections[sectionMatrix])
	if err != nil {
		return nil, err
	}
	sketch, err := decodeVector(r.p.Rows, sections[sectionCells])
	if err != nil {
		return nil, err
	}
	heavy, present := sections[sectionHeavy]
	if err := r.decodeHeavy(heavy, present); err != nil {
		return nil, err
	}
	texts, present := sections[sectionTexts]
	out := newRelease(u, r.p, m, sketch, r.heavy, present)
	if err := out.decodeTexts(texts); err != nil {
		return nil, err
	}
	return out, nil
}

// open returns the payloads of a stored release by name.
func open(data []byte) (map[string][]byte, error) {
	body, err := sealed.Open(sealed.Projection, version, data)
	if err != nil {
		return nil, err
	}
	if len(body) < 2 {
		return nil, sealed.Damaged("it has no sections")
	}
	return split(body[2:], int(binary.LittleEndian.Uint16(body)))
}

// split cuts the body into its sections. They must be those of this version.
func split(body []byte, count int) (map[string][]byte, error) {
	sections := make(map[string][]byte)
	order := []string{sectionParams, sectionMatrix, sectionCells, sectionHeavy, sectionTexts}
	for i := range count {
		if len(body) < sectionHeaderSize {
			return nil, sealed.Damaged("a section is cut short")
		}
		name, size := string(body[:4]), binary.LittleEndian.Uint64(body[4:])
		body = body[sectionHeaderSize:]
		switch {
		case i >= len(order) || name != order[i]:
			return nil, sealed.Newer("a section %q in place %d", name, i+1)
		case size > uint64(len(body)):
			return nil, sealed.Damaged("a section is cut short")
		}
		sections[name], body = body[:size], body[size:]
	}
	if len(body) > 0 || len(sections) < len(order)-2 {
		return nil, sealed.Damaged("its sections are incomplete")
	}
	return sections, nil
}

// transforms lists the transforms by their number in the format.
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
		return sealed.Damaged("its parameters cannot be read")
	}
	r.p.Transform = transforms[b[0]]
	r.p.Bulk = b[1] == 1
	r.p.Rows = binary.LittleEndian.Uint64(b[2:])
	r.p.Independence = int(binary.LittleEndian.Uint16(b[10:]))
	if digestOf(r.u) != [sha256.Size]byte(b[12:]) {
		return sealed.Damaged("it is over other columns or domains")
	}
	var err error
	if r.p.Law, err = law.Parse(string(b[paramsSize:])); err != nil {
		return sealed.Damaged("its noise law cannot be read")
	}
	if r.p.check(r.u) != nil || r.p.Transform != Dense && r.p.Independence != 0 {
		return sealed.Damaged("its parameters contradict each other")
	}
	return nil
}

// digestOf returns a digest of a universe's column names and declared domains.
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

func decodeMatrix(u *query.Universe, p Params, b []byte) (m matrix, err error) {
	switch p.Transform {
	case Sparse:
		m.sketch = &countSketch{rows: p.Rows, coded: u.Coded()}
	case Dense:
		m.signs = make(signs, p.Independence)
	}
	ws := m.words()
	if len(b) != len(m.key)+8*len(ws) {
		return matrix{}, sealed.Damaged("its matrix has another size")
	}
	copy(m.key[:], b)
	for i, w := range ws {
		*w = binary.LittleEndian.Uint64(b[len(m.key)+8*i:])
	}
	if m.sketch != nil && !m.sketch.reduced() {
		return matrix{}, sealed.Damaged("a coefficient of its matrix is out of range")
	}
	return m, nil
}

// forms lists the forms of heavy cells by their number in the format.
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
		return sealed.Damaged("its heavy cells cannot be read")
	}
	h := Heavy{Form: forms[b[0]], Clip: int64(binary.LittleEndian.Uint64(b[1:])), Threshold: int64(binary.LittleEndian.Uint64(b[9:]))}
	text := int(binary.LittleEndian.Uint16(b[17:]))
	if text > maxLaw || len(b) < heavyHead+text {
		return sealed.Damaged("its heavy cells cannot be read")
	}
	if text > 0 {
		var err error
		if h.NameLaw, err = law.Parse(string(b[19 : 19+text])); err != nil {
			return sealed.Damaged("the noise law of its heavy cells cannot be read")
		}
	}
	r.p.Heavy = h
	if r.p.Transform != Sparse || h.check() != nil {
		return sealed.Damaged("the parameters of its heavy cells contradict each other")
	}
	return r.decodeCells(binary.LittleEndian.Uint64(b[19+text:]), b[heavyHead+text:])
}

func (r *Release) decodeCells(count uint64, b []byte) error {
	size := 24
	if r.u.Coded() {
		size = 16
	}
	if uint64(len(b))%uint64(size) != 0 || count != uint64(len(b)/size) {
		return sealed.Damaged("its heavy cells are cut short")
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
			return sealed.Damaged("its heavy cells are not in normal form")
		}
	}
	return nil
}

// encodeTexts writes the texts of the cells one after the other, as query.Universe.TextsOf does.
func (r *Release) encodeTexts() (out []byte) {
	for _, c := range r.heavy {
		out = append(out, c.texts...)
	}
	return out
}

// decodeTexts reads the section, if there is one. It accepts only what encodeTexts writes.
func (r *Release) decodeTexts(b []byte) error {
	if !r.texts {
		return nil
	}
	if !r.p.HasTexts(r.u) {
		return sealed.Damaged("it has texts, and none of its columns can")
	}
	for i, c := range r.heavy {
		values, rest, ok := r.u.CutTexts(b)
		if !ok {
			return sealed.Damaged("the texts of its heavy cells cannot be read")
		}
		if len(values) == len(r.u.Columns()) {
			if x, _ := r.coder.Code(values); x != c.x {
				return sealed.Damaged("the texts of its heavy cells are not theirs")
			}
		}
		r.heavy[i].texts, b = string(b[:len(b)-len(rest)]), rest
	}
	if len(b) > 0 {
		return sealed.Damaged("the texts of its heavy cells are too long")
	}
	return nil
}

// possible reports whether a release can have published the cell.
func (r *Release) possible(c published) bool {
	const most = 1 << 62
	if c.noisy > most || c.noisy < -most || r.p.Heavy.Form == Clipped && c.noisy < r.p.Heavy.Threshold {
		return false
	}
	return inUniverse(r.u, c.x)
}

// inUniverse reports whether the coder of the universe can have made the name.
func inUniverse(u *query.Universe, x query.Element) bool {
	return !u.Coded() || x.Hi == 0 && x.Lo < u.Size().Uint64()
}

// encodeVector writes the bytes of a word (1, 2, 4 or 8), then a word for every
// coordinate, then the coordinates that do not fit a word, in order, as 64-bit
// numbers. The lowest word stands for a coordinate that does not fit.
func encodeVector(v vector) []byte {
	width := v.width()
	out := make([]byte, 1, 1+v.len()*uint64(width))
	out[0] = byte(width)
	if c, ok := v.(*compact[int8]); ok {
		return encodeBytes(out, c)
	}
	var large []int64
	for i := range v.len() {
		x := v.at(i)
		if isWord(x, width) {
			out = appendWord(out, x, width)
			continue
		}
		out = appendWord(out, lowest(width), width)
		large = append(large, x)
	}
	for _, x := range large {
		out = binary.LittleEndian.AppendUint64(out, uint64(x))
	}
	return out
}

// decodeVector reads a vector of n coordinates. It accepts only what
// encodeVector writes.
func decodeVector(n uint64, b []byte) (vector, error) {
	if len(b) == 0 {
		return nil, sealed.Damaged("its sketch is missing")
	}
	width := int(b[0])
	b = b[1:]
	switch width {
	default:
		return nil, sealed.Damaged("its sketch has words of an unknown size")
	case 1, 2, 4, 8:
	}
	if n > uint64(len(b))/uint64(width) {
		return nil, sealed.Damaged("its sketch is cut short")
	}
	v := newVector(n, width)
	words, large := b[:n*uint64(width)], b[n*uint64(width):]
	if c, ok := v.(*compact[int8]); ok {
		return decodeBytes(c, words, large)
	}
	for i := range n {
		x := wordAt(words, i, width)
		if x == lowest(width) {
			if len(large) < 8 {
				return nil, sealed.Damaged("its sketch is cut short")
			}
			x, large = int64(binary.LittleEndian.Uint64(large)), large[8:]
			if isWord(x, width) {
				return nil, sealed.Damaged("its sketch is not in normal form")
			}
		}
		if !v.add(i, x) {
			return nil, sealed.Damaged("a coordinate of its sketch is out of range")
		}
	}
	if len(large) > 0 {
		return nil, sealed.Damaged("its sketch is too long")
	}
	return v, nil
}

// encodeBytes is encodeVector for words of one byte, the usual case.
func encodeBytes(out []byte, c *compact[int8]) []byte {
	var large []byte
	for i, w := range c.words {
		out = append(out, byte(w))
		if int64(w) == c.escape {
			large = binary.LittleEndian.AppendUint64(large, uint64(c.large[uint64(i)]))
		}
	}
	return append(out, large...)
}

// decodeBytes is decodeVector for words of one byte.
func decodeBytes(c *compact[int8], words, large []byte) (vector, error) {
	for i, b := range words {
		c.words[i] = int8(b)
		if int64(int8(b)) != c.escape {
			continue
		}
		if len(large) < 8 {
			return nil, sealed.Damaged("its sketch is cut short")
		}
		x := int64(binary.LittleEndian.Uint64(large))
		large = large[8:]
		if isWord(x, 1) || x == math.MinInt64 {
			return nil, sealed.Damaged("its sketch is not in normal form")
		}
		c.large[uint64(i)] = x
	}
	if len(large) > 0 {
		return nil, sealed.Damaged("its sketch is too long")
	}
	return c, nil
}

// isWord reports whether x is stored as a word of its own.
func isWord(x int64, width int) bool {
	low := lowest(width)
	return x > low && x <= -(low+1)
}

func appendWord(out []byte, x int64, width int) []byte {
	switch width {
	case 1:
		return append(out, byte(x))
	case 2:
		return binary.LittleEndian.AppendUint16(out, uint16(x))
	case 4:
		return binary.LittleEndian.AppendUint32(out, uint32(x))
	}
	return binary.LittleEndian.AppendUint64(out, uint64(x))
}

func wordAt(b []byte, i uint64, width int) int64 {
	switch width {
	case 1:
		return int64(int8(b[i]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b[2*i:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return int64(binary.LittleEndian.Uint64(b[8*i:]))
}
