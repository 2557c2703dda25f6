package driver_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// badSettings are values that SET and the data source name refuse.
var badSettings = map[string][]string{
	"mechanism":  {""},
	"accuracy":   {"0", "-1", "inf", "nan", "1e999", "fifty", ""},
	"confidence": {"0", "1", "95", "-0.5", "nan", "high", ""},
	"clamp":      {"maybe", "2", ""},
	"unverified": {"maybe", "2", ""},
	"margins":    {"exact", ""},
}

// A SET that is refused leaves a connection as it was.
func TestRefusedSetChangesNothing(t *testing.T) {
	db := open(t, clinic(t)+"?role=analyst&accuracy=60&confidence=0.9&clamp=on&unverified=off&mechanism=direct")
	ctx := t.Context()
	c, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const shown = `SHOW SETTINGS; SHOW BUDGET`
	before := listings(t, c, shown)
	for name, values := range badSettings {
		for _, value := range values {
			text := fmt.Sprintf(`SET %s = '%s'`, name, value)
			if _, err := c.ExecContext(ctx, text); sqlerr.CodeOf(err) != sqlerr.Invalid {
				t.Errorf("%s: %v", text, err)
			}
			if after := listings(t, c, shown); after != before {
				t.Fatalf("after %s:\n%s\nbefore:\n%s", text, after, before)
			}
		}
	}
}

// A data source name with a bad value opens nothing.
func TestBadValueInDataSourceName(t *testing.T) {
	path := clinic(t)
	for name, values := range badSettings {
		for _, value := range values {
			dsn := path + "?clamp=on&" + name + "=" + url.QueryEscape(value)
			if name == "clamp" {
				dsn = path + "?clamp=" + url.QueryEscape(value)
			}
			db, err := sql.Open("dpsql", dsn)
			if err == nil {
				err = db.Ping()
				db.Close()
			}
			if sqlerr.CodeOf(err) != sqlerr.Invalid {
				t.Errorf("%s: %v", dsn[len(path):], err)
			}
		}
	}
}

// A connection of the analyst role is held to the limits of the table, and buys
// nothing where it may not.
func TestLimitsOfTheAnalystRole(t *testing.T) {
	path := clinic(t)
	curator, analyst := open(t, path), open(t, path+"?role=analyst&mechanism=direct&accuracy=9")
	ask := func(db *sql.DB) error {
		return db.QueryRow(`SELECT COUNT(*) FROM visits WHERE age = 3`).Scan(new(int64))
	}
	for _, step := range []struct {
		set  string
		want sqlerr.Code
	}{
		{`max_charge = 0.001`, sqlerr.Budget}, {`max_charge = none, buy = off`, sqlerr.Forbidden}, {`buy = on`, ""},
		{`max_charge = 0.001, buy = off`, ""}, // it is stored
	} {
		if _, err := curator.Exec(`ALTER PRIVATE TABLE visits SET (` + step.set + `)`); err != nil {
			t.Fatal(err)
		}
		if err := ask(analyst); sqlerr.CodeOf(err) != step.want {
			t.Errorf("with %s: %v, want %q", step.set, err, step.want)
		}
	}
	if _, err := analyst.Exec(`ALTER PRIVATE TABLE visits SET (buy = on)`); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("an analyst sets limits: %v", err)
	}
}

// listings returns what statements that list things list, as text.
func listings(t *testing.T, c *sql.Conn, statements string) string {
	t.Helper()
	var b strings.Builder
	for text := range strings.SplitSeq(statements, ";") {
		rows, err := c.QueryContext(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				fmt.Fprint(&b, *v.(*any), "\t")
			}
			b.WriteString("\n")
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestPackageComments: go doc of the driver and of the module names each option.
func TestPackageComments(t *testing.T) {
	for _, file := range []string{"driver.go", "../dpsql.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append([]string{"role", "readonly", "busy_timeout", "times"}, engine.SettingNames...) {
			if !strings.Contains(string(text), "//\t"+name+"=") {
				t.Errorf("%s does not name %s", file, name)
			}
		}
	}
}
