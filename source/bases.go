package source

import (
	"context"
	"slices"

	"dpsql/sqlerr"
)

// basesOf returns the tables whose rows a source reads. It does not interpret
// the text of views: SQLite compiles SELECT * FROM source, and the cursors of
// the program name the root pages that it opens, those of tables and of indexes.
// Each instruction is checked, too.
func basesOf(ctx context.Context, q Querier, source string, check checker) ([]string, error) {
	pages, err := openedPages(ctx, q, source, check)
	if err != nil {
		return nil, err
	}
	owners, err := pageOwners(ctx, q, source)
	if err != nil {
		return nil, err
	}
	bases := []string{}
	for _, page := range pages {
		table, ok := owners[page]
		if !ok {
			return nil, sqlerr.New(sqlerr.Internal, "%s reads a page that no table owns", source)
		}
		if err := allowed(table); err != nil {
			return nil, err
		}
		bases = append(bases, table)
	}
	slices.Sort(bases)
	return slices.Compact(bases), nil
}

// checker refuses an instruction of a source's program, given its P4.
type checker func(opcode string, p4 any, source string) error

// openedPages returns the root pages opened by a scan of the source.
func openedPages(ctx context.Context, q Querier, source string, check checker) ([]int64, error) {
	program, err := q.QueryContext(ctx, "EXPLAIN SELECT *"+from(source))
	if err != nil {
		return nil, unreadable(ctx, err, source)
	}
	defer program.Close()
	var pages []int64
	for program.Next() {
		var address, p1, page, database, p5 int64
		var opcode string
		var p4, comment any
		if err := program.Scan(&address, &opcode, &p1, &page, &database, &p4, &p5, &comment); err != nil {
			return nil, failure(ctx, err, source)
		}
		opened, err := opensPage(opcode, database, source)
		if err != nil {
			return nil, err
		}
		if err := check(opcode, p4, source); err != nil {
			return nil, err
		}
		if opened {
			pages = append(pages, page)
		}
	}
	if err := program.Err(); err != nil {
		return nil, unreadable(ctx, err, source)
	}
	return pages, nil
}

// opensPage reports whether an instruction opens a table or index, and refuses
// what is none of the main database (number 0).
func opensPage(opcode string, database int64, source string) (bool, error) {
	switch opcode {
	case "VOpen":
		return false, errVirtual(source)
	case "OpenRead", "ReopenIdx", "OpenWrite":
		if database != 0 {
			return false, sqlerr.New(sqlerr.Unsupported, "%s reads a temporary or attached table", source)
		}
		return true, nil
	}
	return false, nil
}

// unreadable is failure for a source that does not compile.
func unreadable(ctx context.Context, err error, source string) error {
	if code, _ := classify(ctx, err); code != sqlerr.Invalid {
		return failure(ctx, err, source)
	}
	return sqlerr.New(sqlerr.Invalid, "%s cannot be read: it names something that does not exist", source).
		WithHint("run SELECT * FROM %s LIMIT 0 in sqlite3 to see why", quoted(source))
}

// pageOwners maps root pages to the tables they belong to.
func pageOwners(ctx context.Context, q Querier, source string) (map[int64]string, error) {
	found, err := q.QueryContext(ctx, `SELECT rootpage, tbl_name FROM main.sqlite_schema WHERE rootpage > 0`)
	if err != nil {
		return nil, failure(ctx, err, source)
	}
	defer found.Close()
	owners := map[int64]string{1: "sqlite_schema"}
	for found.Next() {
		var page int64
		var table string
		if err := found.Scan(&page, &table); err != nil {
			return nil, failure(ctx, err, source)
		}
		owners[page] = table
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, source)
	}
	return owners, nil
}
