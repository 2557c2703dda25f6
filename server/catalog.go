package server

import (
	"context"
	"sync"

	"dpsql/server/pgcatalog"
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

// asked is a prepared statement about the catalog.
type asked struct {
	text      string
	catalog   *pgcatalog.Catalog // that gave the statement its types
	statement *pgcatalog.Statement
}

// ask prepares a statement about the catalog.
func (c *conn) ask(ctx context.Context, text string, types []uint32) (*asked, error) {
	catalog, err := c.catalog(ctx)
	if err != nil {
		return nil, err
	}
	st, err := catalog.Prepare(text, types)
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
	if err != nil {
		return nil, err
	}
	return &output{columns: a.columns(), rows: rows.Values, catalog: now, tag: "SELECT", counted: true}, nil
}
