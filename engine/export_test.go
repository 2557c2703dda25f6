package engine

import (
	"context"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/page"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// What the tests reach behind the exported names. They are package engine_test.

func (db *DB) Store() *catalog.Store                           { return db.store }
func (db *DB) Role() Role                                      { return db.role }
func (db *DB) Answers() *answer.Database                       { return db.answers }
func (db *DB) Rows() *rows.Reader                              { return db.rows }
func (db *DB) Desk() *pay.Desk                                 { return db.desk }
func (db *DB) Current(ctx context.Context) (*view.View, error) { return db.answers.Current(ctx, 0) }

// Page returns what a page has of releases and of all public tables, and their payloads.
func (s *Session) Page(ctx context.Context, names ...string) (page.Picture, [][]byte, error) {
	v, err := s.db.View(ctx)
	if err != nil {
		return page.Picture{}, nil, err
	}
	var all []syntax.Name
	for _, name := range names {
		all = append(all, syntax.Name{Text: name})
	}
	var publics []syntax.Name
	for _, name := range v.Publics {
		publics = append(publics, syntax.Name{Text: name})
	}
	return s.pictured(ctx, v, all, publics)
}

// View reads the public catalog, bypassing the cache.
func (db *DB) View(ctx context.Context) (v *view.View, err error) {
	err = db.store.Read(ctx, func(tx *catalog.Tx) error {
		v, err = view.Read(tx)
		return err
	})
	return v, err
}

// Random returns the function that makes sources of noise. SetRandom replaces it, and
// SetCoins the one of other random bits.
func (db *DB) Random() func() *noise.Source {
	if db.desk.Random != nil {
		return db.desk.Random
	}
	return noise.NewSource
}
func (db *DB) SetRandom(random func() *noise.Source) { db.desk.Random = random }
func (db *DB) SetCoins(coins func() *coin.Source)    { db.coins = coins }
func (db *DB) SetNow(now func() time.Time)           { db.now = now }

func (s *Session) DB() *DB                         { return s.db }
func (s *Session) Asker() answer.Asker             { return s.asker() }
func (s *Session) Declaration() *declare.Statement { return s.declaration() }

// Bind binds a SELECT against a view.
func (s *Session) Bind(ctx context.Context, v *view.View, sel *syntax.Select, args []query.Value) (*answer.Statement, error) {
	return s.db.answers.Bind(ctx, s.asker(), v, []released.Selection{{Select: sel, Args: args}})
}

// Cores cuts a statement, and returns the private aggregates in it.
func (s *Session) Cores(ctx context.Context, p *Prepared) (cores []*syntax.Select) {
	if p.read.Query == nil {
		return nil
	}
	st, _ := p.around()
	v, err := s.current(ctx)
	if err != nil || st == nil {
		return nil
	}
	c, err := s.surroundings(v).Cut(ctx, released.Surrounded{Statement: st}, nil, nil)
	if err != nil {
		return nil
	}
	for _, ask := range c.Asks {
		cores = append(cores, ask.Select)
	}
	return cores
}

// Plan plans a SELECT.
func (s *Session) Plan(ctx context.Context, sel *syntax.Select, args []query.Value, how answer.Planning) (*answer.Statement, error) {
	return s.db.answers.Plan(ctx, s.asker(), []released.Selection{{Select: sel, Args: args}}, how)
}
