// Package rows is the only reader of private rows. Every reading takes a *pay.Receipt, which only package pay can fill, after
// the charge is on disk. The results are true counts: they must pass a mechanism before anyone sees them.
package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/source"
	"dpsql/source/postgres"
	"dpsql/sqlerr"
)

// Reader reads the rows of one database: those in its file, and those of its sources outside the file.
type Reader struct {
	Dial  func(kind, dsn string) (Pool, error) // connects to a source; replaced in tests
	Cache Cache
	store *catalog.Store
	pools pools
	unfit source.Unfit // tables of the file
	never error        // if not nil, the reason why no snapshot is opened
}

// NewReader returns a reader of the file's private tables.
func NewReader(store *catalog.Store) *Reader {
	return &Reader{store: store, Dial: openPool}
}

// Refusing returns a reader that opens no snapshot.
func Refusing(why error) *Reader { return &Reader{never: why} }

// Snapshot is one state of a table's rows. A statement charges for it and then reads it. Charge and reading belong to the same
// snapshot, so nothing is charged for rows that cannot be reached or that no longer match the declaration. A Snapshot serves
// one goroutine and must not be used after the function that got it returns.
type Snapshot struct {
	reader  *Reader
	table   *view.Table
	outside source.Reader // of rows outside the file, already checked; nil for the file
	over    bool
	steady  bool
}

// OnSnapshot calls do with a snapshot of the table's rows. For a table outside the file, one transaction of its server stays
// open meanwhile. The schema was checked in that transaction. A table of the file is checked by Unchanged, in the transaction
// that charges, and again in each transaction that reads.
func (r *Reader) OnSnapshot(ctx context.Context, t *view.Table, do func(*Snapshot) error) error {
	return r.OnSnapshots(ctx, []*view.Table{t}, func(all []*Snapshot) error { return do(all[0]) })
}

// OnSnapshots calls do with a snapshot of each of several tables. Those of tables from one source are the same state of it.
// Sources are opened in the order of their ids, so that two statements do not wait for each other's connections.
func (r *Reader) OnSnapshots(ctx context.Context, tables []*view.Table, do func([]*Snapshot) error) error {
	if r.never != nil {
		return r.never
	}
	all := make([]*Snapshot, len(tables))
	var outside []*catalog.Source
	for i, t := range tables {
		all[i] = &Snapshot{reader: r, table: t}
		if t.Outside != nil && !slices.ContainsFunc(outside, func(s *catalog.Source) bool { return s.ID == t.Outside.ID }) {
			outside = append(outside, t.Outside)
		}
	}
	slices.SortFunc(outside, func(a, b *catalog.Source) int { return cmp.Compare(a.ID, b.ID) })
	defer func() {
		for _, s := range all {
			s.over = true
		}
	}()
	return r.openSources(ctx, outside, all, do)
}

// openSources opens the sources one inside the other, and then calls do.
func (r *Reader) openSources(ctx context.Context, sources []*catalog.Source, all []*Snapshot, do func([]*Snapshot) error) error {
	if len(sources) == 0 {
		return do(all)
	}
	pool, err := r.pool(sources[0])
	if err != nil {
		return err
	}
	return pool.Snapshot(ctx, func(from source.Reader) error {
		for _, s := range all {
			t := s.table
			if t.Outside == nil || t.Outside.ID != sources[0].ID {
				continue
			}
			schema, err := schemas.SameSchema(ctx, from, t, nil)
			if err != nil {
				return err
			}
			if err := r.store.Read(ctx, func(tx *catalog.Tx) error { return schemas.Covered(tx, t, schema.Bases, schema.Others()...) }); err != nil {
				return err
			}
			s.outside = from
		}
		return r.openSources(ctx, sources[1:], all, do)
	})
}

// Steady has the snapshot counted as at other times: no cells are loaded to save time later. A load takes as long as many
// counts, and in a slot it would be late.
func (s *Snapshot) Steady() { s.steady = true }

// ForRowCount implements pay.Opener.
func (r *Reader) ForRowCount(ctx context.Context, t *view.Table, do func(pay.Countable) error) error {
	return r.OnSnapshot(ctx, t, func(s *Snapshot) error { return do(s) })
}

// Table implements pay.Snapshot.
func (s *Snapshot) Table() *view.Table { return s.table }

// Unchanged implements pay.Snapshot.
func (s *Snapshot) Unchanged(ctx context.Context, tx *catalog.Tx) error {
	if s.outside != nil {
		return nil // OnSnapshot has checked it
	}
	_, err := s.fit(ctx, tx)
	return err
}

// fit returns the base tables of an unchanged table of the file, unless reading a row of them has failed before.
func (s *Snapshot) fit(ctx context.Context, tx *catalog.Tx) (bases []string, err error) {
	if bases, err = schemas.Unchanged(ctx, tx, s.table); err == nil {
		err = s.reader.unfit.Refuse(bases, s.table.Source)
	}
	return bases, err
}

// open begins a reading that was paid for.
func (s *Snapshot) open(paid *pay.Receipt) (reading, error) {
	if s.over {
		return reading{}, sqlerr.New(sqlerr.Internal, "private rows are not read: the snapshot is over")
	}
	end, err := paid.Open(s)
	return reading{s, paid, end}, err
}

// reading is a snapshot that may be read until end is called.
type reading struct {
	*Snapshot
	paid *pay.Receipt
	end  func()
}

// from calls f with the reader of the table's database.
func (r reading) from(ctx context.Context, f func(source.Reader) error) error {
	if r.outside != nil {
		return f(r.outside)
	}
	return r.reader.store.Read(ctx, func(tx *catalog.Tx) error {
		bases, err := r.fit(ctx, tx)
		if err != nil {
			return err
		}
		if err = f(source.SQLite(tx.SQL())); source.OfRow(err) {
			r.reader.unfit.Add(bases)
		}
		return err
	})
}

// cells counts the rows by cell; see Snapshot.Cells. If queries are given, only rows of periods in which one of them has a
// weight need be counted.
func (r reading) cells(ctx context.Context, columns []int, coder query.Coder, most int, texts bool, progress func(done, all int), queries ...query.Query) (h *source.Histogram, err error) {
	if columns == nil {
		columns = view.AllColumns(r.table)
	}
	err = r.from(ctx, func(from source.Reader) error {
		rows := r.table.Rows().For(queries...)
		rows.Progress, rows.Texts = progress, texts
		if n := r.table.NHat; n != nil {
			rows.Expected = n.Value
		}
		h, err = from.Cells(ctx, r.paid, rows, columns, coder, most)
		return err
	})
	return h, err
}

// CountAll returns the number of rows that count.
func (s *Snapshot) CountAll(ctx context.Context, paid *pay.Receipt) (int64, error) {
	r, err := s.open(paid)
	if err != nil {
		return 0, err
	}
	defer r.end()
	return only(r.countNow(ctx, []query.Query{query.All(s.table.Universe)}))
}

// Count returns the true count of a query. narrow is the same query over the columns. The count comes from memory if the cells
// are there and current, else from the database. Both are the count on one snapshot that is no older than the call.
func (s *Snapshot) Count(ctx context.Context, paid *pay.Receipt, q query.Query, columns []int, narrow query.Query) (int64, error) {
	r, err := s.open(paid)
	if err != nil {
		return 0, err
	}
	defer r.end()
	return only(r.count(ctx, []query.Query{q}, columns, []query.Query{narrow}))
}

// only returns the count of one query.
func only(counts []int64, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Counts returns the true counts of queries, and the numbers of units that have a kept row in each query of units. Several
// queries are counted from the cells over the columns that they name, read once, unless these are too many.
func (s *Snapshot) Counts(ctx context.Context, paid *pay.Receipt, queries, units []query.Query) (counts, having []int64, err error) {
	r, err := s.open(paid)
	if err != nil {
		return nil, nil, err
	}
	defer r.end()
	if len(queries) > 0 {
		if counts, err = r.counts(ctx, queries); err != nil {
			return nil, nil, err
		}
	}
	if len(units) > 0 {
		err = r.from(ctx, func(from source.Reader) error {
			having, err = from.CountUnits(ctx, r.paid, s.table.Rows(), units)
			return err
		})
	}
	return counts, having, err
}

// counts counts one query from the cells over all columns that give these codes, which then serve every query about them, and
// several from those that they name.
func (r reading) counts(ctx context.Context, queries []query.Query) ([]int64, error) {
	columns, narrow := []int(nil), queries
	if named := columnsOf(queries); len(named) > 0 && (len(queries) > 1 || !queries[0].Universe().Coded() && !probed(queries)) {
		free := func(c int) bool { return !r.table.Over([]int{c}).Coded() }
		columns = slices.DeleteFunc(view.AllColumns(r.table), free)
		if len(queries) > 1 || slices.ContainsFunc(named, free) || !r.table.Over(columns).Coded() || r.reader.Cache.overflows(KeyOfCells(r.table, columns)) {
			columns = named
		}
		narrow = query.ProjectAll(queries, columns)
	}
	return r.count(ctx, queries, columns, narrow)
}

// probed reports whether queries can be looked up in cells without codes.
func probed(queries []query.Query) bool {
	return !slices.ContainsFunc(queries, func(q query.Query) bool { _, ok := q.SizeWithin(maxProbes); return !ok })
}

// countNow counts queries by one reading, or by one each.
func (r reading) countNow(ctx context.Context, queries []query.Query) (counts []int64, err error) {
	if len(queries) > 1 {
		if counts, ok, err := r.countCells(ctx, queries); err != nil || ok {
			return counts, err
		}
	}
	counts = make([]int64, len(queries))
	return counts, r.from(ctx, func(from source.Reader) error {
		for i, q := range queries {
			if counts[i], err = from.Count(ctx, r.paid, r.table.Rows(), q); err != nil {
				return err
			}
		}
		return nil
	})
}

// countCells counts queries from cells. It returns false if they name no column or the cells are too many.
func (r reading) countCells(ctx context.Context, queries []query.Query) ([]int64, bool, error) {
	columns := columnsOf(queries)
	if len(columns) == 0 {
		return nil, false, nil
	}
	narrow := query.ProjectAll(queries, columns)
	var key [16]byte
	if err := coin.NewSource().Bytes(key[:]); err != nil {
		return nil, false, pay.ErrRandom()
	}
	if told, ok := query.Told(narrow, key); ok {
		narrow = told
	}
	u := narrow[0].Universe()
	if !u.Coded() && !probed(narrow) {
		return nil, false, nil
	}
	h, err := r.cells(ctx, columns, query.NewCoder(u, key), maxCells, false, nil, queries...)
	if errors.Is(err, source.ErrTooManyCells) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	counts, ok := countIn(h, narrow)
	return counts, ok, nil
}

// columnsOf returns the columns that queries depend on, ascending.
func columnsOf(queries []query.Query) []int {
	used := make(map[int]bool)
	for _, q := range queries {
		for _, c := range q.Columns() {
			used[c] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// Cells counts the rows by cell over some columns; nil means all. It returns an error if more than most cells are occupied. The
// cells have their texts if these are asked for. progress is called with the number of parts read; it may be nil.
func (s *Snapshot) Cells(ctx context.Context, paid *pay.Receipt, columns []int, coder query.Coder, most int, texts bool, progress func(done, all int)) (*source.Histogram, error) {
	r, err := s.open(paid)
	if err != nil {
		return nil, err
	}
	defer r.end()
	return r.cells(ctx, columns, coder, most, texts, progress)
}

// Keys returns how many units have a kept row with each text in a column.
func (s *Snapshot) Keys(ctx context.Context, paid *pay.Receipt, column int) (keys *source.Keys, err error) {
	r, err := s.open(paid)
	if err != nil {
		return nil, err
	}
	defer r.end()
	err = r.from(ctx, func(from source.Reader) error {
		keys, err = from.Keys(ctx, r.paid, s.table.Rows(), column)
		return err
	})
	return keys, err
}

// CountPairs counts the rows into tables, each over a pair of the given columns; nil means all. It takes one pass if the cells
// over all of them have codes and fit into memory, else one pass for each pair. Only the time shows which it was.
func (s *Snapshot) CountPairs(ctx context.Context, paid *pay.Receipt, columns []int, tables []smw.Table) error {
	r, err := s.open(paid)
	if err != nil {
		return err
	}
	defer r.end()
	if columns == nil {
		columns = view.AllColumns(s.table)
	}
	return r.from(ctx, func(from source.Reader) error {
		u := s.table.Over(columns)
		if !u.Coded() {
			return r.countEachPair(ctx, from, columns, tables)
		}
		cells, err := from.Cells(ctx, r.paid, s.table.Rows(), columns, query.NewCoder(u, [16]byte{}), maxCells)
		if errors.Is(err, source.ErrTooManyCells) {
			return r.countEachPair(ctx, from, columns, tables)
		}
		if err != nil {
			return err
		}
		addPairs(u, cells, tables)
		return nil
	})
}

// addPairs adds the cells over all columns of a coded universe to the tables.
func addPairs(u *query.Universe, cells *source.Histogram, tables []smw.Table) {
	ordinals := make([]uint64, len(u.Columns()))
	for x, n := range cells.All() {
		for i, code := len(ordinals)-1, x.Lo; i >= 0; i-- {
			size := u.Columns()[i].Domain.Size()
			ordinals[i] = code % size
			code /= size
		}
		for _, pair := range tables {
			pair.Counts[ordinals[pair.A]*u.Columns()[pair.B].Domain.Size()+ordinals[pair.B]] += n
		}
	}
}

func (r reading) countEachPair(ctx context.Context, from source.Reader, columns []int, tables []smw.Table) error {
	for _, pair := range tables {
		both := []int{columns[pair.A], columns[pair.B]}
		cells, err := from.Cells(ctx, r.paid, r.table.Rows(), both, query.NewCoder(r.table.Over(both), [16]byte{}), math.MaxInt)
		if err != nil {
			return err
		}
		for x, n := range cells.All() {
			pair.Counts[x.Lo] += n
		}
	}
	return nil
}

// Pool reads from one database outside the file.
type Pool interface {
	// Snapshot calls read once, with a reader of one snapshot of the database.
	Snapshot(ctx context.Context, read func(source.Reader) error) error
	Close()
}

// pools holds the pools of the declared sources, by id. A pool is made when rows are first needed. It is kept until its source
// is dropped or the database is closed.
type pools struct {
	mu   sync.Mutex
	byID map[int64]Pool
}

// Look calls do with a checker of the schemas in a source outside the file. It reads no rows, so nothing is charged.
func (r *Reader) Look(ctx context.Context, s *catalog.Source, do func(source.Checker) error) error {
	pool, err := r.pool(s)
	if err != nil {
		return err
	}
	return pool.Snapshot(ctx, func(from source.Reader) error { return do(source.CheckerOf(from)) })
}

// openPool makes a pool. It connects at its first use.
func openPool(kind, dsn string) (Pool, error) {
	switch kind {
	case catalog.Postgres:
		return postgres.Open(dsn)
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this dpsql knows no sources of the kind %s", kind).
		WithHint("use the newer dpsql that declared it")
}

// pool returns the pool of a source. It fails if the source's secret is not in the environment.
func (r *Reader) pool(s *catalog.Source) (Pool, error) {
	p := &r.pools
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.byID[s.ID]; ok {
		return known, nil
	}
	dsn := os.Getenv(s.DSNEnv)
	if dsn == "" {
		return nil, sqlerr.New(sqlerr.Invalid, "the environment variable %s, which says how to reach the source %s, is not set", s.DSNEnv, s.Name).
			WithHint("start dpsql where it is set to a connection string, such as postgres://user@host/database")
	}
	made, err := r.Dial(s.Kind, WithTimeout(dsn, int64(s.Timeout.Seconds())))
	if err != nil {
		return nil, err
	}
	if p.byID == nil {
		p.byID = make(map[int64]Pool)
	}
	p.byID[s.ID] = made
	return made, nil
}

// CloseSource closes the connections to a source, if there are any.
func (r *Reader) CloseSource(id int64) {
	p := &r.pools
	p.mu.Lock()
	known := p.byID[id]
	delete(p.byID, id)
	p.mu.Unlock()
	if known != nil {
		known.Close()
	}
}

// Close closes the connections to all sources.
func (r *Reader) Close() {
	p := &r.pools
	p.mu.Lock()
	all := p.byID
	p.byID = nil
	p.mu.Unlock()
	for _, known := range all {
		known.Close()
	}
}

// WithTimeout appends the server's limit for one statement to a connection string. If a setting is given twice, the last counts.
func WithTimeout(dsn string, seconds int64) string {
	if seconds == 0 {
		return dsn
	}
	setting := fmt.Sprintf("statement_timeout=%d", 1000*seconds)
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " " + setting
	}
	url, fragment, cut := strings.Cut(dsn, "#")
	if cut {
		fragment = "#" + fragment
	}
	separator := "?"
	if _, query, ok := strings.Cut(url, "?"); ok && query == "" {
		separator = ""
	} else if ok {
		separator = "&"
	}
	return url + separator + setting + fragment
}
