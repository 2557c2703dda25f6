package projection

import (
	"crypto/sha256"
	"encoding/binary"

	"dpsql/query"
	"dpsql/sqlerr"
)

// A stored release is
//
//	"dpsqlprj"  version  sections  { name  length  payload }…  SHA-256
//
// with version and the number of sections as 16-bit, lengths as 64-bit numbers
// and names of four bytes; all numbers are little-endian. The checksum covers
// everything before it and guards against accidents, not against forgery.
// It has the sections below, in this order, the last one only where heavy cells
// are published. Versions differ in how records of a universe without codes are
// named. A reader refuses versions and sections it does not know,
// so a section can be added without a new version.
const (
	magic   = "dpsqlprj"
	version = 3
	second  = 2
	first   = 1 // the earliest version that is read

	sectionParams = "PARM"
	sectionMatrix = "MATR"
	sectionCells  = "CELL"
	sectionHeavy  = "HEAV"
)

// The sizes of the parts of the envelope.
const (
	headerSize        = len(magic) + 4
	sectionHeaderSize = 4 + 8
)

type section struct {
	name    string
	payload []byte
}

// MarshalBinary returns the release as bytes: close to one byte a row for noise
// of scale up to 17, more for wider noise. It does not fail.
func (r *Release) MarshalBinary() ([]byte, error) {
	sections := []section{
		{sectionParams, r.encodeParams()},
		{sectionMatrix, r.encodeMatrix()},
		{sectionCells, encodeVector(r.sketch)},
	}
	if r.p.Heavy.Form != Whole {
		sections = append(sections, section{sectionHeavy, r.encodeHeavy()})
	}
	size := headerSize + sha256.Size
	for _, s := range sections {
		size += sectionHeaderSize + len(s.payload)
	}
	out := append(make([]byte, 0, size), magic...)
	out = binary.LittleEndian.AppendUint16(out, r.matrix.version)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(sections)))
	for _, s := range sections {
		out = append(out, s.name...)
		out = binary.LittleEndian.AppendUint64(out, uint64(len(s.payload)))
		out = append(out, s.payload...)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

// Unmarshal reads a release over u that MarshalBinary wrote. Bytes that do not
// verify, and a release over another universe, are corrupt; a version or a
// section of a later dpsql is unsupported. It copies what it keeps of data and
// takes no more memory than a small multiple of its length.
func Unmarshal(u *query.Universe, data []byte) (*Release, error) {
	sections, v, err := open(data)
	if err != nil {
		return nil, err
	}
	var r Release
	r.u = u
	if err := r.decodeParams(sections[sectionParams]); err != nil {
		return nil, err
	}
	m, err := decodeMatrix(u, r.p, v, sections[sectionMatrix])
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
	return newRelease(u, r.p, m, sketch, r.heavy), nil
}

// open verifies the envelope and returns the payloads by name, and the version.
func open(data []byte) (sections map[string][]byte, v uint16, err error) {
	end := len(data) - sha256.Size
	if end < headerSize || string(data[:len(magic)]) != magic {
		return nil, 0, damaged("it does not begin as a release")
	}
	if sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return nil, 0, damaged("its checksum does not fit")
	}
	if v = binary.LittleEndian.Uint16(data[len(magic):]); v < first || v > version {
		return nil, 0, newer("version %d", v)
	}
	count := int(binary.LittleEndian.Uint16(data[len(magic)+2:]))
	sections, err = split(data[headerSize:end], count)
	return sections, v, err
}

// split cuts the body into its sections, which must be those of this version.
func split(body []byte, count int) (map[string][]byte, error) {
	sections := make(map[string][]byte)
	order := []string{sectionParams, sectionMatrix, sectionCells, sectionHeavy}
	for i := range count {
		if len(body) < sectionHeaderSize {
			return nil, damaged("a section is cut short")
		}
		name, size := string(body[:4]), binary.LittleEndian.Uint64(body[4:])
		body = body[sectionHeaderSize:]
		switch {
		case i >= len(order) || name != order[i]:
			return nil, newer("a section %q in place %d", name, i+1)
		case size > uint64(len(body)):
			return nil, damaged("a section is cut short")
		}
		sections[name], body = body[:size], body[size:]
	}
	if len(body) > 0 || len(sections) < len(order)-1 {
		return nil, damaged("its sections are incomplete")
	}
	return sections, nil
}

func damaged(what string) error {
	return sqlerr.New(sqlerr.Corrupt, "the stored release does not verify: %s", what).
		WithHint("restore the file from a backup, or drop the release and build it again at a new charge")
}

func newer(format string, args ...any) error {
	return sqlerr.New(sqlerr.Unsupported, "the stored release has "+format+", which this dpsql does not know", args...).
		WithHint("open it with a newer dpsql")
}
