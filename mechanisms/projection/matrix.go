package projection

import (
	"dpsql/noise"
	"dpsql/query"
)

// matrix is the public description of A, drawn before any cell is seen.
type matrix struct {
	key    [16]byte     // of the fingerprints that name elements of a universe without codes
	sketch *countSketch // Sparse
	signs  signs        // Dense
}

// drawMatrix draws the description of a matrix for the parameters.
func drawMatrix(u *query.Universe, p Params, src *noise.Source) (matrix, error) {
	var m matrix
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
