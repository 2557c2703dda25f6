package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Check implements Checker. It refuses virtual and temporary tables, tables whose names
// begin with dpsql_ or sqlite_, views over any of these, and views that it does not
// understand to work row by row or unit by unit.
func (s sqlite) Check(ctx context.Context, t Table) (Schema, error) {
	q := s.q
	if err := t.CheckUnit(); err != nil {
		return Schema{}, err
	}
	name, err := resolve(ctx, q, t.Source)
	if err != nil {
		return Schema{}, err
	}
	if err := haveColumns(ctx, q, t, name); err != nil {
		return Schema{}, err
	}
	bases, err := basesOf(ctx, q, name, cannotFail)
	if err != nil {
		return Schema{}, err
	}
	objects, err := objectsOf(ctx, q, name)
	if err != nil {
		return Schema{}, err
	}
	schema := Schema{Bases: bases, Text: schemaText(objects, name, bases)}
	for _, base := range bases {
		if joinsOf(objects[query.FoldName(base)].text) > maxJoins {
			return schema, errJoins(base)
		}
	}
	var read *relation
	if o := objects[query.FoldName(name)]; o.kind == "view" {
		if read, err = understood(ctx, q, t, o, objects, bases); err != nil {
			return schema, err
		}
	}
	if t.Period != nil {
		schema.Period, err = s.periodColumn(ctx, t, name, read)
	}
	return schema, err
}

// Bases returns the tables whose rows a public table or view reads, sorted. It
// refuses what Check refuses, except functions that can fail: an error on a public
// row is no secret.
func Bases(ctx context.Context, q Querier, public string) ([]string, error) {
	name, err := resolve(ctx, q, public)
	if err != nil {
		return nil, err
	}
	return basesOf(ctx, q, name, func(string, any, string) error { return nil })
}

// Allowed refuses the names of dpsql's own tables and of SQLite's.
func Allowed(name string) error {
	for _, prefix := range []string{"dpsql_", "sqlite_"} {
		if strings.HasPrefix(query.FoldName(name), prefix) {
			return sqlerr.New(sqlerr.Forbidden, "%s cannot be read: names beginning with %s are reserved", name, prefix)
		}
	}
	return nil
}

// resolve returns the name of a source as the schema spells it.
func resolve(ctx context.Context, q Querier, source string) (string, error) {
	if err := Allowed(source); err != nil {
		return "", err
	}
	var name, kind string
	err := q.QueryRowContext(ctx, `SELECT name, type FROM pragma_table_list
		WHERE schema = 'main' AND name = ? COLLATE NOCASE`, source).Scan(&name, &kind)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", sqlerr.New(sqlerr.Unknown, "no such table or view: %s", source).
			WithHint("a source is a table or view of the same file; import one, or write CREATE VIEW")
	case err != nil:
		return "", failure(ctx, err, source)
	case kind != "table" && kind != "view":
		return "", errVirtual(source)
	}
	return name, nil
}

func errVirtual(source string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s reads a virtual table or a table-valued function", source).
		WithHint("only ordinary tables, and views over them, can be declared")
}

// haveColumns returns an error if the source lacks a declared column or the unit's.
func haveColumns(ctx context.Context, q Querier, t Table, source string) error {
	names, err := columnNames(ctx, q, source)
	if err != nil {
		return err
	}
	have := make(map[string]bool)
	for _, name := range names {
		have[query.FoldName(name)] = true
	}
	var needed []string
	for _, c := range t.Columns {
		needed = append(needed, c.Name)
	}
	if t.Unit != "" {
		needed = append(needed, t.Unit)
	}
	for _, name := range needed {
		if !have[query.FoldName(name)] {
			return sqlerr.New(sqlerr.Unknown, "%s has no column %s", source, name).Of(sqlerr.Column).
				WithHint("its columns are %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// columnNames lists the columns of the source, generated ones included.
func columnNames(ctx context.Context, q Querier, source string) ([]string, error) {
	return texts(ctx, q, source, `SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`, source)
}

// texts returns the single text column of a statement over the schema.
func texts(ctx context.Context, q Querier, source, statement string, args ...any) ([]string, error) {
	found, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, failure(ctx, err, source)
	}
	defer found.Close()
	var out []string
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			return nil, failure(ctx, err, source)
		}
		out = append(out, s)
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, source)
	}
	return out, nil
}

// basesOf returns the tables whose rows a source reads. It does not interpret the
// text of views. SQLite compiles SELECT * FROM source, and the program's cursors
// name the root pages of the tables and indexes that it opens. basesOf also calls
// check for each instruction.
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
		if err := Allowed(table); err != nil {
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

// opensPage reports whether an instruction opens a table or index. It refuses
// tables outside the main database, which is number 0.
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

// unreadable returns the error for a source that does not compile.
func unreadable(ctx context.Context, err error, source string) error {
	if code, _, _ := classify(ctx, err); code != sqlerr.Invalid {
		return failure(ctx, err, source)
	}
	return sqlerr.New(sqlerr.Invalid, "%s cannot be read: it names something that does not exist", source).
		WithHint("run SELECT * FROM %s LIMIT 0 in sqlite3 to see why", query.Quoted(source))
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

// safe lists the SQL functions that return a value for every argument, and what they return. A
// view may call no others. A function that fails on one row, as json_extract fails on text that is
// not JSON, would turn an answer into an error, and the error would tell of that row
// without noise. Random functions are left out because a row must count the same each
// time. Those of date and time may read no clock: see scope.steady.
var safe = map[string]forms{
	"char": bytes_, "coalesce": ofArguments, "ifnull": ofArguments, "iif": ofArguments, "instr": integer, "length": integer,
	"lower": bytes_, "ltrim": bytes_, "max": ofArguments, "min": ofArguments, "nullif": ofArguments, "octet_length": integer,
	"round": real, "rtrim": bytes_, "sign": integer, "substr": bytes_, "substring": bytes_, "trim": bytes_, "typeof": bytes_,
	"unicode": integer, "upper": bytes_,
	"avg": real, "count": integer, "total": real, // over the rows of a unit; sum can overflow
	"date": digits | clock, "datetime": digits | clock, "julianday": real | clock, "strftime": bytes_ | clock, "time": digits | clock, "unixepoch": integer | clock,
}

// searches are the functions that look for one text in another. With two stored ones a single row
// could take hours.
var searches = map[string]bool{"instr": true, "ltrim": true, "rtrim": true, "trim": true}

// cannotFail refuses an instruction that calls a function other than the safe ones. p4
// has the function's name and number of arguments.
func cannotFail(opcode string, p4 any, source string) error {
	switch opcode {
	case "Function", "PureFunc", "AggStep", "AggStep1", "AggInverse", "AggFinal", "AggValue":
	default:
		return nil
	}
	name, arguments, _ := strings.Cut(fmt.Sprint(p4), "(")
	name = strings.ToLower(name)
	generated := opcode == "PureFunc" // in a generated column, whose arguments are not looked at: a row's 'now' is an error there
	switch f := safe[name]; {
	case f == 0:
		return errUnsafe(source, name)
	case f&clock != 0 && generated:
		return errClock(source, name)
	case searches[name] && arguments == "2)" && generated:
		return errSlow(source, name)
	}
	return nil
}

func errUnsafe(source, name string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s calls the function %s, which can fail on a row or vary between calls", source, name).
		WithHint("write it with what cannot fail, such as CASE, substr and lower, or leave it out of the view")
}

func errSlow(source, function string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s calls the function %s with two texts of rows: it could take long on a row", source, function).
		WithHint("write one of them as a literal, or leave it out of the view")
}

func errAlike(source, what string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s %s, and values there can be equal and differ, as 1 and 1.0 or 'a' and 'A': which of them it shows could depend on other rows", source, what).
		WithHint("write such an x as CAST(x AS INTEGER), lower(x) or x COLLATE BINARY")
}

func errFractions(source, what string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s %s of what may have fractions: their sum depends on the order of the rows, and so on other rows", source, what).
		WithHint("write such an x as CAST(x AS INTEGER), or count it in parts: CAST(100 * x AS INTEGER)")
}

func errClock(source, function string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s calls the function %s with what may be 'now', or a time zone: it could vary between calls", source, function).
		WithHint("give it a number, or a text that begins below the letters: min(d, ':') is d where that begins with a digit")
}

// maxJoins bounds how many || join a text of a view, in it and in all below it. A chain of views
// that each double a text would make a short one too long for SQLite.
const maxJoins = 31

// joinsOf returns how many || can join a text of a table's generated columns: each can double it.
func joinsOf(createTable string) int { return 1<<min(strings.Count(createTable, "||"), 10) - 1 }

func errJoins(source string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s joins one text by || more than %d times, what is below it included: it could become too long on a row", source, maxJoins).
		WithHint("join fewer texts, or leave the column out of the view")
}

// schemaText returns the schema SQL of the source, of its base tables and of the
// views that it may pass through, sorted. A view is included if its name occurs in
// the text of an included view. That can include too many views but never too few,
// so no change is overlooked.
func schemaText(objects map[string]object, source string, bases []string) string {
	reached := map[string]bool{query.FoldName(source): true}
	queue := []string{query.FoldName(source)}
	for len(queue) > 0 {
		text := query.FoldName(objects[queue[0]].text)
		queue = queue[1:]
		for name, o := range objects {
			if o.kind == "view" && !reached[name] && mentions(text, name) {
				reached[name] = true
				queue = append(queue, name)
			}
		}
	}
	for _, base := range bases {
		reached[query.FoldName(base)] = true
	}
	var out []string
	for name := range reached {
		out = append(out, objects[name].text+";\n")
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// mentions reports whether a text may name a view. A name that contains a quote can be
// written in several ways, so mentions returns true for every such view.
func mentions(text, view string) bool {
	return strings.Contains(text, view) || strings.ContainsAny(view, "\"'`")
}

// object is a table or view of the schema.
type object struct{ kind, name, text string }

// objectsOf returns the tables and views by folded name.
func objectsOf(ctx context.Context, q Querier, source string) (map[string]object, error) {
	found, err := q.QueryContext(ctx, `SELECT type, name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view')`)
	if err != nil {
		return nil, failure(ctx, err, source)
	}
	defer found.Close()
	objects := make(map[string]object)
	for found.Next() {
		var o object
		if err := found.Scan(&o.kind, &o.name, &o.text); err != nil {
			return nil, failure(ctx, err, source)
		}
		objects[query.FoldName(o.name)] = o
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, source)
	}
	return objects, nil
}
