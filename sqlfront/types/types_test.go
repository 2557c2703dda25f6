package types_test

import (
	"cmp"
	"database/sql"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// columns are those of the tests, by the first letters of their types. u is of an unknown type.
var columns = map[string]types.Type{"i": query.SQLInt8, "f": query.SQLFloat8, "n": query.SQLNumeric, "b": query.SQLBool,
	"s": query.SQLText, "d": query.SQLDate, "m": query.SQLTimestamp, "u": types.Unknown}

// scope has the columns, and an entry of a select list named d, which is a number.
type scope struct{}

func (scope) Column(c *syntax.Column) types.Type {
	name := c.Path[len(c.Path)-1]
	if t, ok := columns[name.Text]; ok {
		return t
	}
	return types.Clock(name)
}

func (scope) Query(q *syntax.Query) []types.Type {
	if b, ok := q.Body.(*syntax.Block); ok {
		return []types.Type{scope{}.Column(b.Items[0].X.(*syntax.Column))}
	}
	return nil
}

func (scope) Entry(name syntax.Ident) types.Type {
	if name.Text == "d" {
		return query.SQLInt8
	}
	return scope{}.Column(&syntax.Column{Path: []syntax.Ident{name}})
}

// dialects are those of the tests: one in which all values have a type, and SQLite's.
var dialects = func() [2]*types.Dialect {
	all := types.Shared()
	all.Add(types.Function{Entry: true, Result: types.First}, "low")
	return [2]*types.Dialect{
		{Functions: all, Operators: types.SQLite, Mixed: query.SQLText, NotNumber: query.SQLInt8, Long: query.SQLInt8},
		{Functions: all, Operators: types.SQLite, Long: query.SQLFloat8},
	}
}()

// told is what the pass tells of a statement.
type told struct {
	first      types.Type // of its first expression
	parameters []types.Type
	moved      bool // it computes with dates, which nobody hands to SQLite
}

// pass finds the types in SELECT text.
func pass(t *testing.T, d *types.Dialect, text string) (found told) {
	t.Helper()
	q, err := syntax.ParseQuery("SELECT "+text, syntax.Native)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	p := &types.Pass{Dialect: d, Scope: scope{}, Parameters: make([]types.Type, 20)}
	p.Check = func(e syntax.Expr, operands ...types.Type) {
		b, ok := e.(*syntax.Binary)
		found.moved = found.moved || ok && (b.Op == "+" || b.Op == "-") && slices.ContainsFunc(operands, types.MayBeTime)
	}
	b := q.Body.(*syntax.Block)
	found.first, found.parameters = p.Of(b.Items[0].X), p.Parameters
	p.Clauses(b, q)
	return found
}

// TestOf holds the types of expressions, with a semicolon between them, in each dialect.
func TestOf(t *testing.T) {
	for _, c := range []struct{ typed, sqlite, texts string }{
		{"null", "null", `NULL; ?; COALESCE(NULL, NULL); CASE WHEN b THEN NULL END; NULLIF(NULL, ?); (?) COLLATE NOCASE`},
		{"int8", "int8", `7; 999999999999999999; i; (i); i COLLATE NOCASE; -i; +b; -b; i + b; b * b; i % i; i + NULL; ? + ?; b + NULL`},
		{"int8", "int8", `i & f; s | s; 1 << 2; i >> b; ~i; ~f; length(s); length(i); ABS(i); ABS(b); ABS(NULL)`},
		{"int8", "int8", `CAST(s AS INTEGER); CAST(f AS BIGINT); d - d; d - ?; ? - d; d - s`},
		{"int8", "int8", `MAX(i, b); MIN(NULL, i); COALESCE(?, i); IIF(b, i, NULL); IF(b, i, i); CASE WHEN b THEN i ELSE b END`},
		{"int8", "int8", `CASE i WHEN f THEN i END; NULLIF(i, f); NULLIF(NULL, i); LOW(d); LOW((d))`}, // the entry, not the column
		{"int8", "float8", `9223372036854775807; 1000000000000000000`},
		{"float8", "float8", `2.5; 1e3; .5; 9223372036854775808; f; i / 2.5; i + f; n * f; -NULL; -?; ~?; ABS(f); COALESCE(i, f); MAX(n, f)`},
		{"float8", "float8", `ROUND(i); ROUND(n, 1); ROUND(?); CAST(i AS REAL); CAST(s AS DOUBLE PRECISION)`},
		{"numeric", "numeric", `n; n + i; n * n; -n; n + ?; ABS(n); COALESCE(n, 2, b); NULLIF(n, i)`},
		{"text", "text", `'x'; s; lower(s); UPPER(i); substr(s, 1); substring(s, 1, 2); s || i; CAST(i AS TEXT); CAST(i AS VARCHAR(3))`},
		{"text", "text", `COALESCE(s, 'x'); CURRENT_TIME; (SELECT s)`},
		{"time or text", "time or text", `IFNULL(d, 'x'); CASE WHEN b THEN m ELSE s END; COALESCE(d, m, s); MAX(s, d)`},
		{"bool", "bool", `TRUE; false; b; NOT i; NOT NULL; i > 1; i = s; s LIKE 'x'; s NOT GLOB 'x'; i IS NULL; i IS NOT NULL; i IS TRUE`},
		{"bool", "bool", `i IS 3; i IS DISTINCT FROM 2; i BETWEEN 1 AND 2; i IN (1, 2); i IN (SELECT s); (i, f) = (1, 2); EXISTS (SELECT i)`},
		{"bool", "bool", `i AND f; b OR NULL; COALESCE(b, TRUE)`},
		{"date", "date", `d; CURRENT_DATE; d + 1; 1 + d; d - 1; d + ?; COALESCE(d, d); MAX(d, ?); CASE WHEN b THEN d END; IIF(b, d, NULL)`},
		{"date", "date", `NULLIF(d, s); LOW(x.d); LOW(d + 1)`},
		{"timestamp", "timestamp", `m; CURRENT_TIMESTAMP; COALESCE(d, m); MIN(m, d); CASE WHEN b THEN m ELSE d END`},
		{"text", "", `COALESCE(i, s); CASE WHEN b THEN d ELSE i END; MAX(i, 'x'); IIF(b, n, d)`}, // no type has both
		{"int8", "", `s + 1; s * s; m - 1; m + m; s / NULL; u + 1; d * 2; 2 % d`},
		{"", "", `u; x'00'; unheard(1); COALESCE(u, i); NULLIF(u, b); NULLIF(NULL, u); -u; -s; ABS(s); "current_date"; s -> '$'`},
		{"", "", `CAST(i AS NUMERIC); CAST(i AS BLOB)`},
	} {
		for text := range strings.SplitSeq(c.texts, "; ") {
			for i, want := range []string{c.typed, c.sqlite} {
				if got := pass(t, dialects[i], text).first; string(got) != want {
					t.Errorf("%s is %q in dialect %d, want %q", text, got, i, want)
				}
			}
		}
	}
}

// TestParametersOf holds the types of parameters, which are those of the first use that tells one;
// ? is unknown.
func TestParametersOf(t *testing.T) {
	for _, c := range []struct{ texts, typed, sqlite string }{
		{`? + 1; ? % 2; d + ?; ? & 1; i IN (?, 's'); i IN (VALUES (?), (3)); CASE ? WHEN i THEN 1 END; CASE i WHEN ? THEN 1 END`, "int8", "int8"},
		{`CAST(? AS INTEGER); ABS(?); -(COALESCE(?, i)); ?1 = i OR ?1 = s; i = s OR i = ?; 1 LIMIT CAST(? AS INTEGER)`, "int8", "int8"},
		{`? - ?; ? + ?; ? & ?; ? IN (1, ?); 1 LIMIT ? OFFSET ?; 1 WHERE i BETWEEN ? AND ?`, "int8 int8", "int8 int8"},
		{`-?; ~?; ? * f; ROUND(?); ? IN (2.5, 1); ? > 0.5`, "float8", "float8"},
		{`? + n; ? = n; n BETWEEN ? AND 2; COALESCE(?, n)`, "numeric", "numeric"},
		{`?1 = 9223372036854775807`, "int8", "float8"},
		{`?1 || ?1 = i; ? = 'x'; ? = (SELECT s); ? IN (SELECT s); lower(?); s LIKE ?; COALESCE(?, 'x'); (?) COLLATE NOCASE = s`, "text", "text"},
		{`? || ?; ? GLOB ?; s LIKE ? ESCAPE ?; s IN (?, ?)`, "text text", "text text"},
		{`NOT ?; ? IS TRUE; ? OR b; b = ?; 1 WHERE ?; 1 HAVING ?; COUNT(*) FILTER (WHERE ?); CASE WHEN ? THEN 1 END`, "bool", "bool"},
		{`d - ?; ? - d; d > ?; NULLIF(?, d); ? BETWEEN 'x' AND d; d BETWEEN ? AND '2024-12-31'; ? = CURRENT_DATE; 1 ORDER BY d = ?`, "date", "date"},
		{`m > ?; COALESCE(?, m, d); ? IN (d, m)`, "timestamp", "timestamp"},
		{`? IS NULL; unheard(?); CAST(? AS NUMERIC); ? = u`, "?", "?"},
		{`? = ?; ? IN (?, NULL)`, "? ?", "? ?"},
		{`COALESCE(?, s, i); CASE WHEN b THEN ? WHEN i THEN d ELSE i END; ? IN (i, s)`, "text", "?"},
		{`s + ?; d * ?`, "int8", "?"},
		{`b = (? AND i > ?); i IN (1, 2) AND (? OR i < ?); CASE WHEN ? THEN ? ELSE i END`, "bool int8", "bool int8"},
		{`d > COALESCE(?, ?); (d, d) = (?, ?); d > MAX(?, CASE WHEN b THEN ? END)`, "date date", "date date"},
		{`d > MAX(d, IIF(?, ?, NULL)); CASE WHEN ? THEN ? ELSE d END`, "bool date", "bool date"},
		{`(i, d) IN ((?, ?), (1, '2024-01-01')); (i, d) IN (VALUES (?, ?)); (1, d) = (?, ?)`, "int8 date", "int8 date"},
		{`substr(?, ?, ?)`, "text int8 int8", "text int8 int8"},
		{`CASE s WHEN ? THEN ? WHEN 'x' THEN 2.5 END`, "text float8", "text float8"},
		{`1 WHERE d = ? GROUP BY i + ? HAVING ? ORDER BY s = ? LIMIT ?`, "date int8 bool text int8", "date int8 bool text int8"},
	} {
		for text := range strings.SplitSeq(c.texts, "; ") {
			for i, want := range []string{c.typed, c.sqlite} {
				parameters := pass(t, dialects[i], text).parameters
				got := make([]string, len(strings.Fields(want)))
				for j := range got {
					got[j] = cmp.Or(string(parameters[j]), "?")
				}
				if all := strings.Join(got, " "); all != want {
					t.Errorf("%s has %q in dialect %d, want %q", text, all, i, want)
				}
			}
		}
	}
}

// forms are expressions of anything. A letter in a circle stands for one more.
var forms = []string{"i", "f", "n", "b", "s", "d", "m", "?", "NULL", "7", "2.5", "'x'", "TRUE", "-Ⓐ", "~Ⓐ", "+Ⓐ", "NOT Ⓐ", "Ⓐ + Ⓐ", "Ⓐ - Ⓐ",
	"Ⓐ * Ⓐ", "Ⓐ / Ⓐ", "Ⓐ % Ⓐ", "Ⓐ & Ⓐ", "Ⓐ | Ⓐ", "Ⓐ || Ⓐ", "Ⓐ = Ⓐ", "Ⓐ < Ⓐ", "Ⓐ IS Ⓐ", "Ⓐ IS NOT NULL", "Ⓐ IS TRUE", "Ⓐ LIKE Ⓐ", "Ⓐ AND Ⓐ",
	"Ⓐ BETWEEN Ⓐ AND Ⓐ", "Ⓐ IN (Ⓐ, Ⓐ)", "Ⓐ IN (VALUES (Ⓐ), (Ⓐ))", "CASE WHEN Ⓐ THEN Ⓐ ELSE Ⓐ END", "CASE Ⓐ WHEN Ⓐ THEN Ⓐ END", "COALESCE(Ⓐ, Ⓐ)",
	"NULLIF(Ⓐ, Ⓐ)", "MAX(Ⓐ, Ⓐ)", "MIN(Ⓐ, Ⓐ)", "IIF(Ⓐ, Ⓐ, Ⓐ)", "ABS(Ⓐ)", "ROUND(Ⓐ, 1)", "length(Ⓐ)", "lower(Ⓐ)", "substr(Ⓐ, Ⓐ)",
	"CAST(Ⓐ AS INTEGER)", "CAST(Ⓐ AS TEXT)", "CAST(Ⓐ AS REAL)", "CAST(Ⓐ AS NUMERIC)", "(Ⓐ) COLLATE NOCASE", "(Ⓐ, Ⓐ) = (Ⓐ, Ⓐ)"}

func expression(r *rand.Rand, depth int) string {
	form := forms[r.IntN(len(forms))]
	if depth == 0 {
		form = forms[r.IntN(13)]
	}
	for strings.Contains(form, "Ⓐ") {
		inner := expression(r, depth-1)
		if len(inner) > 1 {
			inner = "(" + inner + ")"
		}
		form = strings.Replace(form, "Ⓐ", inner, 1)
	}
	return form
}

// ofType says what SQLite's typeof() may return for a value of a type; of another one, anything.
var ofType = map[types.Type]string{types.Null: "null", query.SQLInt8: "null integer", query.SQLFloat8: "null integer real", query.SQLNumeric: "null integer real",
	query.SQLBool: "null integer", query.SQLText: "null text", query.SQLDate: "null text", query.SQLTimestamp: "null text", types.TimeOrText: "null text"}

// TestTypeof runs random expressions in SQLite, over rows and arguments of the types that the pass
// was told and tells: typeof() of each value is one of its type, and a truth value is 0 or 1.
// Computing with dates is left out, which nobody hands to SQLite.
func TestTypeof(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE t (i INTEGER, f REAL, n REAL, b INTEGER, s TEXT, d TEXT, m TEXT);
		INSERT INTO t VALUES (3, 0.5, 1.5, 1, 'x', '2024-01-02', '2024-01-02 03:04:05'), (-2, -2, 0, 0, '12', '2024-12-31', '2023-01-01 00:00:00'),
			(0, 7, 1, 1, '', '0001-01-01', '9999-12-31 23:59:59'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL)`); err != nil {
		t.Fatal(err)
	}
	samples := map[types.Type][]any{types.Unknown: {nil, 3, 0.5, "y"}, query.SQLInt8: {nil, 3, 0}, query.SQLFloat8: {nil, 0.5, -2.0}, query.SQLNumeric: {nil, 1.5},
		query.SQLBool: {nil, 0, 1}, query.SQLText: {nil, "y", "5"}, query.SQLDate: {nil, "2024-01-03"}, query.SQLTimestamp: {nil, "2024-01-02 03:04:05"}}
	r := rand.New(rand.NewPCG(seeds.Of(t), 0))
	known := 0
	for range 4000 {
		text := expression(r, 1+r.IntN(3))
		n := strings.Count(text, "?")
		if n > 20 {
			continue
		}
		found := pass(t, dialects[1], text)
		want, ok := ofType[found.first]
		if !ok || found.moved || found.first == types.Null && n > 0 {
			continue
		}
		known++
		args := make([]any, n)
		for i := range args {
			all := samples[found.parameters[i]]
			args[i] = all[r.IntN(len(all))]
		}
		for value, typ := range valuesOf(t, db, text, args) {
			if !strings.Contains(want, typ) || found.first == query.SQLBool && typ == "integer" && value != "0" && value != "1" {
				t.Errorf("%s with %v is told to be %s (parameters: %v), and is %s: %s", text, args, found.first, found.parameters[:n], typ, value)
			}
		}
	}
	if t.Logf("%d types were known", known); known < 2000 {
		t.Error("too few")
	}
}

// valuesOf returns the values of an expression in table t, with SQLite's types of them.
func valuesOf(t *testing.T, db *sql.DB, text string, args []any) map[string]string {
	rows, err := db.Query("SELECT quote(x), typeof(x) FROM (SELECT "+text+" AS x FROM t)", args...)
	if err != nil {
		t.Fatalf("%s with %v: %v", text, args, err)
	}
	defer rows.Close()
	all := make(map[string]string)
	for rows.Next() {
		var value, typ string
		if err := rows.Scan(&value, &typ); err != nil {
			t.Fatal(err)
		}
		all[value] = typ
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s with %v: %v", text, args, err)
	}
	return all
}
