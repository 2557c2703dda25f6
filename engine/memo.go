package engine

import "sync"

// maxMemo bounds what a memo keeps; past it, it starts anew.
const maxMemo = 4096

// memo remembers the results of a pure function that is slow beside a query:
// the half-widths and prices that noise laws imply. The zero value is empty.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

func (m *memo[K, V]) get(key K, compute func() V) V {
	m.mu.Lock()
	v, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return v
	}
	v = compute()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMemo {
		m.known = make(map[K]V)
	}
	m.known[key] = v
	return v
}
