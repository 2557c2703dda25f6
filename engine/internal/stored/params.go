// Package stored is how releases, mechanisms and answers are written in the catalog:
// their parameters and payloads, the class of queries that a release built by SMW
// promises something for, and the margins that follow from all this. Everything in it
// is public once it is stored.
package stored

import (
	"dpsql/catalog"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"encoding/json"
	"fmt"
)

// The priors a mechanism can start from.
const (
	PriorOfClasses = "classes"
	UniformPrior   = "uniform"
)

// MechanismParams are the parameters of a mechanism as they are stored.
type MechanismParams struct {
	smw.Params
	Prior string `json:"prior"` // classes or uniform
}

// ReadMechanism reads the parameters of a mechanism.
func ReadMechanism(m *catalog.Mechanism) (MechanismParams, error) {
	var p MechanismParams
	if json.Unmarshal(m.Params, &p) != nil || p.Check() != nil {
		return p, sqlerr.New(sqlerr.Corrupt, "the parameters of mechanism %s cannot be read", m.Name)
	}
	return p, nil
}

// SpentRuns reports whether the mechanism can verify nothing more: its runs or its
// comparisons are used up.
func SpentRuns(m *catalog.Mechanism, p smw.Params) bool {
	return m.Comparisons >= p.Queries || m.Run == nil && m.RunsStarted >= m.Updates
}

// DecodePrior returns the prior that a state holds, nil for the uniform one.
func DecodePrior(u *query.Universe, prior string, state []byte) (*smw.Classes, error) {
	switch prior {
	case PriorOfClasses:
		return smw.DecodeClasses(u, state)
	case UniformPrior, "": // "" as long as there was no choice
		return nil, nil
	}
	return nil, sqlerr.New(sqlerr.Corrupt, "a stored prior is of no known kind")
}

// ReleaseAbout describe a release in the catalog, for people.
type ReleaseAbout struct {
	Transform string `json:"transform"`
	Rows      uint64 `json:"rows"`
	Law       string `json:"law"`
	Sampler   string `json:"sampler"`
	Heavy     string `json:"heavy,omitempty"`
	Clip      int64  `json:"clip,omitempty"`
	Threshold int64  `json:"threshold,omitempty"`
	Published int    `json:"published,omitempty"` // heavy cells that the release names
}

// Shape describes in a few words what was chosen for a release.
func (p ReleaseAbout) Shape() string {
	text := fmt.Sprintf("%s, %d rows", p.Transform, p.Rows)
	switch projection.Form(p.Heavy) {
	case projection.Clipped:
		text += fmt.Sprintf(", %d heavy cells published above clip %d", p.Published, p.Clip)
	case projection.Named:
		text += fmt.Sprintf(", %d heavy cells named", p.Published)
	}
	return text
}
