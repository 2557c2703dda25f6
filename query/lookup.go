package query

// Lookup says that columns of a universe are not columns of the records, but
// what a public table has in the row of a key: the row whose key equals the
// record's value in column Key. A record without a row is not in the join.
type Lookup struct {
	Key     int   // a column of the records
	Columns []int // what is looked up
	Rows    []LookupRow
}

// LookupRow is a row of the public table. Keys differ.
type LookupRow struct {
	Key    Value
	Values []Value // one for each of Lookup.Columns
}

// Resolve returns the query with the looked-up columns replaced by what they
// are, so that it no longer depends on them: the sum over the distinct
// combinations of looked-up values of the query with these values put in, where
// the key is one that has them. A query that does not depend on them is
// returned as it is.
func (q Query) Resolve(l Lookup) (Query, error) {
	used := l.used(q)
	if len(used) == 0 {
		return q, nil
	}
	type combination struct {
		values map[int]Value
		keys   []Value
	}
	index := make(map[string]int)
	var all []combination
	for _, r := range l.Rows {
		values := make(map[int]Value, len(used))
		name := ""
		for _, i := range used {
			values[l.Columns[i]] = r.Values[i]
			name += r.Values[i].String() + ","
		}
		k, ok := index[name]
		if !ok {
			k = len(all)
			index[name] = k
			all = append(all, combination{values: values})
		}
		all[k].keys = append(all[k].keys, r.Key)
	}
	d := q.u.columns[l.Key].Domain
	parts := []Query{None(q.u)}
	for _, c := range all {
		put := Query{q.u, q.put(c.values)}
		part, err := put.And(Where(q.u, l.Key, d.Of(c.keys...)))
		if err != nil {
			return Query{}, err
		}
		if !part.root.isZero() {
			parts = append(parts, part)
		}
	}
	for len(parts) > 1 { // pairwise, so that n small parts cost n log n
		var sums []Query
		for i := 0; i+1 < len(parts); i += 2 {
			sum, err := parts[i].Plus(parts[i+1])
			if err != nil {
				return Query{}, err
			}
			sums = append(sums, sum)
		}
		if len(parts)%2 == 1 {
			sums = append(sums, parts[len(parts)-1])
		}
		parts = sums
	}
	return parts[0], nil
}

// used returns the indices of the looked-up columns that a query depends on.
func (l Lookup) used(q Query) []int {
	has := make(map[int]bool)
	for _, c := range q.Columns() {
		has[c] = true
	}
	var used []int
	for i, c := range l.Columns {
		if has[c] {
			used = append(used, i)
		}
	}
	return used
}

// put returns the diagram with values put in for columns.
func (q Query) put(values map[int]Value) *node {
	done := make(map[*node]*node)
	var walk func(n *node) *node
	walk = func(n *node) *node {
		if n.isLeaf() {
			return n
		}
		if m, ok := done[n]; ok {
			return m
		}
		d := q.u.columns[n.level].Domain
		var m *node
		if v, ok := values[n.level]; ok {
			m = walk(n.child(d, v))
		} else if n.rest == nil {
			spans := make([]span, len(n.spans))
			for i, s := range n.spans {
				spans[i] = span{s.Range, walk(s.to)}
			}
			m = newSpans(n.level, d, spans)
		} else {
			cases := make([]valueCase, len(n.cases))
			for i, c := range n.cases {
				cases[i] = valueCase{c.value, walk(c.to)}
			}
			m = newCases(n.level, cases, walk(n.rest))
		}
		done[n] = m
		return m
	}
	return walk(q.root)
}

// Within returns the query over a universe of the first columns of its own;
// false when it depends on another column.
func (q Query) Within(u *Universe) (Query, bool) {
	for _, c := range q.Columns() {
		if c >= len(u.columns) {
			return Query{}, false
		}
	}
	return Query{u, q.root}, true
}
