package smw

import (
	"encoding/binary"
	"math"

	"dpsql/sqlerr"
)

// snapshotVersion is the first byte of a snapshot.
const snapshotVersion = 1

// Snapshot returns the weights as bytes, for Restore. It holds nothing but
// public values that follow from the steps: it saves repeating their
// projections, and keeps answers the same to the last bit on another machine.
func (h *Hypothesis) Snapshot() []byte {
	b := make([]byte, 0, 17+8*len(h.weights))
	b = append(b, snapshotVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.updates))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(h.unit))
	for _, w := range h.weights {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(w))
	}
	return b
}

// Restore brings a new hypothesis to the state after the given steps, which the
// snapshot was taken after. It fails with code corrupt when the two do not
// belong together; the hypothesis is then of no use.
func (h *Hypothesis) Restore(steps []Step, snapshot []byte) error {
	for _, s := range steps {
		if err := h.params.Admits(s.Query); err != nil {
			return err
		}
		p, err := h.assign(s.Query)
		if err != nil {
			return err
		}
		p.noisy = float64(s.Noisy)
		if h.params.Update == Projection {
			h.history = append(h.history, p)
		}
		h.updates++
	}
	return h.load(snapshot)
}

// load sets the weights of the assigned variables and of the others.
func (h *Hypothesis) load(b []byte) error {
	if len(b) != 17+8*len(h.weights) || b[0] != snapshotVersion ||
		binary.LittleEndian.Uint64(b[1:]) != uint64(h.updates) {
		return errSnapshot()
	}
	valid := func(w float64) bool { return w >= smallest && w <= large*large }
	h.unit = math.Float64frombits(binary.LittleEndian.Uint64(b[9:]))
	if !valid(h.unit) {
		return errSnapshot()
	}
	for i := range h.weights {
		w := math.Float64frombits(binary.LittleEndian.Uint64(b[17+8*i:]))
		if !valid(w) {
			return errSnapshot()
		}
		h.weights[i] = w
	}
	h.recount()
	return nil
}

func errSnapshot() error {
	return sqlerr.New(sqlerr.Corrupt, "a stored hypothesis does not belong to its updates")
}
