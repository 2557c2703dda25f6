package query

import "math/big"

// What the tests reach behind the exported names. They are package query_test.

const MaxBranches, MaxCode, MaxHashes, MaxSteps = maxBranches, maxCode, maxHashes, maxSteps

func (d Domain) Ordinals(first, end uint64) Set                { return d.ordinals(first, end) }
func (q Query) Measure(f func(weight int64) *big.Int) *big.Int { return q.measure(f) }
func (q *Query) SetUniverse(u *Universe)                       { q.u = u }
func (l Lookup) Used(q Query) []int                            { return l.used(q) }
func (c *Coder) Stride() []uint64                              { return c.stride }
func (b Box) Each(x Element, f func(Element) bool) bool        { return b.each(x, f) }
func (w *Work) SetBranches(n int)                              { w.branches = n }

func Merge[T any](s []T, n int, compare func(a, b T) int) { merge(s, n, compare) }
func Seek(i, n int, before func(int) bool) int            { return seek(i, n, before) }
