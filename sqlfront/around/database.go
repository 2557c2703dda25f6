package around

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dpsql/internal/calendar"
	"dpsql/internal/places"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// Result is the result of a statement.
type Result struct {
	Columns   []ResultColumn
	Rows      [][]any // int64, float64, string or nil
	Intervals [][]any // as Rows: what post.Enclose returns; nil without a Lineage
}

// ResultColumn is a column of a result. Type is INTEGER, REAL or TEXT, and SQL what is known of
// it before the statement runs.
type ResultColumn struct {
	Name, Type string
	SQL        query.SQLType
}

// Database runs statements. The zero value is ready. It is safe for concurrent use.
type Database struct {
	mu   sync.Mutex
	idle []*connection
	room *places.Places[int64] // of statements that run; made for the first
	done bool
	time time.Duration // maxTime if 0; tests set less
}

// limited returns a context that ends when a statement has had its time.
func (db *Database) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(db.time, maxTime))
}

// sqlite is a connection to an SQLite with an empty database in memory: the program's, or that of a
// page, see connect.
type sqlite interface {
	// exec runs a script: once, or once for each row of arguments, all in one transaction.
	exec(ctx context.Context, script string, rows ...[]any) error
	// read runs a statement, and gives each row to a function, whose error ends it. Without a
	// function it compiles only. It returns the names of the columns.
	read(ctx context.Context, statement string, args []any, row func([]any) error) (names []string, err error)
	close()
}

// action is what SQLite wants to do while it compiles a statement.
type action int

const (
	otherAction  action = iota // which is allowed to this package alone
	selectAction               // a SELECT, or WITH RECURSIVE
	callAction                 // of a function
	readAction                 // of a table's column
	insertAction               // into a table
)

// connection is a database in memory with the copies of some tables.
type connection struct {
	sqlite
	version any
	tables  map[string][]column // by folded name
	made    map[string]made     // the tables in temp, by folded name
	running *Statement          // what the authorizer allows; nil for everything
}

// made is a table in temp: the rows of a core, or of a result. It is empty unless a statement
// runs. It stays for the next statement that needs a table like it, which most often is the
// same one: Compile makes the tables that Run fills. Without this a statement around two
// cores took a fourth longer (BenchmarkSurrounded).
type made struct {
	name, columns string // as CREATE TABLE has them
	known         []column
}

// Run runs a statement. args are the values of its parameters.
func (db *Database) Run(ctx context.Context, s *Statement, from Source, args []query.Value) (*Result, error) {
	values, err := s.arguments(args)
	if err != nil {
		return nil, err
	}
	var out *Result
	err = db.with(ctx, s, from, func(c *connection) error {
		limited, cancel := db.limited(ctx)
		defer cancel()
		s, err := s.withTypes(from.Cores, c.tables)
		if err != nil {
			return err
		}
		out, err = c.run(ctx, limited, s, from, values)
		return err
	})
	return out, err
}

// Columns returns the columns that the result of a statement will have. The type of one is
// "" if it depends on the rows. args are the values of its parameters, as for Run.
func (db *Database) Columns(ctx context.Context, s *Statement, from Source, args []query.Value) ([]ResultColumn, error) {
	columns, _, err := db.Compile(ctx, s, from, args)
	return columns, err
}

// Compile returns what Columns does, and for a statement with cores the lineage of the result.
func (db *Database) Compile(ctx context.Context, s *Statement, from Source, args []query.Value) (columns []ResultColumn, l *Lineage, err error) {
	values, err := s.arguments(args)
	if err != nil {
		return nil, nil, err
	}
	err = db.with(ctx, s, from, func(c *connection) error {
		limited, cancel := db.limited(ctx)
		defer cancel()
		s, err := s.withTypes(from.Cores, c.tables)
		if err != nil {
			return err
		}
		if len(s.cores) > 0 {
			if l, err = s.lineage(from.Cores, c.tables); err != nil {
				return err
			}
		}
		names, err := c.named(ctx, limited, s, from.Cores, values)
		if err != nil {
			return err
		}
		if l.traces() && len(l.columns) != len(names) {
			l = s.untraced(nil)
		}
		if l != nil {
			l.names = names
		}
		kinds, err := s.kinds(c)
		if err != nil {
			return err
		}
		for i, name := range names {
			col := ResultColumn{Name: name, SQL: query.SQLText}
			if len(kinds) == len(names) {
				col.Type, col.SQL = typeName(kinds[i]), types.Shown(kinds[i])
			}
			columns = append(columns, col)
		}
		return nil
	})
	return columns, l, err
}

// Parameters returns the types of the first n parameters of a statement, and "" where no use of
// one tells it. It runs nothing.
func (db *Database) Parameters(ctx context.Context, s *Statement, from Source, n int) ([]query.SQLType, error) {
	found := make([]query.SQLType, n)
	err := db.with(ctx, s, from, func(c *connection) error {
		if err := c.place(ctx, s, from.Cores, 0); err != nil {
			return s.failure(ctx, ctx, err)
		}
		w := s.walker(c)
		w.selected(s.query)
		copy(found, w.pass.Parameters)
		return nil
	})
	return found, err
}

// with lends a connection that has the public tables of the statement.
func (db *Database) with(ctx context.Context, s *Statement, from Source, f func(*connection) error) error {
	if s.refusal != nil {
		return s.refusal
	}
	switch {
	case len(s.Tables) > maxTables:
		return sqlerr.New(sqlerr.Unsupported, "a statement that names more than %d tables is outside the dialect", maxTables)
	case len(s.text) > maxText:
		return s.tooLong()
	}
	room := db.places()
	if err := room.Enter(ctx, from.User); err != nil {
		return err
	}
	defer room.Leave(from.User)
	c, err := db.loaded(ctx, s, from)
	if err != nil {
		return err
	}
	err = f(c)
	c.running = nil
	if err != nil {
		c.close() // it gives the memory back
		return err
	}
	db.give(c)
	return nil
}

// places returns the places of statements that run.
func (db *Database) places() *places.Places[int64] {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.room == nil {
		db.room = &places.Places[int64]{All: running, Each: running - 1}
	}
	return db.room
}

// open returns a connection without tables.
func open(ctx context.Context) (*connection, error) {
	c := &connection{tables: make(map[string][]column), made: make(map[string]made)}
	var err error
	if c.sqlite, err = connect(ctx, c.may); err != nil {
		return nil, err
	}
	return c, nil
}

// loaded returns a connection with the statement's tables. If they do not fit beside those
// that an idle connection has, they get a connection of their own.
func (db *Database) loaded(ctx context.Context, s *Statement, from Source) (*connection, error) {
	if c := db.take(from.Version); c != nil {
		err := c.load(ctx, s, from)
		if err == nil {
			return c, nil
		}
		c.close()
		if !errors.Is(err, errFull) {
			return nil, err
		}
	}
	c, err := open(ctx)
	if err != nil {
		return nil, err
	}
	c.version = from.Version
	if err := c.load(ctx, s, from); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// take returns an idle connection with copies of the version, or nil. It closes those with
// copies of another.
func (db *Database) take(version any) *connection {
	db.mu.Lock()
	defer db.mu.Unlock()
	for n := len(db.idle); n > 0; n-- {
		c := db.idle[n-1]
		db.idle = db.idle[:n-1]
		if c.version == version {
			return c
		}
		c.close()
	}
	return nil
}

func (db *Database) give(c *connection) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.done {
		c.close()
		return
	}
	db.idle = append(db.idle, c)
}

// Close closes the connections.
func (db *Database) Close() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range db.idle {
		c.close()
	}
	db.idle, db.done = nil, true
}

// errFull says that the copies are too large.
var errFull = sqlerr.New(sqlerr.Unsupported, "the public tables of the statement are too large: their copies have more than %d MiB", maxPages*4/1024).
	WithHint("make a public view of the rows that matter")

// load copies the statement's tables that the connection does not have yet.
func (c *connection) load(ctx context.Context, s *Statement, from Source) error {
	for _, t := range s.Tables {
		if _, ok := c.tables[query.FoldName(t.Text)]; ok {
			continue
		}
		table, err := from.Copy(ctx, t)
		if err != nil {
			return err
		}
		if err := c.copy(ctx, table); err != nil {
			return err
		}
		c.tables[query.FoldName(t.Text)] = table.columns()
	}
	return nil
}

// place makes the tables of a statement's cores, without rows, and one for its result, unless
// it has 0 columns. It drops those of other statements, whose names could be in the way.
func (c *connection) place(ctx context.Context, s *Statement, cores []*Table, result int) error {
	wanted := make(map[string]made, len(s.cores)+1)
	for _, name := range s.cores {
		t := coreNamed(cores, name)
		if t == nil {
			return sqlerr.New(sqlerr.Internal, "the rows of %s are missing", name)
		}
		if err := t.tooWide(); err != nil {
			return err
		}
		wanted[query.FoldName(name)] = made{name, strings.Join(append(t.declared(), query.Quoted(name)), ", "), t.columns()}
	}
	name := s.resultTable()
	if have, ok := c.made[name]; ok && result == 0 {
		wanted[name] = have
	} else if result > 0 {
		columns := make([]string, result)
		for i := range columns {
			columns[i] = "c" + strconv.Itoa(i)
		}
		wanted[name] = made{name: name, columns: strings.Join(columns, ", ")}
	}
	var script strings.Builder
	for folded, have := range c.made {
		if want, ok := wanted[folded]; !ok || want.name != have.name || want.columns != have.columns {
			script.WriteString("DROP TABLE temp." + query.Quoted(have.name) + ";")
			delete(c.made, folded)
		}
	}
	for folded, want := range wanted {
		if _, ok := c.made[folded]; !ok {
			script.WriteString("CREATE TABLE temp." + query.Quoted(want.name) + " (" + want.columns + ");")
		}
		c.made[folded] = want
	}
	if script.Len() == 0 {
		return nil
	}
	return c.exec(ctx, script.String())
}

// fill inserts the rows of a statement's cores.
func (c *connection) fill(ctx context.Context, s *Statement, cores []*Table) error {
	for _, name := range s.cores {
		if err := c.insert(ctx, "temp", coreNamed(cores, name), ""); err != nil {
			return err
		}
	}
	return nil
}

// empty removes the rows of cores and of the result.
func (c *connection) empty(ctx context.Context) error {
	var script strings.Builder
	for _, have := range c.made {
		script.WriteString("DELETE FROM temp." + query.Quoted(have.name) + ";")
	}
	return c.exec(ctx, script.String())
}

// copy creates and fills the copy of a public table.
func (c *connection) copy(ctx context.Context, t *Table) error {
	if err := t.tooWide(); err != nil {
		return err
	}
	return c.insert(ctx, "main", t, "CREATE TABLE main."+query.Quoted(t.Name)+" ("+strings.Join(t.declared(), ", ")+")")
}

func (t *Table) tooWide() error {
	if len(t.Columns) <= maxColumn {
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "%s has more than %d columns", t.Name, maxColumn).WithHint("make a public view of the columns that matter")
}

// declared returns the columns as CREATE TABLE has them.
func (t *Table) declared() []string {
	declared := make([]string, len(t.Columns), len(t.Columns)+1)
	for i, col := range t.Columns {
		declared[i] = query.Quoted(col.Name)
		if slices.Contains([]string{"INTEGER", "REAL", "TEXT", "NUMERIC", "BLOB"}, col.Affinity) {
			declared[i] += " " + col.Affinity
		}
		if slices.Contains([]string{"NOCASE", "RTRIM"}, col.Collation) {
			declared[i] += " COLLATE " + col.Collation
		}
		if t.Types != nil && types.IsTime(t.Types[i]) {
			declared[i] += " COLLATE moment"
		}
	}
	return declared
}

// insert inserts the rows of a table, after a statement that makes it. The table of a core is there,
// and has one more column with the numbers of the rows, by which Lineage finds them. It is called as
// the core is, a name that the statement does not have.
func (c *connection) insert(ctx context.Context, schema string, t *Table, create string) error {
	if create != "" {
		if err := c.exec(ctx, create); err != nil {
			return t.failed(ctx, err)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	width, rows := len(t.Columns), t.Rows
	if create == "" {
		width++
		rows = make([][]any, len(t.Rows))
		for i, row := range t.Rows {
			rows[i] = append(slices.Clone(row), int64(i))
			for k, v := range row {
				if whole, ok := v.(int64); ok && t.Types != nil && t.Types[k] == query.SQLFloat8 { // a REAL, of which / cuts nothing off
					rows[i][k] = float64(whole)
				}
			}
		}
	}
	if err := c.exec(ctx, "INSERT INTO "+schema+"."+query.Quoted(t.Name)+" VALUES (?"+strings.Repeat(", ?", width-1)+")", rows...); err != nil {
		return t.failed(ctx, err)
	}
	return nil
}

// failed returns the error for a table that cannot be copied.
func (t *Table) failed(ctx context.Context, err error) error {
	switch code := codeOf(err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case code == codeFull || code == codeNoMemory:
		return errFull
	case code == codeTooBig:
		return sqlerr.New(sqlerr.Unsupported, "a row of %s has more than %d KiB", t.Name, maxLength>>10).WithHint("make a public view without the long column")
	}
	return sqlerr.New(sqlerr.Internal, "the public table %s cannot be copied", t.Name)
}

// may is the authorizer, which SQLite asks while it compiles. While a statement runs, it allows
// this to read, and its result to be inserted into a table of temp, which the statement cannot
// name.
func (c *connection) may(do action, name, of, database string) bool {
	s := c.running
	if s == nil {
		return true
	}
	switch do {
	case selectAction:
		return true
	case callAction:
		_, allowed := functions()[strings.ToLower(of)]
		return allowed
	case readAction:
		return c.readable(s, name, of, database)
	case insertAction:
		return name == s.resultTable() && database == "temp"
	}
	return false
}

// resultTable returns a name that the statement does not have.
func (s *Statement) resultTable() string {
	name := "the result"
	for s.names[name] {
		name += "'"
	}
	return name
}

// readable reports whether a statement may read a column of a table. An empty column is
// asked for where the statement reads none, as COUNT(*) does: there the table may be a
// common table expression. The rowid is that of the copy, which means nothing.
func (c *connection) readable(s *Statement, table, of, database string) bool {
	folded := query.FoldName(table)
	columns, copied := c.tables[folded]
	switch {
	case database == "temp":
		core := c.made[folded]
		if columns, copied = core.known, slices.Contains(s.cores, core.name); !copied {
			return false
		}
		if of == core.name {
			return true
		}
	case !s.names[folded] || database != "main" && (database != "" || of != ""):
		return false
	}
	return of == "" || copied && slices.ContainsFunc(columns, func(have column) bool { return query.SameName(have.name, of) })
}

// kinds infers the kinds of a statement's columns. It is nil if not even their number is
// known. It refuses what can be refused only where the kinds of cores are known.
func (s *Statement) kinds(c *connection) ([]types.Type, error) {
	w := s.walker(c)
	columns := w.selected(s.query)
	kinds := make([]types.Type, len(columns))
	for i := range columns {
		kinds[i] = columns[i].kind
	}
	return kinds, w.err
}

// walker returns a walker that knows the tables of a connection.
func (s *Statement) walker(c *connection) *walker {
	tables := c.tables
	if len(s.cores) > 0 {
		tables = maps.Clone(tables)
		for _, name := range s.cores {
			tables[query.FoldName(name)] = c.made[query.FoldName(name)].known
		}
	}
	w := s.newWalker(tables)
	if len(s.bound) > 0 {
		w.collect(s.count(), false)
	}
	return w
}

// typeName returns the type of a column as SQLite has it, or "".
func typeName(t types.Type) string {
	switch {
	case t == query.SQLInt8 || t == query.SQLBool:
		return "INTEGER"
	case types.IsNumber(t):
		return "REAL"
	case t == query.SQLText || types.MayBeTime(t):
		return "TEXT"
	}
	return ""
}

// run runs a statement. The driver can stop the first step of a statement only, so all of the
// work must be in it: the rows are inserted into a table, whose columns have no affinity, and
// read from there.
func (c *connection) run(ctx, limited context.Context, s *Statement, from Source, args []any) (*Result, error) {
	cores, l := from.Cores, from.Lineage
	if l == nil { // nothing compiled it before
		names, err := c.named(ctx, limited, s, cores, args)
		if err != nil {
			return nil, err
		}
		l = s.untraced(names)
	}
	names := l.names
	if err := c.place(limited, s, cores, len(names)+l.hidden); err != nil {
		return nil, s.failure(ctx, limited, err)
	}
	if err := c.fill(ctx, s, cores); err != nil {
		return nil, err
	}
	result := "temp." + query.Quoted(s.resultTable())
	c.running = s
	err := c.exec(limited, "INSERT INTO "+result+" "+l.text, args)
	c.running = nil
	if err != nil {
		if code := codeOf(err); l.hidden > 0 && limited.Err() == nil && (code == codeError || code == codeAuth) {
			if err := c.empty(limited); err != nil {
				return nil, s.failure(ctx, limited, err)
			}
			from.Lineage = s.untraced(names)
			return c.run(ctx, limited, s, from, args)
		}
		return nil, s.failure(ctx, limited, err)
	}
	out, kinds, err := c.rows(ctx, "SELECT * FROM "+result+" ORDER BY rowid", len(names)+l.hidden)
	if err != nil {
		return nil, s.failure(ctx, limited, err)
	}
	if l.hidden > 0 {
		if out.Intervals, err = l.intervals(limited, out.Rows, from); err != nil {
			return nil, s.failure(ctx, limited, err)
		}
		for i, row := range out.Rows {
			out.Rows[i] = row[:len(names):len(names)]
		}
	}
	inferred, _ := s.kinds(c)
	for i, name := range names {
		typ := query.SQLText
		if len(inferred) == len(names) {
			typ = types.Shown(inferred[i])
			if inferred[i] != types.Unknown {
				kinds[i] = dialect().Common(inferred[i], kinds[i])
			}
		}
		col := ResultColumn{name, typeName(kinds[i]), typ}
		if col.Type == "" {
			col.Type = "TEXT"
		}
		if col.SQL == query.SQLTimestamp {
			out.asMoments(i)
		}
		out.Columns = append(out.Columns, col)
	}
	return out, c.empty(ctx)
}

// asMoments writes the dates of a column as the moments at which they begin, if another value of it has a time of day.
func (r *Result) asMoments(column int) {
	timed := func(row []any) bool {
		text, ok := row[column].(string)
		return ok && len(text) > len(time.DateOnly)
	}
	if !slices.ContainsFunc(r.Rows, timed) {
		return
	}
	for _, row := range r.Rows {
		if text, ok := row[column].(string); ok {
			row[column] = calendar.Canonical(text)
		}
	}
}

// named compiles a statement without running it, and returns the names of its columns.
func (c *connection) named(ctx, limited context.Context, s *Statement, cores []*Table, args []any) ([]string, error) {
	if err := c.place(limited, s, cores, 0); err != nil {
		return nil, s.failure(ctx, limited, err)
	}
	c.running = s
	defer func() { c.running = nil }()
	err := c.exec(limited, "EXPLAIN "+s.text, args)
	if err != nil {
		return nil, s.failure(ctx, limited, err)
	}
	names, err := c.sqlite.read(limited, s.text, nil, nil)
	if err != nil {
		return nil, s.failure(ctx, limited, err)
	}
	return names, nil
}

// rows reads the rows of a table, and the kinds of its columns.
func (c *connection) rows(ctx context.Context, statement string, columns int, args ...any) (*Result, []types.Type, error) {
	out, kinds := &Result{}, make([]types.Type, columns)
	for i := range kinds {
		kinds[i] = types.Null
	}
	_, err := c.sqlite.read(ctx, statement, args, func(row []any) error {
		for i := range row {
			row[i] = shown(row[i])
			kinds[i] = dialect().Common(kinds[i], kindOf(row[i]))
		}
		if out.Rows = append(out.Rows, row); len(out.Rows) > maxRows {
			return sqlerr.New(sqlerr.Unsupported, "a result of more than %d rows is outside the dialect", maxRows).
				WithHint("add a condition or LIMIT")
		}
		return nil
	})
	return out, kinds, err
}

// shown returns a value of a result. A BLOB appears as SQLite's quote writes it.
func shown(v any) any {
	if b, ok := v.([]byte); ok {
		return fmt.Sprintf("X'%X'", b)
	}
	return v
}

// The result codes of SQLite that say something of a statement.
const (
	codeError     = 1
	codeNoMemory  = 7
	codeInterrupt = 9
	codeFull      = 13
	codeTooBig    = 18
	codeMismatch  = 20
	codeAuth      = 23
	codeRange     = 25
)

// codeOf returns SQLite's code of an error that has one, or 0.
func codeOf(err error) int {
	var e interface{ Code() int }
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// failure returns the error of a statement that failed. It may have SQLite's own words,
// since nothing on the connection is private.
func (s *Statement) failure(ctx, limited context.Context, err error) error {
	var own *sqlerr.Error
	code := codeOf(err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &own):
		return own
	case limited.Err() != nil || code == codeInterrupt:
		return sqlerr.New(sqlerr.Unsupported, "%s that runs longer than %s is outside the dialect", s.about(), maxTime).
			WithHint("does a recursive query have an end? does every join have a condition?")
	case code == codeFull || code == codeNoMemory:
		return sqlerr.New(sqlerr.Unsupported, "%s that needs this much memory, or has a result of more than %d MiB, is outside the dialect", s.about(), maxResult*4/1024).
			WithHint("add a condition or LIMIT")
	case code == codeTooBig:
		return sqlerr.New(sqlerr.Unsupported, "a text or row of more than %d KiB is outside the dialect", maxLength>>10)
	case code == codeAuth:
		return sqlerr.New(sqlerr.Unsupported, "%s", words(err)).WithHint("it may read columns of public tables, and call the functions that docs/sql/public.md lists")
	case code == codeError || code == codeRange || code == codeMismatch:
		text := words(err)
		if named, _, quoted := strings.Cut(text, " - should this be a string"); quoted {
			name := strings.Trim(strings.TrimPrefix(named, "no such column: "), `"`)
			return sqlerr.New(sqlerr.Unknown, "no such column: %s", name).Of(sqlerr.Column).WithHint("a text is written in single quotes: '%s'", name).At(s.position(" " + name))
		}
		if strings.HasPrefix(text, "no such ") || strings.HasPrefix(text, "ambiguous column") {
			return sqlerr.New(sqlerr.Unknown, "%s", text).Of(missing(text)).At(s.position(text))
		}
		return sqlerr.New(sqlerr.Invalid, "%s", text)
	}
	return sqlerr.New(sqlerr.Internal, "the statement failed inside SQLite")
}

// missing returns the kind of object of which SQLite says that there is none, or more than one.
func missing(text string) sqlerr.Object {
	switch {
	case strings.HasPrefix(text, "no such column"), strings.HasPrefix(text, "ambiguous column"):
		return sqlerr.Column
	case strings.HasPrefix(text, "no such function"):
		return sqlerr.Function
	}
	return sqlerr.Relation
}

// position returns the position of the name at the end of a message, 0 if the statement
// does not have it.
func (s *Statement) position(message string) int {
	name, position := message[strings.LastIndexAny(message, " .")+1:], 0
	syntax.Walk(s.query, func(n syntax.Node) bool {
		var path []syntax.Ident
		switch n := n.(type) {
		case *syntax.Column:
			path = n.Path
		case *syntax.Table:
			path = n.Path
		case *syntax.Call:
			path = n.Path
		}
		for _, i := range path {
			if position == 0 && i.Text == name {
				position = i.Pos()
			}
		}
		return position == 0
	})
	return position
}

// words returns what SQLite says about a statement, without the driver's frame.
func words(err error) string {
	text := err.Error()
	text = strings.TrimPrefix(text, "SQL logic error: ")
	text = strings.TrimPrefix(text, "authorization denied: ")
	if i := strings.LastIndex(text, " ("); i > 0 {
		text = text[:i]
	}
	return syntax.Excerpt(strings.ToValidUTF8(text, "?"), 200)
}
