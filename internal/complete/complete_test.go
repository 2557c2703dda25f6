package complete

import (
	"slices"
	"testing"
)

func TestComplete(t *testing.T) {
	declared := Vocabulary{
		Tables: []Table{{Name: "admissions", Columns: []Column{
			{Name: "sex", Values: []string{"'F'", "'M'", "NULL"}}, {Name: "diagnosis"}, {Name: "größe"}, {Name: "order", Values: []string{"7", "70"}}}}},
		Publics: []string{"icd10"}, Releases: []string{"adm_zip"}, Mechanisms: []string{"live"}, Sources: []string{"warehouse"}, Users: []string{"ana"},
		Commands: []string{".help", ".quit"}, Formats: []string{"csv", "json"},
	}
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
		start, found := declared.Complete(test.text)
		var words []string
		for _, w := range found {
			words = append(words, w.Text)
		}
		if start != test.start || !slices.Equal(words, test.want) {
			t.Errorf("%q: got %d %q, want %d %q", test.text, start, words, test.start, test.want)
		}
	}
}

func TestKinds(t *testing.T) {
	v := Vocabulary{Tables: []Table{{Name: "visits", Columns: []Column{{Name: "sex", Values: []string{"'F'"}}}}}, Releases: []string{"r"}}
	for text, want := range map[string]Word{
		"sel": {"SELECT", "keyword"}, "SELECT se": {"sex", "column"}, "SELECT 1 FROM ": {"visits", "table"},
		"WHERE sex = ": {"'F'", "value"}, "SET acc": {"accuracy", "setting"}, "DROP RELEASE ": {"r", "release"},
	} {
		if _, words := v.Complete(text); !slices.Contains(words, want) {
			t.Errorf("%q: %q, want %q", text, words, want)
		}
	}
}
