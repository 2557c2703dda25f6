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
	n, err := r.resolve(q.root)
	return Query{q.u, n}, err
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
func (r *resolver) resolve(n *node) (*node, error) {
	if n.isZero() {
		return zero, nil
	}
	if m, ok := r.done[n]; ok {
		return m, nil
	}
	m, err := r.branch(n)
	if err == nil {
		r.done[n] = m
	}
	return m, err
}

func (r *resolver) branch(n *node) (*node, error) {
	if n.level >= r.key {
		return r.keys(n)
	}
	if r.branches += len(n.spans) + len(n.cases); r.branches > maxBranches {
		return nil, errBranches()
	}
	if n.rest == nil {
		spans := make([]span, len(n.spans))
		for i, s := range n.spans {
			to, err := r.resolve(s.to)
			if err != nil {
				return nil, err
			}
			spans[i] = span{s.Range, to}
		}
		return newSpans(n.level, r.q.u.columns[n.level].Domain, spans), nil
	}
	rest, err := r.resolve(n.rest)
	if err != nil {
		return nil, err
	}
	cases := make([]valueCase, len(n.cases))
	for i, c := range n.cases {
		to, err := r.resolve(c.to)
		if err != nil {
			return nil, err
		}
		cases[i] = valueCase{c.value, to}
	}
	return newCases(n.level, cases, rest), nil
}

// keys returns a node that branches on the key. Each key leads where n leads
// with it, after substitution of its row.
func (r *resolver) keys(n *node) (*node, error) {
	d := r.q.u.columns[r.key].Domain
	if r.branches += len(r.rows); r.branches > maxBranches {
		return nil, errBranches()
	}
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
		return newSpans(r.key, d, spans), nil
	}
	sortCases(cases)
	return newCases(r.key, cases, zero), nil
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
