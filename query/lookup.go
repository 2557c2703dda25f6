package query

// Lookup joins the records with a public table. It says that some columns of a
// universe are not columns of the records: their values come from the row of
// the table whose key equals the record's value in column Key. A record without
// such a row is not in the join.
type Lookup struct {
	Key     int   // a column of the records
	Columns []int // the looked-up columns; all come after Key
	Rows    []LookupRow
}

// LookupRow is a row of the public table. Keys are distinct.
type LookupRow struct {
	Key    Value
	Values []Value // one for each of Lookup.Columns
}

// Resolve returns the query as a function of the records' own columns: for each
// key it substitutes the values of the key's row, and it is 0 where there is no
// row. A query that does not depend on looked-up columns is returned unchanged.
// Resolve is refused as unsupported when the diagram exceeds its limit.
func (q Query) Resolve(l Lookup) (Query, error) {
	used := l.used(q)
	if len(used) == 0 {
		return q, nil
	}
	r := resolver{q: q, key: l.Key, rows: make(map[Value]int, len(l.Rows)),
		put: make(map[substitution]*node), done: make(map[*node]*node)}
	index := make(map[string]int) // of distinct used values, into r.values
	for _, row := range l.Rows {
		var name []byte
		for _, i := range used {
			name = appendValue(name, row.Values[i])
		}
		k, ok := index[string(name)]
		if !ok {
			k = len(r.values)
			index[string(name)] = k
			values := make(map[int]Value, len(used))
			for _, i := range used {
				values[l.Columns[i]] = row.Values[i]
			}
			r.values = append(r.values, values)
		}
		r.rows[row.Key] = k
	}
	n := r.resolve(q.root)
	if r.branches > maxBranches {
		return Query{}, errBranches()
	}
	return Query{q.u, n}, nil
}

// resolver replaces looked-up columns in one pass over a diagram.
type resolver struct {
	q        Query
	key      int
	rows     map[Value]int   // the index into values of each key's row
	values   []map[int]Value // by column
	put      map[substitution]*node
	done     map[*node]*node
	branches int
}

// substitution is a node together with the values to substitute in it, an index
// into resolver.values.
type substitution struct {
	n      *node
	values int
}

// resolve returns the node with looked-up columns replaced by a branch for each
// key.
func (r *resolver) resolve(n *node) *node {
	m, ok := r.done[n]
	switch {
	case ok:
		return m
	case n.isZero() || r.branches > maxBranches: // then the whole is refused
		return zero
	case n.level >= r.key:
		m = r.keys(n)
	default:
		r.branches += len(n.spans) + len(n.cases)
		m = n.mapped(n.level, r.q.u.columns[n.level].Domain, r.resolve)
	}
	r.done[n] = m
	return m
}

// keys returns a node that branches on the key. Each key leads where n leads
// with it, after substitution of its row.
func (r *resolver) keys(n *node) *node {
	d := r.q.u.columns[r.key].Domain
	r.branches += len(r.rows)
	var spans []span
	var cases []valueCase
	for key, values := range r.rows {
		to := n
		if n.level == r.key {
			to = n.child(d, key)
		}
		if to.isZero() {
			continue
		}
		with := substitution{to, values}
		m, ok := r.put[with]
		if !ok {
			m = Query{r.q.u, to}.put(r.values[values])
			r.put[with] = m
		}
		if o, ok := d.Ordinal(key); ok {
			spans = append(spans, span{Range{o, o}, m})
		} else if !d.Finite() && d.Contains(key) {
			cases = append(cases, valueCase{key, m})
		}
	}
	if d.Finite() {
		sortSpans(spans)
		return newSpans(r.key, d, spans)
	}
	sortCases(cases)
	return newCases(r.key, cases, zero)
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

// put returns the diagram with the columns replaced by the given values.
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
		} else {
			m = n.mapped(n.level, d, walk)
		}
		done[n] = m
		return m
	}
	return walk(q.root)
}

// OverPrefix returns the query over u, whose columns are the first columns of
// the query's universe. It returns false when the query depends on another
// column.
func (q Query) OverPrefix(u *Universe) (Query, bool) {
	for _, c := range q.Columns() {
		if c >= len(u.columns) {
			return Query{}, false
		}
	}
	return Query{u, q.root}, true
}
