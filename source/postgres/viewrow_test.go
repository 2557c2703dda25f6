package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/source"
	"dpsql/sqlerr"
)

// fallible makes a table and views of it. No view fails until fall adds a row that makes
// each of them fail.
func fallible(t testing.TB, dsn string) (views map[string]string, fall func()) {
	t.Helper()
	conn := dialled(t, dsn)
	execute(t, conn, `CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
		`CREATE TABLE a (p text, x float8, n numeric, d date, u text, s text COLLATE "C", o text COLLATE "POSIX", i int[], k int[], j json[], f text COLLATE folded)`,
		`INSERT INTO a VALUES ('p', 1, 1, '2024-01-01', 'year', 'a', 'b', '{1}', '{2}', NULL, 'a')`,
		"CREATE FUNCTION rejecting(int, int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1 / ($1 - 9) = 0; END'", "CREATE OPERATOR public.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = rejecting)")
	views = map[string]string{
		"averaged":   "SELECT CASE WHEN avg(x) < 3 THEN 1 ELSE 0 END AS y FROM a GROUP BY p",
		"part":       "SELECT date_part('year', d) = 2024 AS y FROM a",
		"named":      "SELECT date_part(u, t) = 2024 AS y FROM (SELECT u, TIMESTAMP '2024-01-01' AS t FROM a) AS a",
		"hour":       "SELECT CASE WHEN p = 'q' THEN (extract(hour FROM d) = 1)::int ELSE 0 END AS y FROM a",
		"arrays":     "SELECT 1 = ANY (ARRAY[i, k]) AS y FROM a",
		"pair":       "SELECT ARRAY[i, k] IS NULL AS y FROM a",
		"alike":      "SELECT p = 'q' AND s COLLATE folded LIKE 'z%' AS y FROM a",
		"folding":    "SELECT p = 'q' AND f LIKE 'z%' AS y FROM a",
		"beginning":  "SELECT p = 'q' AND starts_with(s COLLATE folded, 'z') AS y FROM a",
		"position":   "SELECT CASE WHEN p = 'q' THEN strpos(s COLLATE folded, 'z') ELSE 0 END AS y FROM a",
		"lowered":    "SELECT CASE WHEN p = 'q' THEN length(lower(textcat(s, o))) ELSE 0 END AS y FROM a",
		"compared":   "SELECT p = 'q' AND s < o AS y FROM a",
		"equal":      "SELECT p = 'q' AND s = o AS y FROM a",
		"rounded":    "SELECT round(n) = 1 AS y FROM a",
		"ceiled":     "SELECT ceil(n) = 1 AS y FROM a",
		"floored":    "SELECT floor(n) = 1 AS y FROM a",
		"maximum":    "SELECT max(j) IS NULL AS y FROM a GROUP BY p",
		"greatest":   "SELECT p = 'q' AND GREATEST(s, o) = 'z' AS y FROM a",
		"rowcompare": "SELECT p = 'q' AND (s, 1) < (o, 2) AS y FROM a",
		"own":        "SELECT CASE WHEN p = 'q' THEN 9 ELSE 1 END OPERATOR(public.===) 1 AS y FROM a",
		"chosen":     "SELECT CASE WHEN p = 'q' THEN n ELSE x END AS y FROM a",
		"either":     "SELECT COALESCE(n, x) AS y FROM a",
		"among":      "SELECT x IN (VALUES (n), (x)) AS y FROM a",
		"shared":     "SELECT p, y FROM a JOIN (SELECT p, x AS n, 1 AS y FROM a) AS b USING (p, n)",
		"merged":     "SELECT p, n AS y FROM a UNION ALL SELECT p, x FROM a",
		"single":     "SELECT p, n AS y FROM a EXCEPT SELECT p, NULL::real FROM a",
		"nested":     "SELECT p, x AS y FROM a UNION ALL (SELECT p, 1 FROM a UNION ALL SELECT p, n FROM a ORDER BY p)",
		"moment":     "SELECT p, d AS y FROM a UNION SELECT p, TIMESTAMP '2024-01-01' FROM a",
		"zone":       "WITH c AS (SELECT p, TIMESTAMPTZ '2024-01-01' AS y FROM a INTERSECT ALL SELECT p, d FROM a) SELECT p, y FROM c",
	}
	return views, func() {
		execute(t, conn, `INSERT INTO a VALUES ('q', 1e200, (repeat('9', 131072) || '.5')::numeric, '5874897-01-01', 'nonsense', 'z', 'z', '{1}', '{1,2}', ARRAY['1'::json], 'z'),
			('q', 1, ('-' || repeat('9', 131072) || '.5')::numeric, '2024-01-01', 'year', 'z', 'y', '{1}', '{1}', ARRAY['2'::json], 'z')`)
	}
}

// ofUnit is a view whose rows are those of units.
func ofUnit(name, unit string) source.Table {
	return source.Table{Source: name, Unit: unit, MaxRows: 2, Key: []byte("key")}
}

// TestViewsThatCanFail checks that views are refused if a single row can make the server
// fail when it reaches that row.
func TestViewsThatCanFail(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	views, fall := fallible(t, dsn)
	conn := dialled(t, dsn)
	for name, text := range views {
		execute(t, conn, "CREATE VIEW "+name+" AS "+text)
		table := source.Table{Source: "public." + name}
		if strings.Contains(text, "SELECT p, ") {
			table = ofUnit(table.Source, "p")
		}
		_, err := check(pool, table)
		fails(t, err, sqlerr.Unsupported)
		if err == nil {
			t.Errorf("%s is not refused: %s", name, text)
		}
	}
	works := make(map[string]bool)
	for name := range views {
		_, err := conn.Exec(ctx, "SELECT * FROM "+name)
		works[name] = err == nil
	}
	fall()
	for name, text := range views {
		if _, err := conn.Exec(ctx, "SELECT * FROM "+name); !works[name] || err == nil {
			t.Errorf("%s does not show what it is refused for: %s", name, text)
		}
	}
}

// TestViewsThatGrow doubles a text in each of a chain of views. Five doublings are accepted,
// wherever they are.
func TestViewsThatGrow(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (p text, s text, v varchar(9))", "CREATE VIEW named AS SELECT p, s || ' ' || v AS s FROM a UNION ALL SELECT p, v || ', ' || s FROM a",
		"CREATE VIEW addressed AS SELECT p, s || ' ' || v || ', ' || p || '-' || v || '-' || s || '.' AS s FROM a")
	for _, name := range []string{"named", "addressed"} {
		if _, err := check(pool, ofUnit("public."+name, "p")); err != nil {
			t.Error(err)
		}
	}
	for f, form := range []string{"SELECT p, s || s AS s FROM %s", "SELECT DISTINCT p, textcat(s, s) AS s FROM %s", "SELECT p, max(lower(s || s)) AS s FROM %s GROUP BY p", "SELECT p, s FROM a UNION SELECT p, s || s FROM %s",
		"SELECT q.p, q.s || q.s AS s FROM (SELECT * FROM %s) AS q", "WITH c AS (SELECT p, s || s AS s FROM %s) SELECT * FROM c", "SELECT p, CASE WHEN p > 'a' THEN s || s ELSE s END AS s FROM %s", "SELECT a.p, (SELECT max(b.s || b.s) FROM %s AS b WHERE a.p = b.p) AS s FROM a",
		"SELECT q.p, q.s || r.s AS s FROM %s AS q JOIN %[1]s AS r ON q.p = r.p"} {
		below := "a"
		for i := range 6 {
			name := fmt.Sprintf("v%d_%d", f, i)
			execute(t, conn, "CREATE VIEW "+name+" AS "+fmt.Sprintf(form, below))
			below = name
			if _, err := check(pool, ofUnit("public."+name, "p")); (err == nil) != (i < 5) || err != nil && !strings.Contains(err.Error(), "joined by ||") {
				t.Errorf("%d of %s: %v", i+1, form, err)
			}
		}
	}
}

// TestViewsThatVary checks that views are refused if a group of values that differ and
// compare as equal may show any of them, or if storage decides what they show.
func TestViewsThatVary(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, `CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`, "CREATE TABLE a (f text COLLATE folded, g text COLLATE folded, s text, c bpchar, n numeric, x float8)",
		"CREATE TABLE p (s text) PARTITION BY LIST (s)")
	for name, text := range map[string]string{"grouped": "SELECT f FROM a GROUP BY f", "merged": "SELECT f FROM a UNION SELECT g FROM a", "most": "SELECT max(f) AS f FROM a",
		"greater": "SELECT GREATEST(f, g) AS f FROM a", "alike": "SELECT f = g AS f FROM a", "explicit": "SELECT DISTINCT s COLLATE folded AS f FROM a",
		"padded": "SELECT s, c LIKE 'a ' AS f FROM (SELECT DISTINCT s, c FROM a) AS a",
		"blanks": "SELECT s, octet_length(c) AS f FROM (SELECT s, c FROM a UNION SELECT s, c FROM a) AS a",
		"scale":  "SELECT s, n::text AS f FROM (SELECT s, n FROM a GROUP BY s, n) AS a", "sign": "SELECT DISTINCT s, length(x::text) AS f FROM a", "largest": "SELECT s, max(n)::text AS f FROM a GROUP BY s",
		"place": "SELECT ctid AS f FROM a", "born": "SELECT s AS f FROM a WHERE xmin IS NOT NULL", "part": "SELECT CASE tableoid WHEN 16384 THEN 1 END AS f FROM p", "named": "SELECT q.tableoid AS f FROM p AS p1 JOIN p AS q ON p1.s = q.s"} {
		execute(t, conn, "CREATE VIEW "+name+" AS "+text)
		table := source.Table{Source: "public." + name}
		if strings.HasPrefix(text, "SELECT s, ") || name == "sign" {
			table = ofUnit(table.Source, "s")
		}
		_, err := check(pool, table)
		if sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), "it could fail on a row, or vary") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestVirtualColumns checks that the expressions of columns that are computed when they are read are
// held to what views are. Servers before 18 have no such columns; their catalogs can.
func TestVirtualColumns(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "SET allow_system_table_mods = on")
	doubled := "s || s"
	for range 5 {
		doubled = "upper(" + doubled + ") || upper(" + doubled + ")"
	}
	for name, c := range map[string]struct {
		column string
		ok     bool
	}{
		"halves": {"int AS (x / 2)", true}, "quotients": {"int AS (2 / x)", false}, "found": {"int AS (strpos(s, 'a'))", true}, "searched": {"int AS (strpos(s, t))", false}, "long": {"text AS (" + doubled + ")", false},
	} {
		execute(t, conn, fmt.Sprintf("CREATE TABLE %s (x int, s text, t text, y %s STORED)", name, strings.Replace(c.column, " AS", " GENERATED ALWAYS AS", 1)),
			fmt.Sprintf("UPDATE pg_attribute SET attgenerated = 'v' WHERE attrelid = '%s'::regclass AND attname = 'y'", name), fmt.Sprintf("CREATE VIEW %s_seen AS SELECT y, upper(s) AS s FROM %[1]s", name),
			fmt.Sprintf("CREATE TABLE of_%s (LIKE %[1]s) PARTITION BY LIST (x)", name), fmt.Sprintf("ALTER TABLE of_%s ATTACH PARTITION %[1]s DEFAULT", name))
		for _, of := range []string{name, name + "_seen", "of_" + name} {
			if _, err := check(pool, source.Table{Source: "public." + of}); (err == nil) != c.ok || err != nil && sqlerr.CodeOf(err) != sqlerr.Unsupported {
				t.Errorf("%s, of which y is %s: %v", of, c.column, err)
			}
		}
	}
}

// TestSearches checks that a view looks for one text in another only if one of them is a constant.
func TestSearches(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (s text, t text)")
	for text, ok := range map[string]bool{"strpos(s, 'a')": true, "strpos('abc', s)": true, "btrim(s, ' .')": true, "ltrim(s)": true, "starts_with(s, t)": true,
		"strpos(s, t)": false, "position(t IN s)": false, "btrim(s, t)": false, "ltrim(s, upper(t))": false, "rtrim(s, t || 'a')": false, "replace(s, 'a', t)": false, "repeat(s, 9)": false, "lpad(s, 9)": false, "translate(s, t, t)": false, "split_part(s, t, 1)": false, "s ~ t": false, "s LIKE t": false, "format('%s', s)": false} {
		execute(t, conn, "CREATE OR REPLACE VIEW v AS SELECT ("+text+") IS NULL AS x FROM a")
		if _, err := check(pool, source.Table{Source: "public.v"}); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestViewsThatCannotFail reads views over the rows that make others fail.
func TestViewsThatCannotFail(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	_, fall := fallible(t, dsn)
	fall()
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE EXTENSION citext", "CREATE TYPE mood AS ENUM ('good', 'bad')", "CREATE DOMAIN word AS text", "CREATE DOMAIN small AS int", "CREATE TABLE b (c citext, m mood, w word, l small, v varchar(9), h char(3))",
		"INSERT INTO b VALUES ('C', 'good', 'w', 1, 'v', 'h'), (NULL, NULL, NULL, NULL, NULL, NULL)")
	for name, text := range map[string]string{
		"passed": "SELECT f, i, j, x, n FROM a", "collated": `SELECT s < o COLLATE "C" AS y, lower(f COLLATE "C") AS l FROM a`, "clamped": "SELECT LEAST(GREATEST(x, 0), 9) AS y, trunc(n) AS n, sign(n) AS s FROM a",
		"listed": "SELECT p IN ('p', 'q') AS y, x IN (1, 2) AS z, 1 = ANY (i) AS e FROM a", "grouped": "SELECT p, d, count(DISTINCT s) AS c, max(n) AS n, min(d) AS e FROM a GROUP BY p, d", "merged": "SELECT p, s FROM a UNION SELECT p, u FROM a",
		"widened":   "SELECT p, '1'::smallint AS y, x FROM a UNION SELECT p, 1, '1'::real FROM a UNION ALL (SELECT p, '1'::bigint, 1 FROM a EXCEPT SELECT p, n, '2'::smallint FROM a)",
		"shortened": "SELECT p, u::varchar AS t FROM a UNION SELECT p, NULL::bpchar FROM a UNION SELECT p, u FROM a",
		"begins":    "SELECT h LIKE 'h%' AS y, h IN ('h', 'i') AS z, GREATEST(h, 'h') AS g FROM b",
		"texts":     "SELECT c::text AS c, m::text AS m, w::text AS w, l::text AS l, v::text AS v, h::text AS h, l::bigint AS b FROM b", "moods": "SELECT m = 'good' AS g, m < 'bad' AS l, GREATEST(m, 'bad') AS b FROM b",
		"shapes": "SELECT CASE m WHEN 'good' THEN 1 ELSE 2 END AS y, NULLIF(l, 1) AS n, v IS DISTINCT FROM w AS d, COALESCE(v, 'x') LIKE 'v%' AS k FROM b",
	} {
		execute(t, conn, "CREATE VIEW "+name+" AS "+text, "SELECT * FROM "+name)
		table := source.Table{Source: "public." + name}
		if strings.HasPrefix(text, "SELECT p, ") {
			table = ofUnit(table.Source, "p")
		}
		if _, err := check(pool, table); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestVouchedViewsDoNotFail makes random views of allowed and forbidden parts. It reads
// the accepted ones over rows that make others fail.
func TestVouchedViewsDoNotFail(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	_, fall := fallible(t, dsn)
	fall()
	conn := dialled(t, dsn)
	execute(t, conn, "SET client_min_messages = warning", "INSERT INTO a (p) VALUES (NULL)", `INSERT INTO a VALUES ('', 'NaN', 'NaN', 'infinity', '\', '%', 'é', '{}', NULL, NULL, 'ß'), ('q', '-Infinity', '-Infinity', '-infinity', 'İ', 'z', '', '{NULL}', '{{1}}', '{}', '')`)
	made, vouched := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		text := "SELECT " + someExpression(rt, rapid.SampledFrom([]string{"text", "numeric", "boolean", "integer", "date"}).Draw(rt, "type"), 3) + " AS y FROM a"
		if rapid.Bool().Draw(rt, "filtered") {
			text += " WHERE " + someExpression(rt, "boolean", 2)
		}
		table := source.Table{Source: "public.made"}
		if rapid.Bool().Draw(rt, "grouped") {
			table = ofUnit(table.Source, "y")
			text = "SELECT y, " + rapid.SampledFrom([]string{"max(y)", "min(y)", "avg(y)", "count(DISTINCT y)", "y"}).Draw(rt, "aggregate") + " AS z FROM (" + text + ") AS a GROUP BY y"
		}
		execute(rt, conn, "DROP VIEW IF EXISTS made")
		if _, err := conn.Exec(context.Background(), "CREATE VIEW made AS "+text); err != nil {
			return // no statement
		}
		made++
		if _, err := check(pool, table); err != nil {
			return // refused, or an error of its constants
		}
		vouched++
		if _, err := conn.Exec(context.Background(), "SELECT * FROM made"); err != nil {
			rt.Errorf("%s: %v", text, err)
		}
	})
	if t.Logf("%d of %d views are vouched for", vouched, made); vouched == 0 {
		t.Error("no view is vouched for")
	}
}

// someExpression draws an expression of a type, most of which the server takes.
func someExpression(t *rapid.T, typ string, depth int) string {
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "choice") }
	if depth == 0 {
		return pick(map[string][]string{"text": {"p", "u", "s", "o", "f", "'z'", `o COLLATE "C"`, "s COLLATE folded", "NULL::text"}, "real": {"x", "1e300::float8"},
			"numeric": {"n", "0.5"}, "date": {"d"}, "boolean": {"true", "p = 'q'"}, "integer": {"1", "-1", "0", "length(p)"}, "array": {"i", "k"}}[typ]...)
	}
	some := func(typ string) string { return someExpression(t, typ, rapid.IntRange(0, depth-1).Draw(t, "depth")) }
	if rapid.IntRange(0, 3).Draw(t, "any type") == 0 {
		return pick("CASE WHEN "+some("boolean")+" THEN "+some(typ)+" ELSE "+some(typ)+" END", "GREATEST("+some(typ)+", "+some(typ)+")", "COALESCE("+some(typ)+", "+some(typ)+")",
			"NULLIF("+some(typ)+", "+some(typ)+")", "(SELECT max("+some(typ)+") FROM a)")
	}
	all := []string{"text", "real", "numeric", "date", "boolean", "integer", "array"}
	other := pick(all...)
	switch typ {
	case "text":
		return pick("lower", "upper", "initcap", "reverse", "btrim", "") + "(" + pick(some(typ), some(typ)+" || "+some(typ), some(other)+"::text", `"left"(`+some(typ)+", "+some("integer")+")") + ")"
	case "real", "numeric":
		return pick("round", "ceil", "floor", "trunc", "sign", "abs", "exp", "-") + "(" + some(typ) + ")"
	case "integer":
		return pick(some(typ)+" / 7", some(typ)+" % 7", some(typ)+" / "+some(typ), some(typ)+" + 1", "length("+some("text")+")", "strpos("+some("text")+", "+some("text")+")", "("+some("boolean")+")::int")
	case "date":
		return pick(some(typ), "date("+some(typ)+"::timestamp)", some(typ)+" + 1")
	case "array":
		return pick(some(typ), "ARRAY["+some("integer")+"]", "ARRAY["+some(typ)+"]", some(typ)+" || "+some(typ))
	}
	return "(" + pick(some(other)+pick(" = ", " < ", " >= ", " <> ", " IS DISTINCT FROM ")+some(other), some(other)+" IN ("+some(other)+", "+some(other)+")", some("text")+pick(" LIKE ", " NOT LIKE ", " ILIKE ", " ~ ")+pick("'z%'", `'z\'`, some("text")),
		some("integer")+" = ANY ("+some("array")+")", "extract("+pick("year", "hour", "dow", "epoch")+" FROM "+some("date")+") = 1", "date_part("+some("text")+", "+some("date")+") = 1", "NOT "+some("boolean"), "("+some(other)+", "+some("text")+") < ("+some(other)+", "+some("text")+")") + ")"
}

func TestTrees(t *testing.T) {
	n, ok := readTree(`({QUERY :a 1 :b <> :name :c :list (1 {X :y "a\ b" :z z} (b 8 9)) :constvalue 4 [ 2 0 ]})`)
	if !ok {
		t.Fatal("the text is not understood")
	}
	root := n.([]any)[0].(*tree)
	if root.kind != "QUERY" || root.atom("a") != "1" || root.has("b") || !root.has("a") || root.atom("name") != ":c" || len(root.fields["constvalue"]) != 2 {
		t.Errorf("%v", root)
	}
	if x := root.list("list")[1].(*tree); x.kind != "X" || x.atom("y") != `"a\ b"` || x.atom("z") != "z" || root.node("list") != nil {
		t.Errorf("%v", x)
	}
	for _, bad := range []string{"", "{", "(", "({X :a 1}", "{X :a 1 :a 2}", "{X a}", ")", "{X :a 1} 2", `{X :a (}`} {
		if _, ok := readTree(bad); ok {
			t.Errorf("%q is understood", bad)
		}
	}
}

// FuzzViews reads any text as a definition. It must not panic. A definition is refused
// unless the server is asked about all of its calls, operators and types: if the server
// vouches for nothing, no definition with a call is accepted.
func FuzzViews(f *testing.F) {
	f.Add(`({QUERY :commandType 1 :limitCount <> :rtable ({RANGETBLENTRY :rtekind 0 :relid 16384 :tablesample <>})})`)
	f.Add(`{SUBLINK :subLinkType 4 :subselect {QUERY :hasAggs true}} {OPEXPR :opno 528 :opfuncid 65 :args ({CONST :constisnull false :constlen 4 :constbyval true :constvalue 4 [ 2 0 0 0 0 0 0 0 ]})}`)
	f.Add(`({TARGETENTRY :expr {MINMAXEXPR :minmaxtype 25 :minmaxcollid 0 :inputcollid 0 :args ({VAR :vartype 25 :varcollid 950} {COLLATEEXPR :arg <> :collOid 100})} :ressortgroupref 1})`)
	f.Add(`({SETOPERATIONSTMT :colTypes (o 25) :colCollations (o 100 0) :groupClauses ({SORTGROUPCLAUSE :eqop 98 :sortop 0})} {ARRAYEXPR :array_typeid 1007 :element_typeid 23 :multidims false} {COERCEVIAIO :arg {SUBLINK :subLinkType 4 :subselect {QUERY :targetList ({TARGETENTRY :expr <>})}} :resulttype 25})`)
	f.Add(`({QUERY :hasSubLinks true :rtable ({RANGETBLENTRY :rtekind 0 :relid 1} {RANGETBLENTRY :rtekind 6 :ctename c :ctelevelsup 0 :self_reference false}) :cteList ({COMMONTABLEEXPR :ctename c :cterecursive false :ctequery {QUERY :jointree {FROMEXPR :fromlist <>}}}) :jointree {FROMEXPR :fromlist ({JOINEXPR :jointype 0 :larg {RANGETBLREF :rtindex 1} :rarg {RANGETBLREF :rtindex 2} :quals {OPEXPR :opno 98 :args ({VAR :varno 1 :varattno 1 :varlevelsup 0} {VAR :varno 2 :varattno 1 :varlevelsup 0})}}) :quals {SUBLINK :subLinkType 2 :testexpr <> :subselect {QUERY :jointree {FROMEXPR}}}} :targetList ({TARGETENTRY :resno 1 :expr {VAR :varno 1 :varattno 1 :varlevelsup 0}})})`)
	f.Add(`({QUERY :setOperations {SETOPERATIONSTMT :colTypes (o 25 23) :larg {RANGETBLREF :rtindex 1}} :rtable ({RANGETBLENTRY :rtekind 1 :lateral false :subquery {QUERY :targetList ({TARGETENTRY :resno 1 :expr {CONST}}) :jointree {FROMEXPR :fromlist ({RANGETBLREF :rtindex 1})} :rtable ({RANGETBLENTRY :rtekind 2 :joinaliasvars ({COALESCEEXPR :args ({VAR :varno 1 :varattno 1 :varlevelsup 0})})})}})})`)
	f.Fuzz(func(t *testing.T, text string) {
		var v view
		v.look(text)
		nothing := v.refused + v.refusedFor(catalog{})
		everything := catalog{map[string]string{}, map[string]string{}, map[string]typ{}, map[string]bool{}}
		for _, c := range v.calls {
			everything.functions[c.number], everything.operators[c.number], everything.collations[c.collation] = "int4div(integer,integer)", "texteq(text,text)", true
			for _, number := range c.types {
				everything.types[number] = typ{"text", true}
			}
		}
		v.refusedFor(everything)
		var w view
		w.reach("1", 'v', []byte(text))
		o := originsOf(w, everything)
		if _, below, _ := o.relation(nil, "1"); below != nil {
			o.rowByRow(below)
			o.unitByUnit(below, "1")
		}
		root, ok := readTree(text)
		if !ok && v.refused == "" {
			t.Errorf("%q is accepted", text)
		}
		each(root, func(n *tree) {
			calls := strings.HasSuffix(n.kind, "OPEXPR") || n.kind == "FUNCEXPR" || n.kind == "AGGREF" || n.kind == "SORTGROUPCLAUSE" || n.kind == "RELABELTYPE" || n.kind == "COERCEVIAIO" || strings.HasPrefix(n.kind, "ARRAY") || strings.HasPrefix(n.kind, "MINMAX")
			if (calls || !plain.has(n.kind)) && ok && nothing == "" {
				t.Errorf("%q is accepted without a look at %s", text, n.kind)
			}
		})
	})
}
