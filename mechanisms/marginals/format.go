package marginals

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"dpsql/internal/sealed"
	"dpsql/noise/law"
	"dpsql/query"
)

// A stored release is, in an envelope of package sealed,
//
//	header's length  header  body
//
// with the length as a 32-bit number; all numbers are little-endian. The header is JSON. The body
// is compressed by DEFLATE: the cells of the measured marginals as 64-bit integers, those of the
// table as 32-bit floats, and those of each simulation as 16-bit integers; a release that is yet
// to be fitted has the first alone. An OnDemand is of a kind of its own. Its header has the seed,
// and its body the cells of the measured marginals alone.
const version = 1

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
			return nil, sealed.Damaged("its published keys are not those of the table")
		}
		var names []query.Element
		for b := k.Names; len(b) > 0; b = b[16:] {
			names = append(names, query.Element{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])})
		}
		d, err := query.Published([16]byte(k.Key), names)
		if err != nil {
			return nil, sealed.Damaged("its published keys are not in normal form")
		}
		u = u.With(k.Column, d)
	}
	return u, nil
}

// IsOnDemand reports whether a stored release, if it is one, is an OnDemand.
func IsOnDemand(data []byte) bool { return sealed.Is(sealed.OnDemand, data) }

// MarshalBinary returns the release as bytes. It does not fail.
func (r *Release) MarshalBinary() ([]byte, error) {
	about := header{Sizes: r.shape.sizes, Sets: r.p.Sets, Law: r.p.Law.String(), Sigma2: r.p.Sigma2, Unbiased: r.p.Unbiased, Unfitted: r.table == nil, Stages: r.stages, Keys: keysOf(r.u)}
	for _, s := range r.simulated {
		about.Steps = append(about.Steps, s.step)
	}
	return seal(sealed.Marginals, about, r.numbers())
}

// MarshalBinary returns the release as bytes. It does not fail.
func (o *OnDemand) MarshalBinary() ([]byte, error) {
	p := o.Params()
	about := header{Sizes: o.exact.shape.sizes, Sets: p.Sets, Law: p.Law.String(), Sigma2: p.Sigma2, Unbiased: p.Unbiased, Seed: o.seed[:], Keys: keysOf(o.exact.u)}
	return seal(sealed.OnDemand, about, o.exact.numbers())
}

// seal writes a stored release.
func seal(kind sealed.Kind, about header, all []any) ([]byte, error) {
	h, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(sealed.Begin(kind, version, 4+len(h)))
	out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(h))))
	out.Write(h)
	body, err := flate.NewWriter(out, flate.BestSpeed)
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
	return sealed.End(out.Bytes()), nil
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
	h, u, body, err := open(u, data, sealed.Marginals)
	if err != nil {
		return nil, err
	}
	p, noisy, err := h.measured(u)
	if err != nil {
		return nil, err
	}
	if !FitsWhole(u) || len(h.Steps) > mostSimulations || h.Unfitted && len(h.Steps) > 0 {
		return nil, sealed.Damaged("its table is not that of the columns")
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
			return nil, sealed.Damaged("a cell of its table is no count")
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
	h, u, body, err := open(u, data, sealed.OnDemand)
	if err != nil {
		return nil, err
	}
	p, noisy, err := h.measured(u)
	if err != nil {
		return nil, err
	}
	if len(h.Seed) != len(seed{}) {
		return nil, sealed.Damaged("its seed is cut short")
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
		return p, nil, sealed.Damaged("its law cannot be read")
	}
	p = Params{Sets: h.Sets, Law: law, Sigma2: h.Sigma2, Unbiased: h.Unbiased}
	if p.check(u) != nil || !slices.Equal(h.Sizes, sizesOf(u)) {
		return p, nil, sealed.Damaged("its marginals are not those of the table")
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
			return sealed.Damaged("its numbers are incomplete")
		}
	}
	return nil
}

// open verifies the envelope of a release over the columns of u, and returns the header, the
// release's own universe and what follows the header.
func open(u *query.Universe, data []byte, kind sealed.Kind) (h header, own *query.Universe, body []byte, err error) {
	if body, err = sealed.Open(kind, version, data); err != nil {
		return h, nil, nil, err
	}
	if len(body) < 4 {
		return h, nil, nil, sealed.Damaged("it has no header")
	}
	size := uint64(binary.LittleEndian.Uint32(body))
	if body = body[4:]; size > uint64(len(body)) || json.Unmarshal(body[:size], &h) != nil {
		return h, nil, nil, sealed.Damaged("its header cannot be read")
	}
	own, err = h.universe(u)
	return h, own, body[size:], err
}
