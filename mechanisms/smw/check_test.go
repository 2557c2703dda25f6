package smw

import (
	"math"
	"math/big"
	"testing"

	"dpsql/sqlerr"
)

// Parameters that Plan made pass, and with any one of them out of range they do
// not.
func TestCheck(t *testing.T) {
	for _, r := range []Request{
		{MaxUpdates: 20, MaxSupport: 100, Queries: 1000, Beta: 0.05, NHat: 5000, Sensitivity: 2, MaxWeight: 1},
		{MaxUpdates: 1, MaxSupport: 1, Queries: 1, Beta: 0.5, NHat: 1, Sensitivity: 1, MaxWeight: 7, Update: Paper},
		{Alpha: 0.9, MaxSupport: 100, Queries: 1e15, Beta: 1e-12, NHat: 1e6, NHatBound: 20, Sensitivity: 1, MaxWeight: 1},
	} {
		r.RunEpsilon = func(int64) *big.Rat { return big.NewRat(7, 2) }
		if r.Update == "" {
			r.Update = Projection
		}
		good, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
		for i, spoil := range []func(*Params){
			func(p *Params) { p.S = 0 }, func(p *Params) { p.S = math.MaxUint64 }, func(p *Params) { p.MaxSupport = 0 },
			func(p *Params) { p.Updates = -1 }, func(p *Params) { p.Updates = math.MaxInt64 }, func(p *Params) { p.Queries = 0 },
			func(p *Params) { p.MaxWeight = 0 }, func(p *Params) { p.MaxWeight = math.MinInt64 }, func(p *Params) { p.NHat = 0 },
			func(p *Params) { p.NHat = math.MaxInt64 }, func(p *Params) { p.Sensitivity = 0 }, func(p *Params) { p.Sensitivity = limit + 1 },
			func(p *Params) { p.Threshold = 0 }, func(p *Params) { p.Bound = -1 }, func(p *Params) { p.Floor = 0 }, func(p *Params) { p.Replay = -1 },
			func(p *Params) { p.Beta = 1 }, func(p *Params) { p.Beta = math.NaN() }, func(p *Params) { p.Eta = math.NaN() }, func(p *Params) { p.Eta = 2 },
			func(p *Params) { p.Alpha = -1 }, func(p *Params) { p.Alpha = math.Inf(1) }, func(p *Params) { p.Update = "other" },
			func(p *Params) { p.Eps1 = nil }, func(p *Params) { p.Eps1 = new(big.Rat) }, func(p *Params) { p.Eps2 = big.NewRat(-1, 2) },
			func(p *Params) { p.Eps2 = big.NewRat(1, math.MaxInt64) }, func(p *Params) { p.Eps1 = new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 4096)) },
		} {
			bad := good
			spoil(&bad)
			if err := bad.Check(); sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Errorf("spoiled %d: %v", i, err)
			}
		}
	}
}
