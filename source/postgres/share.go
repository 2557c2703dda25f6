package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"dpsql/query"
	"dpsql/source"
)

// maxParts is the largest number of partitions in one statement. manyRows is the
// smallest number of rows, by the server's estimate, that is worth several connections.
const (
	maxParts = 256
	manyRows = 1_000_000
)

const partsText = `SELECT n.nspname::text, c.relname::text, c.relkind = 'f', has_table_privilege(c.oid, 'SELECT') AND NOT c.relrowsecurity,
		greatest(c.reltuples, 0)::int8
	FROM pg_partition_tree($1::oid::regclass) AS p JOIN pg_class AS c ON c.oid = p.relid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE p.isleaf ORDER BY c.reltuples DESC, c.oid`

// divide finds the partitions to read in place of a table, if the user may read each of
// them.
//
// If some are on other servers, one statement reads the partitions one by one, so that
// each server counts its own rows. In a statement over the whole table the server can
// leave counting to others only if it groups by the partition key, and fetches all rows
// otherwise. If all partitions are here and large, several connections share them.
func (r *reader) divide(ctx context.Context, rel *relation) error {
	if rel.kind != 'p' {
		return nil
	}
	var parts []*relation
	foreign, readable, rows := false, true, int64(0)
	err := r.rows(ctx, statement{partsText, texts(rel.number()), "dpsql_parts"}, func(row [][]byte) bool {
		parts = append(parts, &relation{schema: string(row[0]), name: string(row[1])})
		foreign = foreign || row[2][0] == 1
		readable = readable && row[3][0] == 1
		rows += int8Of(row[4])
		return true
	})
	rel.leaves = len(parts)
	switch {
	case err != nil || !readable:
	case foreign && len(parts) <= maxParts:
		rel.parts = parts
	case !foreign && len(parts) > 1 && rows >= manyRows:
		rel.shares = parts
	}
	return err
}

// sources returns the relations to read: the parts, or the relation itself.
func (rel *relation) sources() []string {
	if len(rel.parts) == 0 {
		return []string{rel.from()}
	}
	out := make([]string, len(rel.parts))
	for i, p := range rel.parts {
		out[i] = p.from()
	}
	return out
}

const (
	maxSharing = 4               // connections for one read
	waitForOne = 2 * time.Second // to wait for another connection of the pool
)

// errAlone is returned if the snapshot cannot be shared. One connection must then
// read everything.
var errAlone = errors.New("the server does not share its snapshot")

// sharing reads several partitions over several connections on one snapshot. The
// server's own parallel aggregate merges the groups of all partitions in one process,
// and the server chooses it only if it expects few groups.
type sharing struct {
	snapshot string
	parts    []*relation
	plan     plan
	most     int // the largest number of cells allowed
	stop     context.CancelFunc
	progress func(done, all int) // may be nil

	sync.Mutex
	next  int // index of the next part to read
	done  int // parts read
	all   int // parts handed out, without those given back
	cells *source.Tally
	over  bool  // there are too many cells
	err   error // the first error
}

// share adds the groups of the parts' rows to the cells. The reader's own connection is
// one of those that read. If it is lost, so is the snapshot, and the caller starts
// over. Any other connection that is lost is replaced by one on the same snapshot,
// which reads the partition again.
func (r *reader) share(ctx context.Context, parts []*relation, p plan, cells *source.Tally, most int, progress func(done, all int)) (*source.Histogram, error) {
	snapshot, err := r.export(ctx)
	if err != nil {
		return nil, err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	s := &sharing{snapshot: snapshot, parts: parts, plan: p, most: most, stop: stop, progress: progress, all: len(parts), cells: cells}
	return r.bounded(ctx, cells, most, func() error { return s.read(reading, r) })
}

// read reads all parts.
func (s *sharing) read(ctx context.Context, r *reader) error {
	var others sync.WaitGroup
	for range min(maxSharing, len(s.parts), int(r.pool.pool.Config().MaxConns)) - 1 {
		others.Go(func() { s.help(ctx, &reader{pool: r.pool}) })
	}
	err := s.work(ctx, r)
	if err != nil {
		s.fail(err)
	}
	others.Wait()
	if err == nil && s.err == nil {
		err = s.work(ctx, r) // parts that others took and lost
	}
	switch {
	case s.over:
		return nil
	case err != nil && !errors.Is(err, context.Canceled):
		return err // of the connection that owns the snapshot
	case s.err != nil:
		return s.err
	}
	return err
}

// export names the snapshot so that other connections can use it.
func (r *reader) export(ctx context.Context) (snapshot string, err error) {
	err = r.rows(ctx, statement{text: "SELECT pg_export_snapshot()"}, func(row [][]byte) bool {
		snapshot = string(row[0])
		return true
	})
	if err == nil && snapshot != "" && strings.Trim(snapshot, "0123456789ABCDEF-") == "" {
		return snapshot, nil
	}
	if err != nil && lost(ctx, err) {
		return "", err
	}
	r.alone = true
	return "", errAlone
}

// attach begins a transaction on another connection's snapshot.
func (r *reader) attach(ctx context.Context, snapshot string) error {
	waiting, cancel := context.WithTimeout(ctx, waitForOne)
	defer cancel()
	conn, err := r.pool.pool.Acquire(waiting)
	if err != nil {
		return err
	}
	r.conn, r.begun = conn, true
	return r.run(ctx, transaction+"; SET TRANSACTION SNAPSHOT '"+snapshot+"'"+settings)
}

// help reads parts on another connection, and on a new one if that is lost. If no other
// connection is to be had, the others read its parts.
func (s *sharing) help(ctx context.Context, r *reader) {
	defer r.reset()
	for range maxAttempts {
		if err := r.attach(ctx, s.snapshot); err != nil {
			return
		}
		err := s.work(ctx, r)
		switch {
		case err == nil:
			return
		case !lost(ctx, err):
			s.fail(err)
			return
		}
		r.reset()
	}
}

// work reads parts until none is left. A part that failed is left for others.
func (s *sharing) work(ctx context.Context, r *reader) error {
	for {
		part := s.take()
		if part == nil {
			return nil
		}
		groups, err := s.groups(ctx, r, part)
		if err != nil {
			s.give(part)
			return err
		}
		s.add(groups)
	}
}

func (s *sharing) take() *relation {
	s.Lock()
	defer s.Unlock()
	if s.next == len(s.parts) {
		return nil
	}
	s.next++
	return s.parts[s.next-1]
}

func (s *sharing) give(part *relation) {
	s.Lock()
	defer s.Unlock()
	s.parts = append(s.parts[:len(s.parts):len(s.parts)], part)
}

func (s *sharing) fail(err error) {
	s.Lock()
	defer s.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.stop()
}

// group is a cell with its number of rows in one part.
type group struct {
	cell query.Element
	rows int64
}

// groups reads a part to its end before any of it counts, so that a part counts once
// even if a connection is lost while reading it.
func (s *sharing) groups(ctx context.Context, r *reader, part *relation) (groups []group, err error) {
	p := s.plan
	p.from = []string{part.from()}
	tuple := make([]query.Value, len(p.fetch))
	err = r.rows(ctx, p.statement(), func(row [][]byte) bool {
		if p.tuple(row, tuple) {
			if e, ok := s.cells.Name(tuple[:p.asked]); ok {
				groups = append(groups, group{e, int8Of(row[len(p.fetch)])})
			}
		}
		return len(groups) <= s.most // each group is a cell of its own, because all columns are asked for
	})
	return groups, err
}

func (s *sharing) add(groups []group) {
	s.Lock()
	defer s.Unlock()
	for _, g := range groups {
		if !s.cells.Add(g.cell, g.rows) {
			s.over = true
			s.stop()
			return
		}
	}
	if s.done++; s.progress != nil {
		s.progress(s.done, s.all)
	}
}
