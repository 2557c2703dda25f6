package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"dpsql/catalog"
)

// answerMemory holds the unfired answers of the present lease. They are not
// worth a commit each: they are stored when the lease is given back, and a
// crash loses them together with their run.
type answerMemory struct {
	mu    sync.RWMutex
	byKey map[answerKey][]catalog.Answer
}

type answerKey struct {
	table  int64
	digest [32]byte
}

func keyOf(r request) answerKey { return answerKey{r.table.ID, r.query.Digest()} }

// digest names the query and its table in one word.
func (r request) digest() [32]byte {
	k := keyOf(r)
	return sha256.Sum256(binary.BigEndian.AppendUint64(k.digest[:], uint64(k.table)))
}

func (m *answerMemory) find(r request) []catalog.Answer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.byKey[keyOf(r)]
}

func (m *answerMemory) put(r request, a catalog.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil {
		m.byKey = make(map[answerKey][]catalog.Answer)
	}
	m.byKey[keyOf(r)] = append(m.byKey[keyOf(r)], a)
}

// all returns the answers of each mechanism.
func (m *answerMemory) all() map[int64][]catalog.Answer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make(map[int64][]catalog.Answer)
	for _, answers := range m.byKey {
		for _, a := range answers {
			out[a.MechanismID] = append(out[a.MechanismID], a)
		}
	}
	return out
}

func (m *answerMemory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.byKey)
}
