package server

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"dpsql/server/pgcatalog"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// catalogs has the catalog of each user, as long as nothing that it shows has changed.
type catalogs struct {
	mu sync.Mutex
	of map[string]shown
}

// shown is a user's catalog in one state of the database.
type shown struct {
	state   any
	catalog *pgcatalog.Catalog
}

// mostCatalogs bounds how many users' catalogs are kept.
const mostCatalogs = 256

// catalog returns what the connection's user sees of the schema now.
func (c *conn) catalog(ctx context.Context) (*pgcatalog.Catalog, error) {
	state, err := c.session.ShapesState(ctx)
	if err != nil {
		return nil, err
	}
	all := &c.server.catalogs
	all.mu.Lock()
	defer all.mu.Unlock()
	key := c.user
	if c.curator {
		key = "" // no user's name: she sees all tables
	}
	if kept, ok := all.of[key]; ok && kept.state == state {
		return kept.catalog, nil
	}
	shapes, err := c.session.Shapes(ctx)
	if err != nil {
		return nil, err
	}
	picture := pgcatalog.Picture{Database: c.server.config.Name, User: c.user, Version: "PostgreSQL " + Version}
	for _, s := range shapes {
		table := pgcatalog.Table{Name: s.Name, Comment: "public table"}
		if s.Private {
			table.Comment = "private table: its rows are counted with noise"
		}
		for _, col := range s.Columns {
			table.Columns = append(table.Columns, pgcatalog.Column{Name: col.Name, Type: col.Declared, Nullable: col.Nullable, Comment: col.Domain})
		}
		picture.Tables = append(picture.Tables, table)
	}
	made, err := pgcatalog.New(picture)
	if err != nil {
		return nil, err
	}
	if all.of == nil || len(all.of) >= mostCatalogs {
		all.of = make(map[string]shown)
	}
	all.of[key] = shown{state, made}
	return made, nil
}

// ask prepares a statement about the catalog.
func (c *conn) ask(ctx context.Context, text string, q *syntax.Query, types []uint32) (*asked, error) {
	catalog, err := c.catalog(ctx)
	if err != nil {
		return nil, err
	}
	st, err := catalog.PrepareQuery(q, types)
	if err != nil {
		return nil, err
	}
	return &asked{text, catalog, st}, nil
}

// columns returns the columns of the answer.
func (a *asked) columns() []column {
	out := make([]column, len(a.statement.Columns))
	for i, col := range a.statement.Columns {
		out[i] = column{name: col.Name, oid: col.OID, size: col.Size}
	}
	return out
}

// answer runs a statement about the catalog, as the catalog is now. Such a statement reads no
// table of the file and is free.
func (c *conn) answer(ctx context.Context, a *asked, args []any) (*output, error) {
	now, err := c.catalog(ctx)
	if err != nil {
		return nil, err
	}
	st := a.statement
	if now != a.catalog {
		if st, err = now.Prepare(a.text, st.Parameters); err != nil {
			return nil, err
		}
	}
	session := pgcatalog.Session{PID: int(c.number), Setting: c.settings.get, Set: func(name, value string, transaction bool) error {
		return c.set(&verb{name: name, value: value, local: transaction})
	}}
	rows, err := st.Query(ctx, session, args)
	if err != nil && ctx.Err() != nil {
		return nil, sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	}
	if err != nil {
		return nil, err
	}
	return &output{columns: a.columns(), rows: rows.Values, catalog: now, tag: "SELECT", counted: true}, nil
}

// emptyOf returns the table of a query that asks for all columns of a table and for none of
// its rows, or "". Tools learn the columns in this way: SELECT * FROM visits LIMIT 0, or with a
// condition that is never true. The engine has no SELECT * of a private table.
func emptyOf(q *syntax.Query) string {
	b, ok := q.Body.(*syntax.Block)
	if !ok || q.With != nil || q.Order != nil || q.Offset != nil || len(b.Items) != 1 || len(b.From) != 1 ||
		b.Distinct || b.On != nil || b.Group != nil || b.Having != nil || b.Windows != nil {
		return ""
	}
	star, all := b.Items[0].X.(*syntax.Star)
	table, one := b.From[0].(*syntax.Table)
	if !all || star.Of != nil || !one || table.Alias.Columns != nil {
		return ""
	}
	limit, number := numberOf(q.Limit)
	switch {
	case q.Limit != nil && !number, b.Where != nil && !neverTrue(b.Where), b.Where == nil && (!number || limit != 0):
		return ""
	}
	path := table.Path
	if len(path) == 2 && (path[0].Text == "public" || !path[0].Quoted && strings.EqualFold(path[0].Text, "public")) {
		path = path[1:]
	}
	if len(path) > 1 {
		return ""
	}
	return path[0].Text
}

// neverTrue reports whether a condition is one of those that tools write to get no row: FALSE,
// 1 = 0 or 1 <> 1.
func neverTrue(e syntax.Expr) bool {
	switch e := syntax.Inside(e).(type) {
	case *syntax.Literal:
		return e.Kind == syntax.KindWord && e.Value == "FALSE"
	case *syntax.Binary:
		x, left := numberOf(e.X)
		y, right := numberOf(e.Y)
		equal := e.Op == "="
		return left && right && (equal || e.Op == "<>" || e.Op == "!=") && (x == y) != equal
	}
	return false
}

// numberOf returns the number that an expression is.
func numberOf(e syntax.Expr) (n float64, ok bool) {
	l, ok := e.(*syntax.Literal)
	if !ok || l.Kind != syntax.KindInteger && l.Kind != syntax.KindDecimal {
		return 0, false
	}
	n, err := strconv.ParseFloat(l.Value, 64)
	return n, err == nil
}

// noRows is SELECT of none of a private table's rows.
var noRows = &verbForm{
	columns: func(c *conn, v *verb) ([]column, error) { return c.emptyColumns(context.Background(), v.name) },
	run: func(c *conn, v *verb) (*output, error) {
		columns, err := c.emptyColumns(context.Background(), v.name)
		return &output{columns: columns, tag: v.word, counted: true}, err
	},
}

// emptyColumns returns the columns of a private table that the session sees, or nil.
func (c *conn) emptyColumns(ctx context.Context, table string) ([]column, error) {
	shapes, err := c.session.Shapes(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range shapes {
		if !s.Private || !strings.EqualFold(s.Name, table) {
			continue
		}
		out := make([]column, len(s.Columns))
		for i, col := range s.Columns {
			name, _, _ := strings.Cut(col.Declared, "(")
			oid := typeNames[name]
			out[i] = column{name: col.Name, oid: oid, size: sizeOf(oid)}
		}
		return out, nil
	}
	return nil, nil
}
