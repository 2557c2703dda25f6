package postgres

import "context"

const distinctText = `SELECT s.attname::text, max(CASE WHEN s.n_distinct >= 0 THEN s.n_distinct ELSE -s.n_distinct * greatest(c.reltuples, 0) END)::int8
	FROM pg_stats AS s, pg_class AS c WHERE s.schemaname = $1 AND s.tablename = $2 AND c.oid = $3::oid GROUP BY s.attname`

// loosen leaves the domains of columns that are grouped by to be checked on the
// groups, which the reader does anyway, where the server expects hardly more
// values than the domain has: a condition on each row takes up to half as long as
// the whole GROUP BY. Where it expects more, the condition keeps groups that are
// nobody's cells from being made. The choice shows in the time only.
func (r *reader) loosen(ctx context.Context, rel *relation, rows rowset, asked []int) error {
	distinct := make(map[string]int64)
	err := r.rows(ctx, statement{distinctText, texts(rel.schema, rel.name, rel.number()), "dpsql_distinct"}, func(row [][]byte) bool {
		distinct[string(row[0])] = int8Of(row[1])
		return true
	})
	for _, i := range asked {
		c := &rows.columns[i]
		size, finite := c.Domain.All().Size()
		if n, ok := distinct[c.attribute]; ok && finite && n >= 0 && uint64(n) <= size+size/4 {
			c.inside = true
		}
	}
	return err
}
