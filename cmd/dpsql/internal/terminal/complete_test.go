package terminal

import (
	"context"
	"slices"
	"testing"

	"dpsql/engine"
)

func TestComplete(t *testing.T) {
	declared := engine.Vocabulary{
		Tables: []engine.TableWords{{Name: "admissions", Columns: []engine.ColumnWords{
			{Name: "sex", Values: []string{"'F'", "'M'", "NULL"}}, {Name: "diagnosis"}, {Name: "größe"}, {Name: "order", Values: []string{"7", "70"}}}}},
		Publics: []string{"icd10"}, Releases: []string{"adm_zip"}, Mechanisms: []string{"live"}, Sources: []string{"warehouse"}, Users: []string{"ana"},
	}
	c := &completer{Config: Config{Commands: []string{".help", ".quit"}, Formats: []string{"csv", "json"},
		Vocabulary: func(context.Context) (engine.Vocabulary, error) { return declared, nil }}}
	tests := []struct {
		text  string
		start int
		want  []string
	}{
		{"sel", 0, []string{"SELECT"}},
		{".hel", 0, []string{".help"}},
		{".mode j", 6, []string{"json"}},
		{".schema ad", 8, []string{"adm_zip", "admissions"}},
		{"SELECT COUNT(*) FROM ", 21, []string{"admissions", "icd10", "warehouse"}},
		{"SELECT COUNT(*)\nFROM adm", 21, []string{"admissions"}},
		{"SELECT COUNT(*) FROM t WHERE (di", 30, []string{"DIRECT", "DISTINCT", "diagnosis"}},
		{"größe=gr", 8, []string{"GRANT", "GRANTS", "GROUP", "größe"}},
		{"WHERE or", 6, []string{"OR", "ORDER", "\"order\""}[:2]},
		{"WHERE sex = ", 12, []string{"'F'", "'M'", "NULL"}},
		{"WHERE sex IN ('F', 'M", 19, []string{"'M'"}},
		{"WHERE sex NOT IN (", 18, []string{"'F'", "'M'", "NULL"}},
		{"WHERE \"order\" >= 7", 17, []string{"7", "70"}},
		{"WHERE diagnosis = n", 18, []string{"NOCASE", "NOT", "NULL", "NUMERIC"}},
		{"SHOW B", 5, []string{"BUDGET"}},
		{"SET acc", 4, []string{"accuracy"}},
		{"DROP RELEASE ", 13, []string{"adm_zip"}},
		{"DROP MECHANISM ", 15, []string{"live"}},
		{"DROP SOURCE ", 12, []string{"warehouse"}},
		{"CREATE SOU", 7, []string{"SOURCE", "SOURCES"}},
		{"DROP USER a", 10, []string{"ana"}},
		{"GRANT SELECT ON visits TO a", 26, []string{"ana"}},
		{"SHOW GRANTS FOR ", 16, []string{"ana"}},
		{"show budget  for a", 17, []string{"admissions"}},
		{"re", 0, []string{"REFRESH", "RETIRE", "REVOKE"}},
		{"refresh ", 8, []string{"RELEASE"}},
		{"REFRESH RELEASE a", 16, []string{"adm_zip"}},
		{"REFRESH RELEASE adm_zip PER", 24, []string{"PERCENTILE_CONT", "PERCENTILE_DISC", "PERIOD"}},
		{"REFRESH RELEASE adm_zip PERIOD '2026-01' AG", 41, []string{"AGAIN"}},
		{"RETIRE ", 7, []string{"PERIOD"}},
		{"RETIRE PERIOD '2026-01' OF ", 27, []string{"admissions"}},
		{"SHOW S", 5, []string{"SETTINGS", "SOURCES"}},
		{"nothing", 0, nil},
	}
	for _, test := range tests {
		start, words := c.complete(test.text)
		if start != test.start || !slices.Equal(words, test.want) {
			t.Errorf("%q: got %d %q, want %d %q", test.text, start, words, test.start, test.want)
		}
	}
}

func TestHighlight(t *testing.T) {
	const b, g, y, off = "\x1b[34m", "\x1b[32m", "\x1b[90m", "\x1b[0m"
	tests := map[string]string{
		"select a":              b + "select" + off + " a",
		"FROM \"from\" x.from":  b + "FROM" + off + " \"from\" x.from",
		"= 'it''s' AND":         "= " + g + "'it'" + off + g + "'s'" + off + " " + b + "AND" + off,
		"'open SELECT":          g + "'open SELECT" + off,
		"1 -- SELECT\nIN":       "1 " + y + "-- SELECT" + off + "\n" + b + "IN" + off,
		"/* SELECT */ é (日/* ;": y + "/* SELECT */" + off + " é (日" + y + "/* ;" + off,
		"":                      "",
	}
	for text, want := range tests {
		if got := highlight(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
