package page_test

import (
	"strings"
	"testing"

	"dpsql/page"
	"dpsql/sqlerr"
)

// TestDeep: what could be too deep for the stack of a browser is refused, however it is written, and long lists are not.
func TestDeep(t *testing.T) {
	const from = ` FROM visits WHERE age = 200`
	wheres := func(n int, text string) string { return `SELECT COUNT(*)` + from + strings.Repeat(text, n) }
	for text, deep := range map[string]bool{
		`SELECT COUNT(*)` + strings.Repeat(" + 1", 290) + from:                                                    false,
		`SELECT COUNT(*)` + strings.Repeat(" + 1", 310) + from:                                                    true,
		`SELECT COUNT(*)` + strings.Repeat(" + 1", 50000) + from:                                                  true,
		wheres(500, ` OR age = 201`):                                                                              false,
		wheres(700, ` OR age = 201`):                                                                              true,
		wheres(1, ` OR age IN (201`+strings.Repeat(", 202", 5000)+`)`):                                            false,
		wheres(400, ` COLLATE NOCASE`):                                                                            true,
		wheres(700, ` ISNULL`):                                                                                    true,
		`SELECT 'a'` + strings.Repeat(" || 'a'", 310):                                                             true,
		`SELECT 1` + strings.Repeat(" UNION ALL SELECT 1, 2", 610):                                                true,
		`SELECT 1` + strings.Repeat(" UNION SELECT 1, 2", 90):                                                     false,
		`SELECT 1` + strings.Repeat(" + CASE WHEN 1 THEN 2 ELSE 3 END", 310):                                      true,
		`SELECT 1` + strings.Repeat(" IS DISTINCT FROM 1", 210):                                                   true,
		`SELECT 1` + strings.Repeat(" JOIN x", 700):                                                               true,
		`SELECT 1` + strings.Repeat(", 1", 400):                                                                   false,
		`SELECT ` + strings.Repeat("(", 100) + "1" + strings.Repeat(" + 1 + 1 + 1)", 100):                         true,
		`SELECT ` + strings.Repeat("(", 100) + "1" + strings.Repeat(" + 1)", 100):                                 false,
		`SELECT CASE age` + strings.Repeat(" WHEN 201 THEN 1 + 1", 400) + ` END, COUNT(*)` + from + ` GROUP BY 1`: false,
		`SELECT 1` + strings.Repeat(")", 700):                                                                     true,
		`SELECT 'a` + strings.Repeat(" + 1", 700):                                                                 false, // is malformed
	} {
		d, err := page.Open(read(t, picture), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		_, err = d.Ask(t.Context(), text)
		if got := err != nil && strings.Contains(err.Error(), "the stack of a browser"); got != deep || deep && codeOf(t, err) != sqlerr.Unsupported {
			t.Errorf("%.90s… is refused as too deep: %v, want %v: %.200v", text, got, deep, err)
		}
	}
}
