package pgcatalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/internal/pgtest"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

var long = flag.Bool("long", false, "ask a PostgreSQL again what it replies")

var update = flag.Bool("update", false, "write what PostgreSQL says to testdata and system.txt")

const (
	corpusFile  = "testdata/corpus.json"   // what clients sent, of clients/record
	shapesFile  = "testdata/shapes.sql"    // more statements, of the shapes that other clients use
	repliesFile = "testdata/postgres.json" // what PostgreSQL 15 replied, written by TestReplies with -update
	differFile  = "testdata/differ.json"   // the statements whose replies differ, and why
)

// clinic is the picture of the tables that schema makes in PostgreSQL.
var clinic = Picture{
	Database: "clinic", User: "ana", Version: "PostgreSQL 15.0 (dpsql)",
	Tables: []Table{
		{Name: "visits", Columns: []Column{{"age", "int8", true, ""}, {"sex", "text", true, ""}, {"ward", "text", true, ""},
			{"smoker", "bool", true, ""}, {"admitted", "date", true, ""}, {"cost", "numeric(8,2)", true, ""}}},
		{Name: "wards", Columns: []Column{{"ward", "text", true, ""}, {"floor", "int8", true, ""}, {"area", "float8", true, ""}}},
	},
}

const schema = `CREATE ROLE dpsql; CREATE ROLE ana LOGIN;
SET ROLE postgres;
CREATE TABLE visits (age bigint, sex text, ward text, smoker boolean, admitted date, cost numeric(8,2));
CREATE TABLE wards (ward text, floor bigint, area double precision);
ALTER TABLE visits OWNER TO dpsql; ALTER TABLE wards OWNER TO dpsql;
GRANT SELECT ON visits, wards TO ana; ALTER DATABASE clinic OWNER TO dpsql;`

// reply is what a statement gives, normalised.
type reply struct {
	SQL     string     `json:"sql"`
	Args    []*string  `json:"args,omitempty"`
	Columns []string   `json:"columns,omitempty"` // name and OID of the type
	Rows    [][]string `json:"rows,omitempty"`
	Many    string     `json:"many,omitempty"`  // in place of Rows: their number and hash
	Error   string     `json:"error,omitempty"` // the SQLSTATE with which PostgreSQL refused it, here a sqlerr.Code
}

// statements returns the distinct statements of the corpus that the catalog is asked, with
// the first arguments that came with each.
func statements(t *testing.T) []reply {
	t.Helper()
	raw, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string][]struct {
		SQL  string      `json:"sql"`
		Args [][]*string `json:"args"`
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	var out []reply
	seen := make(map[string]bool)
	for _, client := range slices.Sorted(maps.Keys(corpus)) {
		for _, s := range corpus[client] {
			for _, one := range split(s.SQL) {
				if seen[one] || !Asks(read(placed(one, numbered{}))) {
					continue
				}
				seen[one] = true
				r := reply{SQL: one}
				if len(s.Args) > 0 {
					r.Args = s.Args[0]
				}
				out = append(out, r)
			}
		}
	}
	return append(out, shapes(t)...)
}

// shapes returns the statements of shapesFile.
func shapes(t *testing.T) (out []reply) {
	t.Helper()
	raw, err := os.ReadFile(shapesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range split(string(raw)) {
		if !Asks(read(sql)) {
			t.Errorf("the catalog is not asked:\n%s", sql)
		}
		out = append(out, reply{SQL: sql})
	}
	return out
}

// split cuts a text into statements.
func split(sql string) (out []string) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	runes, from := []rune(sql), 0
	for _, t := range tokens(sql) {
		if t.Matches(";") || t.Kind == syntax.KindEnd {
			if s := strings.TrimSpace(string(runes[from : t.Position-1])); s != "" {
				out = append(out, s)
			}
			from = t.Position
		}
	}
	return out
}

// names gives the OIDs that {{visits}} and the like stand for.
type oids interface{ oid(name string) string }

type numbered struct{ c *Catalog }

func (o numbered) oid(name string) string {
	table, isType := strings.CutSuffix(name, " type")
	table, isArray := strings.CutSuffix(table, " array")
	switch {
	case o.c == nil:
		return "1"
	case name == "clinic database":
		return strconv.Itoa(databaseOID)
	case strings.HasSuffix(name, " role"):
		return strconv.FormatInt(o.c.regLookup(strings.TrimSuffix(name, " role"), regroleOID), 10)
	case o.c.tables[table] == nil:
		return ""
	}
	n := o.c.tables[table].oid
	switch {
	case isArray:
		n += 2
	case isType:
		n++
	}
	return strconv.Itoa(int(n))
}

type theirs map[string]string

func (m theirs) oid(name string) string { return m[name] }

var placeholder = regexp.MustCompile(`\{\{([a-z ]+)\}\}`)

// placed puts OIDs in the place of {{…}}.
func placed(sql string, o oids) string {
	return placeholder.ReplaceAllStringFunc(sql, func(s string) string { return o.oid(strings.Trim(s, "{}")) })
}

// finish sorts a reply's rows, since PostgreSQL's order of equal keys is its own, and shortens
// many rows.
func (r *reply) finish() {
	slices.SortFunc(r.Rows, slices.Compare)
	if len(r.Rows) > 60 {
		text, _ := json.Marshal(r.Rows)
		sum := sha256.Sum256(text)
		r.Many, r.Rows = fmt.Sprint(len(r.Rows), " rows, ", hex.EncodeToString(sum[:8])), nil
	}
}

// ask returns the catalog's reply.
func ask(c *Catalog, q reply) (reply, error) {
	out := reply{SQL: q.SQL, Args: q.Args}
	args := make([]any, len(q.Args))
	for i, a := range q.Args {
		if a != nil {
			args[i] = placed(*a, numbered{c})
		}
	}
	rows, err := c.Query(context.Background(), Session{PID: 7, Set: func(string, string, bool) error { return nil }}, placed(q.SQL, numbered{c}), args)
	if err != nil {
		out.Error = string(sqlerr.CodeOf(err))
		return out, err
	}
	for _, col := range rows.Columns {
		out.Columns = append(out.Columns, fmt.Sprint(col.Name, " ", col.OID))
	}
	for _, row := range rows.Values {
		line := make([]string, len(row))
		for i, v := range row {
			line[i] = "NULL"
			if v != nil {
				line[i] = string(c.AppendText(nil, rows.Columns[i].OID, v))
			}
		}
		out.Rows = append(out.Rows, normal(line, rows.Columns, numbered{c}))
	}
	return out, nil
}

// normal replaces what differs between two servers with the same schema: the OIDs of what
// users made, and what names the server itself.
func normal(line []string, columns []ResultColumn, o oids) []string {
	for i, s := range line {
		for _, name := range []string{"visits", "wards", "visits type", "wards type", "visits array type", "wards array type", "clinic database", "ana role", "dpsql role"} {
			own := !strings.HasSuffix(name, " role") && !strings.HasSuffix(name, " database") || columns[i].OID == oidOID
			if own && s == o.oid(name) && s != "" {
				s = "{{" + name + "}}"
			}
		}
		if strings.HasPrefix(s, "PostgreSQL 15.") {
			s = "{{version}}"
		}
		line[i] = s
	}
	return line
}

// TestCorpus holds the catalog to PostgreSQL's replies to what clients send.
func TestCorpus(t *testing.T) {
	c, err := New(clinic)
	if err != nil {
		t.Fatal(err)
	}
	c.time = time.Minute // on a busy machine
	raw, err := os.ReadFile(repliesFile)
	if err != nil {
		t.Fatal(err)
	}
	var replies []reply
	if err := json.Unmarshal(raw, &replies); err != nil {
		t.Fatal(err)
	}
	raw, err = os.ReadFile(differFile)
	if err != nil {
		t.Fatal(err)
	}
	var listed []struct{ SQL, Why string }
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatal(err)
	}
	why := make(map[string]string)
	for _, d := range listed {
		why[d.SQL] = d.Why
	}
	same, recorded := 0, 0
	written := make(map[string]bool)
	for _, s := range shapes(t) {
		written[s.SQL] = true
	}
	for _, want := range replies {
		if !written[want.SQL] {
			recorded++
		}
		got, err := ask(c, want)
		got.finish()
		switch diff := difference(got, want); {
		case diff == "" && why[want.SQL] != "":
			t.Errorf("%s lists a statement that does not differ any more:\n%s", differFile, want.SQL)
		case diff == "" && !written[want.SQL]:
			same++
		case diff != "" && why[want.SQL] == "":
			t.Errorf("%s\n\t%s (%v)", want.SQL, diff, err)
		}
		delete(why, want.SQL)
	}
	for sql := range why {
		t.Errorf("%s lists a statement that the corpus has not:\n%s", differFile, sql)
	}
	t.Logf("%d of %d statements that clients sent give PostgreSQL's columns, types and rows; so do %d more, but for %d listed in all", same, recorded,
		len(replies)-recorded, len(listed))
	if same*100 < recorded*95 {
		t.Errorf("fewer than 95 in 100 do")
	}
}

// codes are the SQLSTATEs that an error's code stands for.
var codes = map[sqlerr.Code][]string{
	sqlerr.Unknown:   {"42P01", "42703", "42883", "42704", "42702"}, // a table, column, function, type; an ambiguous column
	sqlerr.Malformed: {"42601"},
	sqlerr.Invalid:   {"42601", "42804", "42809", "42P10", "22P02", "21000"},
}

func difference(got, want reply) string {
	switch {
	case got.Error != "" && slices.Contains(codes[sqlerr.Code(got.Error)], want.Error):
		return ""
	case got.Error != want.Error:
		return fmt.Sprintf("refused: %q, by PostgreSQL: %q", got.Error, want.Error)
	case !slices.Equal(got.Columns, want.Columns):
		return fmt.Sprintf("columns %v, PostgreSQL %v", got.Columns, want.Columns)
	case got.Many != want.Many || !slices.EqualFunc(got.Rows, want.Rows, slices.Equal):
		return fmt.Sprintf("%s rows\n\t%v\nPostgreSQL's %s\n\t%v", got.Many, got.Rows, want.Many, want.Rows)
	}
	return ""
}

// TestSystem makes system.txt again, of PostgreSQL 15.
func TestSystem(t *testing.T) {
	cluster := postgres15(t)
	script, err := os.ReadFile("system.sql")
	if err != nil {
		t.Fatal(err)
	}
	made, err := cluster.Exec(string(script))
	if err != nil {
		t.Fatal(err)
	}
	if made += "\n"; *update {
		if err := os.WriteFile("system.txt", []byte(made), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if made != systemText {
		t.Error("system.txt is not what system.sql makes: see what changed with -update")
	}
}

// postgres15 starts a PostgreSQL 15, for the tests that ask it anew what is kept.
func postgres15(t *testing.T) *pgtest.Cluster {
	t.Helper()
	if !*update && !*long {
		t.Skip("PostgreSQL is asked again with -long")
	}
	cluster := pgtest.Start(t)
	if v := cluster.MustExec(t, "SHOW server_version_num"); !strings.HasPrefix(v, "15") {
		t.Skipf("what is kept is of PostgreSQL 15, and this is %s", v)
	}
	return cluster
}

// TestReplies asks a PostgreSQL the statements of the corpus, and compares its replies with
// those that are kept. With -update it writes them.
func TestReplies(t *testing.T) {
	cluster := postgres15(t)
	dsn, err := cluster.Database("clinic", "TEMPLATE template0 LOCALE 'C.UTF-8'")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	admin := connect(t, dsn)
	if _, err := admin.Exec(ctx, schema).ReadAll(); err != nil {
		t.Fatal(err)
	}
	c, err := New(clinic)
	if err != nil {
		t.Fatal(err)
	}
	system := absentFrom(t, admin, c)
	o := theirs{}
	for name, of := range map[string]string{"visits": "'visits'::regclass::oid", "wards": "'wards'::regclass::oid",
		"visits type": "(SELECT oid FROM pg_type WHERE typname = 'visits')", "wards type": "(SELECT oid FROM pg_type WHERE typname = 'wards')",
		"visits array type": "(SELECT oid FROM pg_type WHERE typname = '_visits')", "wards array type": "(SELECT oid FROM pg_type WHERE typname = '_wards')",
		"ana role": "'ana'::regrole::oid", "dpsql role": "'dpsql'::regrole::oid", "clinic database": "(SELECT oid FROM pg_database WHERE datname = 'clinic')"} {
		o[name] = scalars(t, admin, "SELECT "+of)[0]
	}
	ana := connect(t, strings.Replace(dsn, "user=postgres", "user=ana", 1))
	var replies []reply
	for _, q := range statements(t) {
		replies = append(replies, askPostgres(t, ana, q, o, system))
	}
	text, err := json.MarshalIndent(replies, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(repliesFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(repliesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != string(text) {
		t.Errorf("PostgreSQL's replies are not those of %s: see what changed with -update", repliesFile)
	}
}

func connect(t *testing.T, dsn string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func scalars(t *testing.T, conn *pgconn.PgConn, sql string) (out []string) {
	t.Helper()
	r := conn.ExecParams(context.Background(), sql, nil, nil, nil, nil).Read()
	if r.Err != nil {
		t.Fatal(sql, r.Err)
	}
	for _, row := range r.Rows {
		out = append(out, string(row[0]))
	}
	return out
}

// absent are the names and OIDs of what PostgreSQL has by itself and the catalog has not, by
// the table of pg_catalog that lists them. A row of PostgreSQL's with one of them is left out:
// the catalog lists what a client may ask about, not all that a server is made of.
type absent struct {
	names map[string]map[string]bool
	oids  map[string]bool // they count in columns of the type oid
}

func absentFrom(t *testing.T, conn *pgconn.PgConn, c *Catalog) absent {
	t.Helper()
	out := absent{make(map[string]map[string]bool), make(map[string]bool)}
	for table, column := range map[string]string{"pg_class": "relname", "pg_type": "typname", "pg_proc": "proname", "pg_roles": "rolname",
		"pg_database": "datname", "pg_language": "lanname", "pg_settings": "name", "pg_collation": "collname", "pg_am": "amname", "pg_extension": "extname"} {
		key, initial := "oid", "oid < 16384"
		if table == "pg_settings" {
			key, initial = "0", "true"
		}
		ours := make(map[string]bool)
		rows, err := c.Query(context.Background(), Session{}, "SELECT "+column+"::text FROM "+table+" UNION SELECT 'oid ' || "+key+"::text FROM "+table, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows.Values {
			ours[row[0].(string)] = true
		}
		for _, oid := range scalars(t, conn, "SELECT "+key+"::text FROM "+table+" WHERE "+initial) {
			out.oids[oid] = out.oids[oid] || !ours["oid "+oid]
		}
		if table == "pg_type" { // the type of a relation's rows has its name
			initial += " AND typtype <> 'c'"
		}
		out.names[table] = make(map[string]bool)
		for _, name := range scalars(t, conn, "SELECT "+column+"::text FROM "+table+" WHERE "+initial) {
			out.names[table][name] = !ours[name]
		}
	}
	for _, title := range scalars(t, conn, "SELECT format_type(oid, NULL) FROM pg_type WHERE oid < 16384 AND typtype <> 'c'") {
		out.names["pg_type"][title] = true
	}
	for n, info := range typeTable().types {
		delete(out.names["pg_type"], c.typeTitle(n))
		delete(out.names["pg_type"], info.name)
	}
	return out
}

var functionName = regexp.MustCompile(`(?i)^(proname|typinput|name|(func|function|procedure)_name)$`)

// has reports whether a row is about something absent.
func (a absent) has(q reply, row [][]byte, columns []ResultColumn) bool {
	for i, v := range row {
		if v == nil {
			continue
		}
		if columns[i].OID == oidOID && a.oids[string(v)] {
			return true
		}
		if columns[i].OID == 1009 && slices.ContainsFunc(strings.FieldsFunc(string(v), func(r rune) bool { return strings.ContainsRune("{},\"=", r) }),
			func(s string) bool { return a.names["pg_type"][s] }) { // types of a function's arguments
			return true
		}
		for table, names := range a.names {
			relevant := table == "pg_class" || table == "pg_type" || strings.Contains(q.SQL, table)
			if table == "pg_proc" { // their names are common words
				relevant = relevant && functionName.MatchString(columns[i].Name)
			}
			if relevant && names[string(v)] {
				return true
			}
		}
	}
	return false
}

func askPostgres(t *testing.T, conn *pgconn.PgConn, q reply, o theirs, system absent) reply {
	t.Helper()
	out := reply{SQL: q.SQL, Args: q.Args}
	args := make([][]byte, len(q.Args))
	for i, a := range q.Args {
		if a != nil {
			args[i] = []byte(placed(*a, o))
		}
	}
	r := conn.ExecParams(context.Background(), placed(q.SQL, o), args, nil, nil, nil)
	var rows [][][]byte
	for r.NextRow() {
		row := slices.Clone(r.Values())
		for i := range row {
			row[i] = slices.Clone(row[i])
		}
		rows = append(rows, row)
	}
	fields := slices.Clone(r.FieldDescriptions())
	_, err := r.Close()
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		out.Error = refused.Code
		return out
	} else if err != nil {
		t.Fatal(q.SQL, err)
	}
	var columns []ResultColumn
	for _, f := range fields {
		out.Columns = append(out.Columns, fmt.Sprint(f.Name, " ", f.DataTypeOID))
		columns = append(columns, ResultColumn{Name: f.Name, OID: f.DataTypeOID})
	}
	for _, row := range rows {
		if system.has(q, row, columns) {
			continue
		}
		line := make([]string, len(row))
		for i, v := range row {
			if line[i] = "NULL"; v != nil {
				line[i] = strings.ReplaceAll(string(v), "postgres", "dpsql")
			}
		}
		out.Rows = append(out.Rows, normal(line, columns, o))
	}
	out.finish()
	return out
}
