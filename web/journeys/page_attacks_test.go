package journeys

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is markup, or the end of a script, or turns what is behind it around, wherever it is put in unescaped.
const hostile = `</script></title></style><img src=x onerror=attacked=1><script>attacked=1</script><!--<script>'"` + "`&lt;${1}\u2028\u2029\u202e\u2066\u0001\u009b\ufeff\r\n]]>"

// TestHostile opens a page of which every text is an attack, or very long, and asks it for attacks.
func TestHostile(t *testing.T) {
	b, dir := browser(t), t.TempDir()
	text := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	name := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	long, table, column := strings.Repeat("long ", 400), name(strings.ReplaceAll(hostile, "\r", "")), name(hostile[:100]) // a textarea has no CR
	sql := "SELECT " + column + ", COUNT(*) AS n FROM " + table + " GROUP BY 1"
	var values []string
	for _, v := range []string{hostile, "\u202egnp", "", "<!--", "-->", strings.Repeat("x", 999), "OTHER ", "NULL", "\ufffd"} {
		values = append(values, text(v))
	}
	for file, script := range map[string]string{
		"raw.csv": "p," + name(hostile[:100]) + "\n1,a\n2,b\n",
		"setup.sql": ".import " + filepath.Join(dir, "raw.csv") + " raw\nCREATE PRIVATE TABLE " + table + " (" + column + " TEXT IN (" + strings.Join(values, ", ") + ")) FROM raw WITH (epsilon = 10, delta = 1e-6, unit = p, max_rows = 3);\n" +
			"CREATE RELEASE " + name("r"+hostile) + " ON " + table + " USING MARGINALS WITH (epsilon = 1);\n" +
			"EXPORT RELEASE " + name("r"+hostile) + " TO '" + filepath.Join(dir, "x.html") + "' WITH (title = " + text(hostile) + ", about = " + text(hostile+long) + ", cite = " + text(hostile+long) +
			", doi = " + text(hostile) + ", publisher = " + text(hostile) + ", contact = " + text(hostile) + ", licence = " + text(hostile) + ");\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-q", "-f", filepath.Join(dir, "setup.sql"), filepath.Join(dir, "x.db")}, {"verify", filepath.Join(dir, "x.html"), filepath.Join(dir, "x.db")}} {
		if out, err := exec.Command(program(t), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	want, err := exec.Command(program(t), "-json", "-readonly", filepath.Join(dir, "x.db"), sql).Output()
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, b, 320, "light", "file://"+filepath.Join(dir, "x.html")+"#sql="+url.QueryEscape(sql))
	p.until(`document.querySelector("#answer")?.textContent`)
	p.is(`document.querySelector("#answer").textContent`, strings.TrimSpace(string(want)))
	harmless := func() {
		t.Helper()
		p.is(`[typeof attacked, document.images.length, document.querySelectorAll("body > script, main > script, #app script").length, document.documentElement.scrollWidth].join()`, "undefined,0,9,320")
	}
	harmless()
	p.is(`/[\u0001\u009b\u2028\u2029\u202e\u2066]/.test(document.querySelector("#top").textContent + document.querySelector("#card").textContent)`, "false")
	p.is(`document.querySelector("h1").textContent.endsWith(String.raw`+"`"+`\u2028\u2029\u202e\u2066\u0001\u009b\ufeff\u000d`+"`"+`.replace("\\ufeff", "\ufeff") + "\n]]>")`, "true")
	for _, c := range []struct{ text, code string }{ // of JavaScript
		{`"</script><img src=x onerror=attacked=1>"`, "malformed"}, {`"\0"`, "malformed"}, {`"SELECT '\ud800\u202e</script><script>attacked=1</script>'"`, ""}, {`"\u2028'"`, "malformed"},
		{`"(".repeat(280000)`, "unsupported"}, {`"SELECT 1" + "+1".repeat(2000)`, "unsupported"},
	} {
		for _, ask := range []string{`document.querySelector("#sql").value = asked, document.querySelector("#run").click()`, `history.replaceState(null, "", "#"), location.hash = "#bare&sql=" + encodeURIComponent(asked.toWellFormed())`} {
			p.js(`document.querySelector("#answer").textContent = "", asked = ` + c.text + `, ` + ask)
			p.until(`document.querySelector("#answer").textContent && ["answered", "refused"].includes(document.documentElement.dataset.state)`)
			p.is(`JSON.parse(document.querySelector("#answer").textContent).error?.code ?? ""`, c.code)
			harmless()
		}
	}
	framed(t, b, filepath.Join(dir, "x.html"), sql, `"9 true"`)
}
