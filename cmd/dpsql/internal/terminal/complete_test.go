package terminal

import "testing"

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
