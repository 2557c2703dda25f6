package syntax_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

func TestSourceStatements(t *testing.T) {
	for text, want := range map[string]syntax.Statement{
		"CREATE SOURCE warehouse USING POSTGRES WITH (dsn_env = 'WAREHOUSE_DSN')": &syntax.CreateSource{Name: syntax.Name{"warehouse", 15},
			Options: []syntax.Option{{Name: syntax.Name{"dsn_env", 46}, Value: "WAREHOUSE_DSN", Kind: syntax.String, Position: 56}}},
		`create source if not exists "my_house" using postgresql with (DSN_ENV = W, timeout = 30);`: &syntax.CreateSource{Name: syntax.Name{"my_house", 29}, IfNotExists: true,
			Options: []syntax.Option{{Name: syntax.Name{"dsn_env", 63}, Value: "W", Kind: syntax.Word, Position: 73}, {Name: syntax.Name{"timeout", 76}, Value: "30", Kind: syntax.Number, Position: 86}}},
		"DROP SOURCE warehouse":         &syntax.Drop{Kind: syntax.SourceObject, Name: syntax.Name{"warehouse", 13}},
		"DROP SOURCE IF EXISTS \"w h\"": &syntax.Drop{Kind: syntax.SourceObject, Name: syntax.Name{"w h", 23}, IfExists: true},
		"SHOW SOURCES":                  &syntax.Show{What: syntax.Sources},
	} {
		got, err := syntax.Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for from, want := range map[string][2]string{
		"raw":                             {"", "raw"},
		"main.raw":                        {"", "raw"},
		`MAIN."raw data"`:                 {"", "raw data"},
		`"main".[raw]`:                    {"", "raw"},
		"warehouse.flights":               {"warehouse", "public.flights"},
		"warehouse.public.flights":        {"warehouse", "public.flights"},
		"Warehouse.Public.Flights":        {"Warehouse", "Public.Flights"},
		`w . "Public" . "odd ""name.x"""`: {"w", `"Public"."odd ""name.x"""`},
		"w.[a b].`c`":                     {"w", `"a b"."c"`},
		`"my house".t`:                    {"my house", "public.t"},
		`w."main".t`:                      {"w", `"main".t`},
	} {
		s, err := syntax.Parse("CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 9) FROM " + from + " WITH (epsilon = 1)")
		if err != nil {
			t.Errorf("%s: %v", from, err)
			continue
		}
		if c := s.(*syntax.CreatePrivate); c.In.Text != want[0] || c.Source.Text != want[1] || len(c.Options) != 1 {
			t.Errorf("%s: %+v, want %s", from, c, want)
		}
	}
}

func TestSourceRefusals(t *testing.T) {
	m, private := sqlerr.Malformed, "CREATE PRIVATE TABLE t (a TEXT) FROM "
	checkRefusals(t, []refusal{
		{"CREATE SOURC‸E", m, "expected the name of a source", ""},
		{"CREATE SOURCE ‸'w' USING POSTGRES", sqlerr.Invalid, "does not belong into a statement", "name that"},
		{"CREATE SOURCE w ‸WITH (dsn_env = 'W')", m, "expected USING", ""},
		{"CREATE SOURCE w USING ‸mysql WITH (dsn_env = 'W')", sqlerr.Unsupported, "no kind of source mysql", "POSTGRES"},
		{"CREATE SOURCE w USING ‸5", m, "expected POSTGRES", ""},
		{"CREATE SOURCE w USING POSTGRES ‸x", m, "unexpected x after the end", ""},
		{"CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'W', ‸dsn_env = 'V')", sqlerr.Invalid, "given twice", ""},
		{"DROP SOURC‸E", m, "expected the name of a source", ""},
		{"SHOW ‸SOURCE", sqlerr.Unsupported, "SHOW SOURCE", "did you mean SHOW SOURCES?"},
		{"SHOW BUDGET ‸adult", sqlerr.Malformed, "SHOW BUDGET takes no name", "SHOW BUDGET FOR t lists the periods"},
		{"SHOW BUDGET FO‸R", sqlerr.Malformed, "expected the name of a private table", ""},
		{"SHOW RELEASES ‸FOR adult", sqlerr.Malformed, "SHOW RELEASES takes no name", "SHOW RELEASES lists all there are"},
		{private + "w‸.", m, "expected a schema, table or view", ""},
		{private + "w.‸'flights'", m, "found a string", ""},
		{private + "a.b.c.‸d", sqlerr.Invalid, "at most three names", ""},
		{private + "main.‸public.flights", sqlerr.Invalid, "main is the file itself", ""},
	})
}

// What could be a connection string or a password is refused wherever it stands,
// and never quoted.
func TestSecretsAreNotQuoted(t *testing.T) {
	const secret = "hunter22"
	for _, text := range []string{
		"CREATE SOURCE w USING POSTGRES WITH (dsn_env = ‸'postgres://u:%s@h/d')",
		"CREATE SOURCE w USING POSTGRES WITH (dsn = ‸'postgres://u:%s@h/d')",
		"CREATE SOURCE w USING POSTGRES ‸'postgres://u:%s@h/d'",
		"CREATE SOURCE w USING POSTGRES WITH (‸'postgres://u:%s@h/d')",
		"CREATE SOURCE w USING ‸'postgres://u:%s@h/d'",
		"CREATE SOURCE ‸'host=h password=%s'",
		"CREATE SOURCE w USING ‸'%s'",
		"CREATE SOURCE w USING ‸\"postgres://u:%s@h/d\"",
		"CREATE SOURCE ‸\"postgres://u:%s@h/d\" USING POSTGRES WITH (dsn_env = 'W')",
		"CREATE SOURCE w USING POSTGRES WITH (‸\"postgres://u:%s@h/d\" = 1)",
		"CREATE SOURCE w USING POSTGRES WITH (timeout = ‸'%s')",
		"CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'W', ‸password = '%s')",
		"CREATE SOURCE w USING POSTGRES WITH (dsn_env = host=h ‸password=%s)",
	} {
		text, position := marked(fmt.Sprintf(text, secret))
		e := failure(t, text)
		if e.Code != sqlerr.Invalid || !strings.Contains(e.Hint, "dsn_env = 'WAREHOUSE_DSN'") {
			t.Errorf("%s: %v", text, e)
		}
		if e.Position != position || strings.Contains(e.Error()+e.Hint, secret) {
			t.Errorf("%s: %v at %d, want position %d", text, e, e.Position, position)
		}
	}
	e := failure(t, "CREATE SOURCE w USING POSTGRES WITH (dsn_env = postgres://u:"+secret+"@h/d)") // no text without quotes
	if e.Code != sqlerr.Malformed || strings.Contains(e.Error()+e.Hint, secret) {
		t.Error(e)
	}
}
