package released

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/query"
	"dpsql/sqlerr"
)

// ReleaseAbout describes a release in the catalog, for people. Chooses also says how it answers.
type ReleaseAbout struct {
	Transform string `json:"transform"`
	Rows      uint64 `json:"rows"`
	Law       string `json:"law"`
	Sampler   string `json:"sampler"`
	Heavy     string `json:"heavy,omitempty"`
	Clip      int64  `json:"clip,omitempty"`
	Threshold int64  `json:"threshold,omitempty"`
	Published int    `json:"published,omitempty"` // heavy cells that the release names
	Texts     bool   `json:"texts,omitempty"`     // with their texts
	Fitted    bool   `json:"fitted,omitempty"`    // a table was fitted to the cells
	Unfitted  bool   `json:"unfitted,omitempty"`  // a table is yet to be fitted to them
	Chooses   bool   `json:"chooses,omitempty"`   // the table answers only where it is predicted to err less than the cells
}

// Shape summarises the choices made for a release.
func (p ReleaseAbout) Shape() string {
	text := fmt.Sprintf("%s, %d rows", p.Transform, p.Rows) + p.Answers()
	switch projection.Form(p.Heavy) {
	case projection.Clipped:
		text += fmt.Sprintf(", %d heavy cells published above clip %d", p.Published, p.Clip)
	case projection.Named:
		text += fmt.Sprintf(", %d heavy cells named", p.Published)
	}
	return text
}

// Answers says what answers queries besides the cells. It is "", or begins with a comma.
func (p ReleaseAbout) Answers() (text string) {
	switch {
	case p.Fitted && p.Chooses:
		text = ", fitted where better"
	case p.Fitted:
		text = ", fitted"
	}
	if p.Unfitted {
		text += ", not fitted yet"
	}
	return text
}

// fitMagic begins a payload that joins an identity release and a fit to its cells: the
// magic, the length of the release in 64 bits, little-endian, the release, and the fit. Both
// have checksums of their own.
const fitMagic = "dpsqlfit"

// JoinFit joins the payload of an identity release and a fit to its cells.
func JoinFit(release []byte, fit *marginals.Release) ([]byte, error) {
	fitted, err := fit.MarshalBinary()
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint64([]byte(fitMagic), uint64(len(release)))
	return append(append(out, release...), fitted...), nil
}

// DecodeProjection reads a projection release, and the fit to its cells if there is one.
func DecodeProjection(u *query.Universe, payload []byte) (*projection.Release, *marginals.Release, error) {
	rest, joined := bytes.CutPrefix(payload, []byte(fitMagic))
	if !joined {
		release, err := projection.Unmarshal(u, payload)
		return release, nil, err
	}
	if len(rest) < 8 || binary.LittleEndian.Uint64(rest) > uint64(len(rest)-8) {
		return nil, nil, sqlerr.New(sqlerr.Corrupt, "a stored release is damaged: it is cut short")
	}
	length := binary.LittleEndian.Uint64(rest)
	release, err := projection.Unmarshal(u, rest[8:8+length])
	if err != nil {
		return nil, nil, err
	}
	fit, err := marginals.Unmarshal(u, rest[8+length:])
	return release, fit, err
}
