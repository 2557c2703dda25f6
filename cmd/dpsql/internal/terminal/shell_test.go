package terminal

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFamiliar(t *testing.T) {
	for line, want := range map[string]string{
		"exit": ".quit", " QUIT; ": ".quit", `\q`: ".quit", "help": ".help", `\d`: ".tables",
		"quit it": "quit it", "SELECT 1;": "SELECT 1;", "": "",
	} {
		if got := familiar(line); got != want {
			t.Errorf("familiar(%q) = %q, want %q", line, got, want)
		}
	}
}

// What Enter does: it ends a complete statement and goes on with another.
func TestEnterEndsCompleteStatements(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT a": false, "SELECT a;": true, "SELECT ';": false, "SELECT ';'": false, "SELECT a; -- b": true, ".tables": true, "exit": true,
		"": true, "/* ;": false, "SELECT a;\nSELECT": false,
	} {
		if got := Complete(text); got != want {
			t.Errorf("%q accepted: %v", text, got)
		}
	}
}

func TestHistoryFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for range 2 {
		h := openHistory("clinic.db")
		for _, text := range []string{"SELECT 1;", "SELECT 1;", "SELECT\n2;", "",
			"create  source w using postgres with (dsn_env =\n'postgres://u:hunter22@h/d');", "CREATE SOURCE w USING POSTGRES WITH (password = 'x');",
			"CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'host=h pass=hunter22');", "CREATE SOURCE \"h hunter22\" USING POSTGRES", "CREATE SOURCE w USING 'hunter22';",
			"CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'WDSN', timeout = 5);"} {
			if _, err := h.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		h.close()
	}
	h := openHistory("./clinic.db")
	defer h.close()
	if want := strings.Split(strings.Repeat("SELECT 1;|SELECT\n2;|CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'WDSN', timeout = 5);|", 2), "|")[:6]; !slices.Equal(h.entries, want) {
		t.Errorf("remembered %q, want %q", h.entries, want)
	}
	if line, err := h.GetLine(1); err != nil || line != "SELECT\n2;" || h.Len() != 6 {
		t.Errorf("line 1 of %d is %q, %v", h.Len(), line, err)
	}
	if _, err := h.GetLine(6); err == nil {
		t.Error("line 6 of 6 exists")
	}
	if info, err := h.file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	other := openHistory("other.db")
	defer other.close()
	if other.Len() != 0 {
		t.Errorf("another database remembers %q", other.entries)
	}
}

// No password stays in the history, in the file or in memory.
func TestHistoryHasNoPassword(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	h := openHistory("clinic.db")
	defer h.close()
	for _, entry := range []string{
		"CREATE USER ana PASSWORD 'hunter22';", "alter user ana password 'hunter22';", "SELECT 1; ALTER USER ana PASSWORD 'hunter22';", "CREATE USER ana\nPASSWORD 'hunter22';",
		"CREATE USER ana PASWORD 'hunter22';", "CREATE -- a\n USER ana 'hunter22';", "create /* b */ role ana 'hunter22'", "CREAT USER ana PASSWORD 'hunter22';",
	} {
		h.Write(entry)
	}
	if h.Len() > 0 {
		t.Errorf("kept %q", h.entries)
	}
	for _, entry := range []string{"DROP USER ana;", "SHOW GRANTS FOR ana;", "CREATE PUBLIC TABLE users;"} {
		h.Write(entry)
	}
	if h.Len() != 3 {
		t.Errorf("kept %q", h.entries)
	}
}

func TestHistoryFileStaysShort(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	path, err := historyPath("clinic.db")
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Repeat("\"SELECT 1;\"\nnot JSON\n\"SELECT 2;\"\n", 2*maxEntries)
	if err := os.WriteFile(path, []byte(entries), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHistory("clinic.db")
	h.Write("SELECT 3;")
	h.close()
	got, err := os.ReadFile(path)
	if n := bytes.Count(got, []byte("\n")); err != nil || n != maxEntries+1 || !bytes.HasSuffix(got, []byte("\n\"SELECT 3;\"\n")) {
		t.Errorf("%d lines, %v", n, err)
	}
}
