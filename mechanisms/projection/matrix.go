package projection

import (
	"dpsql/noise"
	"dpsql/query"
)

// matrix is the public description of A, drawn before any cell is seen.
type matrix struct {
	key     [16]byte     // of the fingerprints that name elements of a universe without codes
	version uint16       // that it is stored under
	sketch  *countSketch // Sparse
	signs   signs        // Dense
}

// newCoder returns a coder that names elements.
func (m *matrix) newCoder(u *query.Universe) query.Coder {
	switch m.version {
	case first:
		return query.ChainedCoder(u, m.key)
	case second:
		return query.SummedCoder(u, m.key)
	}
	return query.NewCoder(u, m.key)
}

// drawMatrix draws the description of a matrix for the parameters.
func drawMatrix(u *query.Universe, p Params, src *noise.Source) (matrix, error) {
	m := matrix{version: version}
	if err := src.Bytes(m.key[:]); err != nil {
		return matrix{}, err
	}
	var err error
	switch p.Transform {
	case Sparse:
		m.sketch, err = drawCountSketch(p.Rows, u.Coded(), src)
	case Dense:
		m.signs, err = drawSigns(p.Independence, src)
	}
	return m, err
}
