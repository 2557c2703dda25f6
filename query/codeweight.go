package query

// WeightOf returns the weight of the record with the given code, in a query
// over a coded universe. The code must be below |X|.
func (q Query) WeightOf(code uint64) int64 {
	n := q.root
	for !n.isLeaf() {
		o := code / q.u.stride[n.level] % q.u.columns[n.level].Domain.Size()
		n = n.at(o)
	}
	return n.weight
}
