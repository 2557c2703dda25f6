package marginals

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// A stored release is
//
//	"dpsqlmrg"  version  header's length  header  body  SHA-256
//
// with version as a 16-bit and the length as a 32-bit number; all numbers are
// little-endian. The header is JSON. The body is compressed by DEFLATE: the cells of the
// measured marginals as 64-bit integers, those of the table as 32-bit floats, and those of
// each simulation as 16-bit integers; a release that is yet to be fitted has the first
// alone. The checksum covers everything before it, and guards against accidents, not
// against forgery. A reader refuses versions it does not know.
//
// Version 2 is that of an OnDemand. Its header has the seed, and its body the cells of the
// measured marginals alone. Versions 3 and 4 are 1 and 2 with the published keys of the
// columns that were declared without domain in the header.
const (
	magic           = "dpsqlmrg"
	version         = 1
	versionOnDemand = 2
	keyed           = 2 // is added where there are published keys
)

// header is what is stored of a release beside its numbers.
type header struct {
	Sizes    []int     `json:"sizes"` // of the columns' domains
	Sets     [][]int   `json:"sets"`
	Law      string    `json:"law"`
	Sigma2   float64   `json:"sigma2"`
	Unbiased bool      `json:"unbiased,omitempty"`
	Unfitted bool      `json:"unfitted,omitempty"` // no table is stored
	Stages   []Stage   `json:"stages"`
	Steps    []float64 `json:"steps"`          // of each simulation
	Seed     []byte    `json:"seed,omitempty"` // of an OnDemand
	Keys     []keys    `json:"keys,omitempty"` // of the columns with published domains
}

// keys are the published keys of a column: the key of the coder, and the names, 16 bytes
// each, the high half first, big-endian and ascending.
type keys struct {
	Column int    `json:"column"`
	Key    []byte `json:"key"`
	Names  []byte `json:"names"`
}

// keysOf returns the published keys in a universe.
func keysOf(u *query.Universe) (all []keys) {
	for i, c := range u.Columns() {
		if key, names, ok := c.Domain.Keys(); ok {
			k := keys{Column: i, Key: key[:], Names: make([]byte, 0, 16*len(names))}
			for _, x := range names {
				k.Names = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(k.Names, x.Hi), x.Lo)
			}
			all = append(all, k)
		}
	}
	return all
}

// universe returns the universe of the release, from that of the table's columns, of which
// those with published keys have no domain.
func (h header) universe(u *query.Universe) (*query.Universe, error) {
	for _, k := range h.Keys {
		if k.Column < 0 || k.Column >= len(u.Columns()) || u.Columns()[k.Column].Domain.Finite() || len(k.Key) != 16 || len(k.Names)%16 != 0 {
			return nil, damaged("its published keys are not those of the table")
		}
		var names []query.Element
		for b := k.Names; len(b) > 0; b = b[16:] {
			names = append(names, query.Element{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])})
		}
		d, err := query.Published([16]byte(k.Key), names)
		if err != nil {
			return nil, damaged("its published keys are not in normal form")
		}
		u = u.With(k.Column, d)
	}
	return u, nil
}

// IsOnDemand reports whether a stored release, if it is one, is an OnDemand.
func IsOnDemand(data []byte) bool {
	if len(data) < len(magic)+2 {
		return false
	}
	v := binary.LittleEndian.Uint16(data[len(magic):])
	return v == versionOnDemand || v == versionOnDemand+keyed
}

// MarshalBinary returns the release as bytes. It does not fail.
func (r *Release) MarshalBinary() ([]byte, error) {
	about := header{Sizes: r.shape.sizes, Sets: r.p.Sets, Law: r.p.Law.String(), Sigma2: r.p.Sigma2, Unbiased: r.p.Unbiased, Unfitted: r.table == nil, Stages: r.stages, Keys: keysOf(r.u)}
	for _, s := range r.simulated {
		about.Steps = append(about.Steps, s.step)
	}
	return seal(version, about, r.numbers())
}

// MarshalBinary returns the release as bytes. It does not fail.
func (o *OnDemand) MarshalBinary() ([]byte, error) {
	p := o.Params()
	about := header{Sizes: o.exact.shape.sizes, Sets: p.Sets, Law: p.Law.String(), Sigma2: p.Sigma2, Unbiased: p.Unbiased, Seed: o.seed[:], Keys: keysOf(o.exact.u)}
	return seal(versionOnDemand, about, o.exact.numbers())
}

// seal writes a stored release.
func seal(version uint16, about header, all []any) ([]byte, error) {
	if about.Keys != nil {
		version += keyed
	}
	h, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString(magic)
	out.Write(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(nil, version), uint32(len(h))))
	out.Write(h)
	body, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	for _, numbers := range all {
		if err := binary.Write(body, binary.LittleEndian, numbers); err != nil {
			return nil, err
		}
	}
	if err := body.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(out.Bytes())
	return append(out.Bytes(), sum[:]...), nil
}

// numbers returns the slices that the body consists of, in order.
func (r *Release) numbers() (all []any) {
	for _, cells := range r.noisy {
		all = append(all, cells)
	}
	if r.table != nil {
		all = append(all, r.table)
	}
	for _, s := range r.simulated {
		all = append(all, s.errors)
	}
	return all
}

// mostSimulations bounds those of a stored release.
const mostSimulations = 64

// Unmarshal reads a release over u that MarshalBinary wrote. In u, columns with published
// keys have no domain, as the table declares them; in the release's universe they have the
// Published one. Bytes that do not verify, and a release over another universe, are corrupt; a
// version of a later dpsql is unsupported.
func Unmarshal(u *query.Universe, data []byte) (*Release, error) {
	h, u, body, err := open(u, data, version)
	if err != nil {
		return nil, err
	}
	p, noisy, err := h.measured(u)
	if err != nil {
		return nil, err
	}
	if !FitsWhole(u) || len(h.Steps) > mostSimulations || h.Unfitted && len(h.Steps) > 0 {
		return nil, damaged("its table is not that of the columns")
	}
	cells := product(h.Sizes)
	r := &Release{noisy: noisy}
	if !h.Unfitted {
		r.table = make([]float32, cells)
	}
	for _, step := range h.Steps {
		r.simulated = append(r.simulated, simulation{step, make([]int16, cells)})
	}
	if err := readNumbers(body, r.numbers()); err != nil {
		return nil, err
	}
	for _, v := range r.table {
		if !(v >= 0 && v <= math.MaxFloat32) {
			return nil, damaged("a cell of its table is no count")
		}
	}
	full, err := newRelease(context.Background(), u, p, noisy)
	if err != nil {
		return nil, err
	}
	full.stages, full.table, full.simulated = h.Stages, r.table, r.simulated
	return full, nil
}

// UnmarshalOnDemand reads a release over u that is fitted on demand. Errors are those of
// Unmarshal.
func UnmarshalOnDemand(u *query.Universe, data []byte) (*OnDemand, error) {
	h, u, body, err := open(u, data, versionOnDemand)
	if err != nil {
		return nil, err
	}
	p, noisy, err := h.measured(u)
	if err != nil {
		return nil, err
	}
	if len(h.Seed) != len(seed{}) {
		return nil, damaged("its seed is cut short")
	}
	if err := readNumbers(body, (&Release{noisy: noisy}).numbers()); err != nil {
		return nil, err
	}
	r, err := newRelease(context.Background(), u, p, noisy)
	if err != nil {
		return nil, err
	}
	return newOnDemand(r, seed(h.Seed)), nil
}

// measured returns the parameters in the header, and room for the cells of the marginals.
func (h header) measured(u *query.Universe) (p Params, noisy [][]int64, err error) {
	law, err := law.Parse(h.Law)
	if err != nil {
		return p, nil, damaged("its law cannot be read")
	}
	p = Params{Sets: h.Sets, Law: law, Sigma2: h.Sigma2, Unbiased: h.Unbiased}
	if p.check(u) != nil || !slices.Equal(h.Sizes, sizesOf(u)) {
		return p, nil, damaged("its marginals are not those of the table")
	}
	for _, set := range h.Sets {
		noisy = append(noisy, make([]int64, product(within(h.Sizes, set))))
	}
	return p, noisy, nil
}

// readNumbers fills slices from the body, in order.
func readNumbers(body []byte, all []any) error {
	from := flate.NewReader(bytes.NewReader(body))
	for _, numbers := range all {
		if binary.Read(from, binary.LittleEndian, numbers) != nil {
			return damaged("its numbers are incomplete")
		}
	}
	return nil
}

// open verifies the envelope of a release over the columns of u, and returns the header, the
// release's own universe and what follows the header.
func open(u *query.Universe, data []byte, version uint16) (h header, own *query.Universe, body []byte, err error) {
	const fixed = len(magic) + 2 + 4
	end := len(data) - sha256.Size
	if end < fixed || string(data[:len(magic)]) != magic {
		return h, nil, nil, damaged("it does not begin as a release")
	}
	if sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return h, nil, nil, damaged("its checksum does not fit")
	}
	v := binary.LittleEndian.Uint16(data[len(magic):])
	if v != version && v != version+keyed {
		return h, nil, nil, sqlerr.New(sqlerr.Unsupported, "the release has version %d of its format, which this dpsql does not know", v).
			WithHint("use the dpsql that wrote it, or a later one")
	}
	size := uint64(binary.LittleEndian.Uint32(data[len(magic)+2:]))
	if size > uint64(end-fixed) || json.Unmarshal(data[fixed:][:size], &h) != nil {
		return h, nil, nil, damaged("its header cannot be read")
	}
	if (v == version+keyed) != (len(h.Keys) > 0) {
		return h, nil, nil, damaged("its version is not that of its header")
	}
	own, err = h.universe(u)
	return h, own, data[fixed+int(size) : end], err
}

func damaged(why string) error {
	return sqlerr.New(sqlerr.Corrupt, "a stored release is damaged: %s", why)
}
