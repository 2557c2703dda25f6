package syntax

import (
	"reflect"
	"testing"

	"dpsql/query"
)

// domainText shows a declared column's domain.
func domainText(c ColumnDef) string {
	switch {
	case c.Source == nil:
		return c.Domain.String()
	case c.Source.OrNull:
		return c.Source.Table.Text + "." + c.Source.Column.Text + " or NULL"
	}
	return c.Source.Table.Text + "." + c.Source.Column.Text
}

func TestCreatePrivate(t *testing.T) {
	s, err := Parse(`create private table if not exists "my table" (
		sex TEXT IN ('F', 'it''s', NULL), age INT BETWEEN -1 AND +120, age2 INTEGER BETWEEN 0 AND 1 OR NULL,
		code INTEGER IN (3, -2, 9223372036854775807, -9223372036854775808) OR NULL, [order] TEXT IN (SELECT DISTINCT "c d" FROM lookup),
		d INTEGER IN (SELECT id FROM lookup) OR NULL, zip TEXT, t TEXT IN (NULL) OR NULL
	) FROM "raw data" WITH (epsilon = 2, Delta = 1e-6, interactive = +.5, unit = patient_id, max_rows = 4, note = 'x', b = -1, w = "two words");`)
	if err != nil {
		t.Fatal(err)
	}
	c := s.(*CreatePrivate)
	if c.Name != (Name{"my table", 36}) || !c.IfNotExists || c.Source.Text != "raw data" {
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
		kind        ValueKind
	}{
		{"epsilon", "2", Number}, {"delta", "1e-6", Number}, {"interactive", "+.5", Number}, {"unit", "patient_id", Word},
		{"max_rows", "4", Number}, {"note", "x", String}, {"b", "-1", Number}, {"w", "two words", Word},
	}
	for i, want := range options {
		if got := c.Options[i]; got.Name.Text != want.name || got.Value != want.value || got.Kind != want.kind {
			t.Errorf("option %+v, want %+v", got, want)
		}
	}
}

func TestStatements(t *testing.T) {
	option := func(name string, at int, value string, kind ValueKind, position int) Option {
		return Option{Name: Name{name, at}, Value: value, Kind: kind, Position: position}
	}
	cases := []struct {
		text string
		want Statement
	}{
		{"CREATE PUBLIC TABLE icd10", &CreatePublic{Name: Name{"icd10", 21}}},
		{"CREATE PUBLIC TABLE IF NOT EXISTS [a b];", &CreatePublic{Name: Name{"a b", 35}, IfNotExists: true}},
		{"CREATE RELEASE r ON t USING PROJECTION", &CreateRelease{Name: Name{"r", 16}, Table: Name{"t", 21}, Using: Projection}},
		{"CREATE RELEASE IF NOT EXISTS r ON t (a, \"b\") USING smw WITH (epsilon = 0.5)", &CreateRelease{
			Name: Name{"r", 30}, IfNotExists: true, Table: Name{"t", 35}, Columns: []Name{{"a", 38}, {"b", 41}}, Using: SMW,
			Options: []Option{option("epsilon", 62, "0.5", Number, 72)}}},
		{"CREATE MECHANISM m ON t (a) USING SMW", &CreateMechanism{Name: Name{"m", 18}, Table: Name{"t", 23},
			Columns: []Name{{"a", 26}}, Using: SMW}},
		{"DROP RELEASE r", &Drop{Kind: Release, Name: Name{"r", 14}}},
		{"DROP MECHANISM IF EXISTS m", &Drop{Kind: Mechanism, Name: Name{"m", 26}, IfExists: true}},
		{"drop private table t", &Drop{Kind: PrivateTable, Name: Name{"t", 20}}},
		{"DROP PUBLIC TABLE t", &Drop{Kind: PublicTable, Name: Name{"t", 19}}},
		{"SHOW TABLES", &Show{Tables}}, {"show releases", &Show{Releases}}, {"SHOW MECHANISMS", &Show{Mechanisms}},
		{"SHOW BUDGET", &Show{Budget}}, {"SHOW LEDGER", &Show{Ledger}}, {"SHOW SETTINGS;;", &Show{Settings}},
		{"DESCRIBE t", &Describe{Name{"t", 10}}}, {";; DESC \"t\"", &Describe{Name{"t", 9}}},
		{"SET Accuracy = 25", &Set{option("accuracy", 5, "25", Number, 16)}},
		{"SET mechanism = auto", &Set{option("mechanism", 5, "auto", Word, 17)}},
		{"SET clamp = on -- now", &Set{option("clamp", 5, "on", Word, 13)}},
		{"EXPORT RELEASE r TO 'a''b.db'", &Export{Release: Name{"r", 16}, Path: "a'b.db", PathPosition: 21}},
		{"/* é */ SHOW /*! TABLES */ LEDGER", &Show{Ledger}},
	}
	for _, c := range cases {
		got, err := Parse(c.text)
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
		table Name
		alias Name
	}{
		{"SELECT COUNT(*) FROM people", Name{"people", 22}, Name{"people", 22}},
		{"SELECT COUNT(*) FROM \"my \"\"table\" AS p", Name{`my "table`, 22}, Name{"p", 38}},
		{"SELECT COUNT(*) FROM main.[people] x", Name{"people", 27}, Name{"x", 36}},
		{"SELECT COUNT(*) FROM (people)", Name{"people", 23}, Name{"people", 23}},
		{"SELECT COUNT(*) FROM dual", Name{"dual", 22}, Name{"dual", 22}},
		{"EXPLAIN SELECT COUNT(*) FROM people", Name{"people", 30}, Name{"people", 30}},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if e, ok := s.(*Explain); ok {
			s = e.Select
		}
		if sel := s.(*Select); sel.Table != c.table || sel.From[0].Alias != c.alias {
			t.Errorf("%s: table %v alias %v", c.text, sel.Table, sel.From[0].Alias)
		}
	}
}
