package around

import (
	"context"
	"time"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// Parse reads a text as a statement.
func Parse(text string) (*Statement, error) {
	r, err := syntax.Read(text)
	if err != nil {
		return nil, err
	}
	if r.Query == nil {
		return nil, r.Tokens[0].Malformed("expected SELECT, VALUES or WITH")
	}
	return Of(r)
}

// SetTime shortens the time that a statement has.
func (db *Database) SetTime(d time.Duration) { db.time = d }

// RunText runs a text that Parse has not seen, so that SQLite's own walls are tried alone. The
// authorizer takes it for a statement that names the tables.
func (db *Database) RunText(ctx context.Context, text string, tables []string, from Source) (*Result, error) {
	s, err := Parse("SELECT 1")
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		named, err := Parse("SELECT * FROM " + t)
		if err != nil {
			return nil, err
		}
		s.Tables = append(s.Tables, named.Tables...)
		s.names[query.FoldName(t)] = true
	}
	s.text, s.typed = text, text
	return db.Run(ctx, s, from, nil)
}

// RunAround runs a text that Parse has not seen, as a statement around a core.
func (db *Database) RunAround(ctx context.Context, text string, core *Table, from Source) (*Result, error) {
	s, err := Parse("SELECT * FROM " + query.Quoted(core.Name))
	if err != nil {
		return nil, err
	}
	s.cores = []string{core.Name}
	s.Tables, s.text, s.typed, from.Cores = nil, text, text, []*Table{core}
	return db.Run(ctx, s, from, nil)
}

// Text returns what SQLite gets.
func (s *Statement) Text() string { return s.text }

// Query returns the tree of a core.
func (c *Core) Query() *syntax.Query { return c.query }
