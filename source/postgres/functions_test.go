package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// extremes are values of the types that the functions of views take.
var extremes = map[string][]string{
	"field":    strings.Fields(string(dateFields)),
	"smallint": {"-32768", "32767", "0"}, "integer": {"-2147483648", "2147483647", "0", "-1"}, "bigint": {"-9223372036854775808", "9223372036854775807", "0"},
	"real": {"NaN", "Infinity", "-Infinity", "3.4e38", "-1e-45"}, "double precision": {"NaN", "Infinity", "-Infinity", "1.7e308", "-4.9e-324", "0.5"},
	"numeric": {"NaN", "Infinity", "-Infinity", "1e131071", "-9.9e131071", "1e-16383", "0.5", strings.Repeat("9", 131072) + ".5", "-" + strings.Repeat("9", 131072) + ".5"}, "text": {"", "é", "x", "%", `\`, "ß", "İ", "٣", "NaN"}, "character varying": {"", "x"}, "character": {"", "x "},
	"name": {"", "x"}, `"char"`: {"", "x"}, "boolean": {"true", "false"}, "bytea": {``, `\x00`, `\xff`}, "oid": {"0", "4294967295"},
	"date":                        {"infinity", "-infinity", "4713-11-24 BC", "5874897-12-31", "0001-01-01 BC"},
	"timestamp without time zone": {"infinity", "-infinity", "4713-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999"},
	"timestamp with time zone":    {"infinity", "-infinity", "4713-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"},
	"time without time zone":      {"00:00", "24:00", "23:59:59.999999"}, "time with time zone": {"00:00+15:59", "24:00-15:59"},
	"interval": {"178000000 years", "-178000000 years", "0"}, "uuid": {"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
}

// TestTotalFunctionsDoNotFail calls every function of the server that views may
// call, by name, with what is most likely to make it fail.
func TestTotalFunctionsDoNotFail(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "SET search_path = pg_catalog", "SET timezone = 'UTC'")
	found, err := conn.Query(ctx, `SELECT p.oid::regprocedure::text, p.proname::text, array_to_string(ARRAY(SELECT format_type(u, NULL) FROM unnest(p.proargtypes) AS u), ';')
		FROM pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.provolatile <> 'v' AND p.pronargs BETWEEN 1 AND 2 AND p.provariadic = 0`)
	must(t, err)
	type function struct {
		name string
		args []string
	}
	var all []function
	for found.Next() {
		var signature, name, args string
		must(t, found.Scan(&signature, &name, &args))
		if total.MatchString(signature) || byField.MatchString(signature) {
			all = append(all, function{name, strings.Split(args, ";")})
		}
	}
	must(t, found.Err())
	calls := 0
	call := func(text string) {
		calls++
		_, err := conn.PgConn().ExecParams(ctx, text, nil, nil, nil, []int16{1}).Close()
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "42804" || pg.Code == "42725") {
			return // the types of an any are not known: an error of the statement
		}
		if err != nil {
			t.Errorf("%.200s: %v", text, err)
		}
	}
	for _, f := range all {
		if f.name == "extract" || f.name == "date_part" {
			f.args[0] = "field"
		}
		for _, args := range tuplesOf(t, f.args) {
			call("SELECT " + quoted(f.name) + "(" + strings.Join(args, ", ") + ")")
			for _, collation := range []string{`"C"`, `"POSIX"`, `"en-x-icu"`, `"tr-x-icu"`} {
				if f.args[0] == "text" || f.args[0] == "character" {
					call("SELECT " + quoted(f.name) + "(" + strings.Join(append([]string{args[0] + " COLLATE " + collation}, args[1:]...), ", ") + ")")
				}
			}
		}
	}
	if t.Logf("%d calls of %d functions", calls, len(all)); len(all) < 100 {
		t.Errorf("only %d functions are allowed", len(all))
	}
}

// TestTotalAggregatesDoNotFail gives every aggregate that views may call all that
// is most likely to make it fail, at once and many times.
func TestTotalAggregatesDoNotFail(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, dsn := opened(t)
	conn := dialled(t, dsn)
	found, err := conn.Query(ctx, `SELECT p.oid::regprocedure::text, p.proname::text, format_type(p.proargtypes[0], NULL) FROM pg_proc AS p
		WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'a' AND p.pronargs = 1`)
	must(t, err)
	texts := make(map[string]string)
	for found.Next() {
		var signature, name, typ string
		must(t, found.Scan(&signature, &name, &typ))
		if !total.MatchString(signature) || typ == `"any"` {
			continue
		}
		if len(extremes[typ]) == 0 {
			t.Errorf("no values of type %s", typ)
		}
		rows := "SELECT '" + strings.Join(extremes[typ], "'::"+typ+" AS x UNION ALL SELECT '") + "'::" + typ
		texts[signature] = "SELECT " + name + "(x), " + name + "(DISTINCT x), count(x) FROM (" + rows + ") AS a, generate_series(1, 20)"
	}
	must(t, found.Err())
	for signature, text := range texts {
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Errorf("%s: %v", signature, err)
		}
	}
	if len(texts) < 20 {
		t.Errorf("only %d aggregates are allowed", len(texts))
	}
}

// TestNotTotal lists functions that fail on some argument, or need an order that
// not every type has, though they look harmless.
func TestNotTotal(t *testing.T) {
	for _, name := range []string{"avg(double precision)", "avg(real)", "avg(numeric)", "sum(integer)", "round(numeric)", "ceil(numeric)", "ceiling(numeric)", "floor(numeric)", "round(numeric,integer)",
		"date_part(text,date)", "date(text)", "max(anyarray)", "min(anyenum)", "max(inet)", "concat(\"any\")", "array_eq(anyarray,anyarray)", "record_eq(record,record)", "int4(bigint)", "int4(text)", "text(name)", "int4pl(integer,integer)",
		"int4div(integer,integer)", "numeric_add(numeric,numeric)", "date_lt_timestamp(date,timestamp without time zone)", "length(bytea,name)", "nameeq(name,name)", "texteq(text,text) ", "xtexteq(text,text)", "like_escape(text,text)"} {
		if total.MatchString(name) {
			t.Errorf("%s is said never to fail", name)
		}
	}
}

func tuplesOf(t *testing.T, types []string) [][]string {
	if len(types) == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for _, rest := range tuplesOf(t, types[1:]) {
		for _, v := range extremes[types[0]] {
			out = append(out, append([]string{"'" + v + "'::" + strings.Replace(types[0], "field", "text", 1)}, rest...))
		}
	}
	if extremes[types[0]] == nil && !strings.HasPrefix(types[0], "any") {
		t.Errorf("no values of type %s", types[0])
	}
	return out
}
