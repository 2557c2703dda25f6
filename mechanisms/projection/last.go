package projection

import "sync/atomic"

// last remembers what a function gave for the argument it was last asked about:
// statements ask for one confidence, and often for one number of records. Its
// zero value is ready for concurrent use.
type last[K comparable, V any] struct {
	known atomic.Pointer[outcome[K, V]]
}

type outcome[K comparable, V any] struct {
	key   K
	value V
}

// of returns the function's value at key, by find if it is not the last one.
func (l *last[K, V]) of(key K, find func() V) V {
	if o := l.known.Load(); o != nil && o.key == key {
		return o.value
	}
	v := find()
	l.known.Store(&outcome[K, V]{key, v})
	return v
}
