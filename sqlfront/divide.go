package sqlfront

import (
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// divide returns the groups that records can be in, in the order of their keys,
// and each slot's query in each of them, over the private table's columns.
func (o *outputs) divide() ([][]query.Value, []query.Query, error) {
	rows, err := o.resolve(o.rows)
	if err != nil {
		return nil, nil, err
	}
	bases, err := o.resolveAll(o.bases)
	for k := range bases {
		o.slots[k].Base = bases[k]
	}
	if err != nil || len(o.keys) == 0 {
		return [][]query.Value{nil}, bases, err
	}
	d := divider{none: query.None(o.table.Universe()), limit: maxNumbers / max(1, len(bases))}
	for _, k := range o.keys {
		cells := make([]query.Query, len(k.cells))
		for i, c := range k.cells {
			cells[i] = c.where.query(o.u)
		}
		if cells, err = o.resolveAll(cells); err != nil {
			return nil, nil, err
		}
		d.cells = append(d.cells, cells)
	}
	if err := o.affordable(d.cells, bases); err != nil {
		return nil, nil, err
	}
	if err := d.divide(o.keys, rows, bases, nil); err != nil {
		return nil, nil, err
	}
	if len(d.groups) > d.limit {
		return nil, nil, sqlerr.New(sqlerr.Unsupported, "more than %d groups of %d numbers are outside the dialect: at most %d numbers",
			d.limit, len(bases), maxNumbers).
			WithHint("select fewer values in WHERE, or ask for the aggregates one by one").At(o.g.Find("GROUP").Position)
	}
	return d.groups, d.queries, nil
}

func (o *outputs) resolveAll(queries []query.Query) ([]query.Query, error) {
	out := make([]query.Query, len(queries))
	for i, q := range queries {
		var err error
		if out[i], err = o.resolve(q); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxCopies bounds the branches that dividing copies: those of a slot's query
// above the last column that is grouped by, once a group.
const maxCopies = 1 << 20

// affordable refuses to divide long diagrams into many groups.
func (o *outputs) affordable(cells [][]query.Query, bases []query.Query) error {
	groups, last := 1, 0
	for _, list := range cells {
		groups *= max(1, len(list))
		for _, q := range list {
			if columns := q.Columns(); len(columns) > 0 {
				last = max(last, columns[len(columns)-1])
			}
		}
	}
	for _, b := range bases {
		if b.Branches(last)*groups > maxCopies {
			return sqlerr.New(sqlerr.Unsupported, "the sum of a column with this many values in %d groups is outside the dialect", groups).
				WithHint("declare the summed column behind those grouped by, or bin it in a view").At(o.g.Find("GROUP").Position)
		}
	}
	return nil
}

// divider collects groups.
type divider struct {
	none    query.Query
	cells   [][]query.Query // of each key
	limit   int             // on the number of groups
	groups  [][]query.Value
	queries []query.Query
}

// divide splits records and slots by the keys that are left.
func (d *divider) divide(keys []key, rows query.Query, bases []query.Query, values []query.Value) error {
	if len(d.groups) > d.limit {
		return nil
	}
	if len(keys) == 0 {
		d.groups = append(d.groups, slices.Clone(values))
		d.queries = append(d.queries, bases...)
		return nil
	}
	for i, in := range d.cells[len(values)] {
		here, err := rows.And(in)
		if err != nil {
			return err
		}
		if here.Equal(d.none) {
			continue
		}
		split := make([]query.Query, len(bases))
		for k, b := range bases {
			if b.Equal(rows) {
				split[k] = here
			} else if split[k], err = b.And(in); err != nil {
				return err
			}
		}
		if err := d.divide(keys[1:], here, split, append(values, keys[0].cells[i].value)); err != nil {
			return err
		}
	}
	return nil
}
