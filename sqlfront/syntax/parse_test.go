package syntax_test

import (
	"reflect"
	"testing"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// domainText shows a declared column's domain.
func domainText(c syntax.ColumnDef) string {
	switch {
	case c.Source == nil:
		return c.Domain.String()
	case c.Source.OrNull:
		return c.Source.Table.Text + "." + c.Source.Column.Text + " or NULL"
	}
	return c.Source.Table.Text + "." + c.Source.Column.Text
}

func TestCreatePrivate(t *testing.T) {
	s, err := syntax.Parse(`create private table if not exists "my table" (
		sex TEXT IN ('F', 'it''s', NULL), age INT BETWEEN -1 AND +120, age2 INTEGER BETWEEN 0 AND 1 OR NULL,
		code INTEGER IN (3, -2, 9223372036854775807, -9223372036854775808) OR NULL, [order] TEXT IN (SELECT DISTINCT "c d" FROM lookup),
		d INTEGER IN (SELECT id FROM lookup) OR NULL, zip TEXT, t TEXT IN (NULL) OR NULL
	) FROM "raw data" WITH (epsilon = 2, Delta = 1e-6, interactive = +.5, unit = patient_id, max_rows = 4, note = 'x', b = -1, w = "two words");`)
	if err != nil {
		t.Fatal(err)
	}
	c := s.(*syntax.CreatePrivate)
	if c.Name != (syntax.Name{"my table", 36}) || !c.IfNotExists || c.Source.Text != "raw data" {
		t.Errorf("got %+v", c)
	}
	columns := []struct {
		name, domain string
		typ          query.Type
	}{
		{"sex", "IN ('F', 'it''s', NULL)", query.TypeText}, {"age", "BETWEEN -1 AND 120", query.TypeInteger},
		{"age2", "BETWEEN 0 AND 1 OR NULL", query.TypeInteger},
		{"code", "IN (-9223372036854775808, -2, 3, 9223372036854775807, NULL)", query.TypeInteger},
		{"order", "lookup.c d", query.TypeText}, {"d", "lookup.id or NULL", query.TypeInteger}, {"zip", "", query.TypeText},
		{"t", "IN (NULL)", query.TypeText},
	}
	if len(c.Columns) != len(columns) {
		t.Fatalf("got %d columns", len(c.Columns))
	}
	for i, want := range columns {
		if got := c.Columns[i]; got.Name.Text != want.name || got.Type != want.typ || domainText(got) != want.domain {
			t.Errorf("column %s %v %s, want %+v", got.Name.Text, got.Type, domainText(got), want)
		}
	}
	options := []struct {
		name, value string
		kind        syntax.ValueKind
	}{
		{"epsilon", "2", syntax.Number}, {"delta", "1e-6", syntax.Number}, {"interactive", "+.5", syntax.Number}, {"unit", "patient_id", syntax.Word},
		{"max_rows", "4", syntax.Number}, {"note", "x", syntax.String}, {"b", "-1", syntax.Number}, {"w", "two words", syntax.Word},
	}
	for i, want := range options {
		if got := c.Options[i]; got.Name.Text != want.name || got.Value != want.value || got.Kind != want.kind {
			t.Errorf("option %+v, want %+v", got, want)
		}
	}
}

func TestStatements(t *testing.T) {
	option := func(name string, at int, value string, kind syntax.ValueKind, position int) syntax.Option {
		return syntax.Option{Name: syntax.Name{name, at}, Value: value, Kind: kind, Position: position}
	}
	cases := []struct {
		text string
		want syntax.Statement
	}{
		{"CREATE PUBLIC TABLE icd10", &syntax.CreatePublic{Name: syntax.Name{"icd10", 21}}},
		{"CREATE PUBLIC TABLE a AS SELECT DISTINCT zip FROM (SELECT 1 WITH (x = 1)) WITH ROLLUP", &syntax.CreatePublic{Name: syntax.Name{"a", 21}, As: 26}},
		{"CREATE PUBLIC TABLE a AS SELECT DISTINCT zip AS z FROM b WITH (epsilon = 1);", &syntax.CreatePublic{Name: syntax.Name{"a", 21}, As: 26,
			Keys: &syntax.Keys{Column: syntax.Name{"zip", 42}, Table: syntax.Name{"b", 56}, As: syntax.Name{"z", 49},
				Options: []syntax.Option{{Name: syntax.Name{"epsilon", 64}, Value: "1", Kind: syntax.Number, Position: 74}}}}},
		{"CREATE PUBLIC TABLE IF NOT EXISTS [a b];", &syntax.CreatePublic{Name: syntax.Name{"a b", 35}, IfNotExists: true}},
		{"CREATE RELEASE r ON t USING PROJECTION", &syntax.CreateRelease{Name: syntax.Name{"r", 16}, Table: syntax.Name{"t", 21}, Using: syntax.Projection}},
		{"CREATE RELEASE r ON t", &syntax.CreateRelease{Name: syntax.Name{"r", 16}, Table: syntax.Name{"t", 21}}},
		{"CREATE MECHANISM r ON t", &syntax.CreateMechanism{Name: syntax.Name{"r", 18}, Table: syntax.Name{"t", 23}, Using: syntax.SMW}},
		{"CREATE RELEASE IF NOT EXISTS r ON t (a, \"b\") USING smw WITH (epsilon = 0.5)", &syntax.CreateRelease{
			Name: syntax.Name{"r", 30}, IfNotExists: true, Table: syntax.Name{"t", 35}, Columns: []syntax.Name{{"a", 38}, {"b", 41}}, Using: syntax.SMW,
			Options: []syntax.Option{option("epsilon", 62, "0.5", syntax.Number, 72)}}},
		{"CREATE MECHANISM m ON t (a) USING SMW", &syntax.CreateMechanism{Name: syntax.Name{"m", 18}, Table: syntax.Name{"t", 23},
			Columns: []syntax.Name{{"a", 26}}, Using: syntax.SMW}},
		{"DROP RELEASE r", &syntax.Drop{Kind: syntax.Release, Name: syntax.Name{"r", 14}}},
		{"DROP MECHANISM IF EXISTS m", &syntax.Drop{Kind: syntax.Mechanism, Name: syntax.Name{"m", 26}, IfExists: true}},
		{"drop private table t", &syntax.Drop{Kind: syntax.PrivateTable, Name: syntax.Name{"t", 20}}},
		{"DROP PUBLIC TABLE t", &syntax.Drop{Kind: syntax.PublicTable, Name: syntax.Name{"t", 19}}},
		{"SHOW TABLES", &syntax.Show{What: syntax.Tables}}, {"show releases", &syntax.Show{What: syntax.Releases}}, {"SHOW MECHANISMS", &syntax.Show{What: syntax.Mechanisms}},
		{"SHOW BUDGET", &syntax.Show{What: syntax.Budget}}, {"SHOW LEDGER", &syntax.Show{What: syntax.Ledger}}, {"show ledger full", &syntax.Show{What: syntax.Ledger, Full: true}}, {"SHOW SETTINGS;;", &syntax.Show{What: syntax.Settings}},
		{"DESCRIBE t", &syntax.Describe{syntax.Name{"t", 10}, false}}, {";; DESC \"t\" FULL", &syntax.Describe{syntax.Name{"t", 9}, true}},
		{"SET Accuracy = 25", &syntax.Set{option("accuracy", 5, "25", syntax.Number, 16)}},
		{"SET mechanism = auto", &syntax.Set{option("mechanism", 5, "auto", syntax.Word, 17)}},
		{"SET clamp = on -- now", &syntax.Set{option("clamp", 5, "on", syntax.Word, 13)}},
		{"EXPORT RELEASE r TO 'a''b.db'", &syntax.Export{Releases: []syntax.Name{{"r", 16}}, Path: "a'b.db", PathPosition: 21}},
		{"EXPORT RELEASE IF NOT EXISTS r TO 'x'", &syntax.Export{IfNotExists: true, Releases: []syntax.Name{{"r", 30}}, Path: "x", PathPosition: 35}},
		{"EXPORT RELEASE r, s TO 'x.html' WITH (title = 'T')", &syntax.Export{Releases: []syntax.Name{{"r", 16}, {"s", 19}}, Path: "x.html", PathPosition: 24,
			Options: []syntax.Option{option("title", 39, "T", syntax.String, 47)}}},
		{"/* é */ SHOW /*! TABLES */ LEDGER", &syntax.Show{What: syntax.Ledger}},
	}
	for _, c := range cases {
		got, err := syntax.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.text, got, c.want)
		}
	}
}

func TestSelectNames(t *testing.T) {
	for _, c := range []struct {
		text  string
		table syntax.Name
		alias syntax.Name
	}{
		{"SELECT COUNT(*) FROM people", syntax.Name{"people", 22}, syntax.Name{"people", 22}},
		{"SELECT COUNT(*) FROM \"my \"\"table\" AS p", syntax.Name{`my "table`, 22}, syntax.Name{"p", 38}},
		{"SELECT COUNT(*) FROM main.[people] x", syntax.Name{"people", 27}, syntax.Name{"x", 36}},
		{"SELECT COUNT(*) FROM (people)", syntax.Name{"people", 23}, syntax.Name{"people", 23}},
		{"SELECT COUNT(*) FROM dual", syntax.Name{"dual", 22}, syntax.Name{"dual", 22}},
		{"EXPLAIN SELECT COUNT(*) FROM people", syntax.Name{"people", 30}, syntax.Name{"people", 30}},
	} {
		s, err := syntax.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if e, ok := s.(*syntax.Explain); ok {
			s = e.Select
		}
		if sel := s.(*syntax.Select); sel.Table != c.table || sel.From[0].Alias != c.alias {
			t.Errorf("%s: table %v alias %v", c.text, sel.Table, sel.From[0].Alias)
		}
	}
}

// TestComposed looks which texts show that they are no single aggregate. Binding refuses all of
// them; that what it takes is not composed is checked wherever package sqlfront's tests bind.
func TestComposed(t *testing.T) {
	for _, text := range []string{
		`SELECT AVG(n) FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS s`,
		`SELECT * FROM (SELECT sex FROM people LIMIT 3)`,
		`SELECT COUNT(*) FROM (SELECT DISTINCT sex FROM people)`,
		`SELECT COUNT(*) FROM (SELECT age + 1 AS a FROM people)`,
		`SELECT COUNT(*) FROM (SELECT a FROM (SELECT MAX(age) AS a FROM people) AS i) AS o`,
		`WITH c AS (SELECT COUNT(*) AS n FROM people) SELECT n FROM c`,
		`SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) FROM people`,
		`SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM towns)`,
		`SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)`,
		`EXPLAIN SELECT (SELECT COUNT(*) FROM people) AS n FROM people`,
	} {
		if !parsed(t, text).Composed() {
			t.Errorf("%s is not composed", text)
		}
	}
	for _, text := range []string{
		`SELECT COUNT(*) FROM people`,
		`SELECT "select", COUNT(*) FROM (SELECT *, sex AS "select" FROM people WHERE age > 3) AS p GROUP BY 1`,
		`SELECT COUNT(*) FILTER (WHERE sex IN (SELECT code FROM sexes)) FROM people WHERE age NOT IN (SELECT age FROM ages)`,
		`WITH p AS (SELECT (age) AS a FROM people) SELECT COUNT(*) FROM p WHERE a < 3`,
	} {
		if parsed(t, text).Composed() {
			t.Errorf("%s is composed", text)
		}
	}
}

func parsed(t *testing.T, text string) *syntax.Select {
	t.Helper()
	s, err := syntax.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if e, ok := s.(*syntax.Explain); ok {
		return e.Select
	}
	return s.(*syntax.Select)
}
