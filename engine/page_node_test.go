package engine_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/internal/answerjson"
	"dpsql/internal/seeds"
	"dpsql/page/publish"
	"dpsql/sqlfront/syntax"
)

// asker is a program for node: it opens a page by an engine beside SQLite, and asks. Its thread has more stack than a browser's,
// so that no statement needs too much.
const asker = `const fs = require("fs"), { Worker, isMainThread, workerData } = require("worker_threads");
const [glue, engine, sqlite, out] = isMainThread ? process.argv.slice(2) : workerData;
if (isMainThread) {
  new Worker(__filename, { workerData: [glue, engine, sqlite, out], resourceLimits: { stackSizeMb: 256 } }).on("error", e => { throw e; });
} else (async () => {
  require(glue);
  globalThis.dpsqlSQL = await require(sqlite)({ useOldExtensionFunctions: false });
  const go = new Go(), { card, payloads, statements } = JSON.parse(fs.readFileSync(0));
  go.run((await WebAssembly.instantiate(fs.readFileSync(engine), go.importObject)).instance);
  const opened = dpsqlOpen(card, payloads.map(p => new Uint8Array(Buffer.from(p, "base64"))));
  fs.writeFileSync(out, JSON.stringify([opened, ...statements.map(s => dpsqlAsk(s))]));
  process.exit(0);
})();`

// inNode asks a page statements, by an engine and by sql.js, and returns the objects that come back, as they are written.
func inNode(t *testing.T, engine, sqlite string, file []byte, statements []string) []string {
	t.Helper()
	c, payloads, _, err := publish.Verify(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(file, []byte(`id="dpsql-card">`))
	card, _, _ := bytes.Cut(rest, []byte("</script>"))
	in, err := json.Marshal(map[string]any{"card": string(card), "payloads": payloads, "statements": statements})
	if err != nil {
		t.Fatal(err)
	}
	glue, err := filepath.Abs("../page/publish/engine/wasm_exec.js")
	if err != nil {
		t.Fatal(err)
	}
	program, into := filepath.Join(t.TempDir(), "ask.cjs"), filepath.Join(t.TempDir(), "answers.json")
	if err := os.WriteFile(program, []byte(asker), 0o600); err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", program, glue, engine, sqlite, into)
	node.Stdin = bytes.NewReader(in)
	if out, err := node.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := os.ReadFile(into)
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != 1+len(statements) {
		t.Fatal(err, len(answers))
	}
	names := make([][]string, len(c.Tables))
	for i, t := range c.Tables {
		for _, column := range t.Columns {
			names[i] = append(names[i], syntax.WriteName(column.Name))
		}
	}
	if want, err := answerjson.Marshal(map[string]any{"names": names}); err != nil || answers[0] != string(want) {
		t.Fatalf("the page does not open: %s", answers[0])
	}
	return answers[1:]
}

// TestPagesInNode: a page that EXPORT wrote answers golden and drawn statements, by the engine for pages, as the native program
// answers them of the exported file: to the last digit. A golden statement that is refused is asked by one page in eight.
func TestPagesInNode(t *testing.T) {
	if !*long {
		t.Skip("thousands of statements by WebAssembly: -long asks them")
	}
	sqlite, err := filepath.Abs("../web/node_modules/sql.js/dist/sql-wasm.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sqlite); err != nil {
		t.Skip("npm ci --prefix web was not run")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is missing")
	}
	wasm := filepath.Join(t.TempDir(), "wasm")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", wasm, "../page/wasm") // as .ci/engine does
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, w := range worlds {
		if pageReleases[w.name] == nil {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			db, dir := w.make(t), t.TempDir()
			s := db.NewSession()
			s.SetDirectory(dir)
			statements := goldenQueries(t, w.name)
			golden := len(statements)
			statements = append(append(statements, momentQueries...), mixedQueries...)
			statements = append(statements, drawnQueries(seeds.Of(t), 80)...)
			for _, create := range pageReleases[w.name] {
				must(t, s, create)
				name := strings.Fields(create)[2]
				must(t, s, `EXPORT RELEASE `+name+` TO '`+name+`.db'`)
				must(t, s, `EXPORT RELEASE `+name+` TO '`+name+`.html'`)
				page, err := os.ReadFile(filepath.Join(dir, name+".html"))
				if err != nil {
					t.Fatal(err)
				}
				file := open(t, filepath.Join(dir, name+".db"), engine.Options{ReadOnly: true})
				var asked, wants []string
				answered, refused, others := 0, 0, 0
				for i, statement := range statements {
					r, err := file.NewSession().Exec(t.Context(), statement, nil)
					var object any = answerjson.FailureOf(err)
					if err == nil {
						object = answerjson.Of(r)
						answered++
					} else if refused++; refused%8 > 0 && i < golden {
						continue
					}
					want, err := answerjson.Marshal(object)
					if err != nil {
						t.Fatal(err)
					}
					asked, wants = append(asked, statement), append(wants, string(want))
				}
				for i, got := range inNode(t, wasm, sqlite, page, asked) {
					mixed := slices.Contains(mixedQueries, asked[i]) && strings.Contains(wants[i], `"rows"`)
					if left.MatchString(got) || mixed && strings.Contains(got, `"unsupported","message":"a column, or an expression, of dates and of moments, in a page, is outside`) {
						others++
					} else if got != wants[i] || mixed {
						t.Errorf("%s: %s\nin node: %s\nnative:  %s", name, asked[i], got, wants[i])
					}
				}
				t.Logf("%s: %d statements answered, and %d refused; %d of all were asked, and %d not compared", name, answered, refused, len(asked), others)
				if answered == 0 {
					t.Errorf("the page of %s answers nothing", name)
				}
			}
		})
	}
}

// momentQueries compare dates, moments and times of day that are written in other ways.
var momentQueries = strings.Split(strings.TrimSpace(`
SELECT day, n FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS q WHERE day = '2024-03-03T00:00:00Z' OR day IN ('2024-03-04 00:00', '2024-03-05') ORDER BY day
SELECT SUM(n) FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS q WHERE day BETWEEN '2024-03-02 00:00:00.000' AND '2024-03-05T00:00' AND day <> TIMESTAMP '2024-03-03' AND day != '2024-03-04T00:00'
SELECT CASE day WHEN '2024-03-03T00:00' THEN 'third' ELSE 'other' END AS c, SUM(n) FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS q GROUP BY 1 ORDER BY 1
SELECT COUNT(*) FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS a JOIN (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS b ON a.day = datetime(b.day)
SELECT SUM(n) FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS q WHERE day IN (SELECT datetime(day) FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS r ORDER BY day LIMIT 3)
SELECT SUM(n) FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS q WHERE day NOT IN (SELECT '2024-03-03T00:00' UNION ALL SELECT '2024-03-04')
SELECT day, day IN (VALUES ('2024-03-03T00:00'), ('2024-03-04 00:00:00')) AS v, EXISTS (SELECT 1 WHERE q.day IN (SELECT datetime(q.day))) AS e FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS q ORDER BY 1
WITH q AS (SELECT day, COUNT(*) AS n FROM t GROUP BY day) SELECT a.n, day FROM q AS a JOIN (SELECT day FROM q UNION SELECT day FROM q) AS b USING (day) GROUP BY day ORDER BY day
SELECT SUM(n) FROM (SELECT began, COUNT(*) AS n FROM shifts GROUP BY 1) AS q WHERE began < '9:30' AND (began >= '8:00 am') IS TRUE AND began IS NOT '8:15'
`), "\n")

// mixedQueries have dates and moments in one column, which a page cannot compare.
var mixedQueries = strings.Split(strings.TrimSpace(`
WITH q AS (SELECT day, COUNT(*) AS n FROM t GROUP BY day) SELECT day FROM q UNION SELECT datetime(day) FROM q
WITH q AS (SELECT day, COUNT(*) AS n FROM t GROUP BY day) SELECT DISTINCT CASE WHEN n > 3 THEN day ELSE datetime(day) END AS d FROM q ORDER BY 1
WITH q AS (SELECT day, COUNT(*) AS n FROM t GROUP BY day) SELECT COALESCE(datetime(day), day) AS d, SUM(n) FROM q GROUP BY 1
WITH q AS (SELECT day, COUNT(*) AS n FROM t GROUP BY day) SELECT SUM(q.n) FROM q JOIN (SELECT datetime(day) AS day FROM q) AS b USING (day)
WITH q AS (SELECT day, COUNT(*) AS n FROM t GROUP BY day) SELECT COUNT(*) FROM (SELECT datetime(day) AS day FROM q) AS b NATURAL JOIN q
`), "\n")

// drawnQueries returns statements about the tables of worlds with pages.
func drawnQueries(seed uint64, n int) (statements []string) {
	random := rand.New(rand.NewPCG(seed, 1))
	of := func(options ...string) string { return options[random.IntN(len(options))] }
	number := func() string { return strconv.Itoa(random.IntN(12) - 2) }
	condition := func() string {
		return of("age "+of("<", ">=", "=", "<>")+" "+number(), "age BETWEEN "+number()+" AND "+number(), "age % 3 = 1", "age IN ("+number()+", "+number()+")",
			"sex = '"+of("F", "M", "x")+"'", "sex IS "+of("", "NOT ")+"NULL", "UPPER(sex) LIKE '"+of("f", "_", "%")+"'", "town > '"+of("Elm", "M", "")+"'", "score * 2 > "+number(), "n < "+number())
	}
	for range n {
		table := of("visits", "visits", "people")
		if random.IntN(2) == 0 {
			table += " WHERE " + of("", "NOT ") + "(" + condition() + of(" AND ", " OR ") + condition() + ")"
		}
		key := of("sex", "age", "town", "age / "+number(), "COALESCE(sex, '?')", "CASE WHEN "+condition()+" THEN 'a' END", "score", "ROUND(age * 0.3, 1)")
		sum := of("COUNT(*)", "SUM(age)", "AVG(age)", "AVG(score)", "MEDIAN(age)", "QUANTILE(age, 0."+of("1", "25", "9")+")", "MIN(age)", "STDDEV(age)", "COUNT(DISTINCT sex)",
			"COUNT(*) FILTER (WHERE "+condition()+")", "100.0 * SUM(age) / COUNT(*)", "CORR(age, score)")
		grouped := "SELECT " + key + " AS k, " + sum + " AS n, MARGIN(n) FROM " + table + " GROUP BY 1"
		statements = append(statements, of("", "", "", "EXPLAIN ")+of("SELECT "+sum+" FROM "+table, grouped, grouped+of(" ORDER BY 2 DESC LIMIT 3", " HAVING COUNT(*) > 4"),
			"WITH x AS (SELECT "+key+" AS k, "+sum+" AS n FROM "+table+" GROUP BY 1) SELECT k, n, n * 1.0 / SUM(n) OVER (), "+of("k || '!'", "ROUND(n)", "TYPEOF(n)")+" FROM x ORDER BY n, k",
			"SELECT DISTINCT "+key+" FROM "+table, "SELECT a.n - b.n AS d FROM (SELECT "+sum+" AS n FROM "+table+") AS a, (SELECT COUNT(*) AS n FROM visits) AS b"))
	}
	return statements
}

// goldenQueries returns the golden statements of a world that a page could be asked.
func goldenQueries(t *testing.T, world string) (statements []string) {
	text, err := os.ReadFile(filepath.Join("../testdata/statements", world+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for record := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n"+parting+"\n") {
		statement, _, _ := strings.Cut(record, "\n"+mark)
		if p, err := engine.Prepare(statement); err == nil && len(p.Parameters()) == 0 && isQuery.MatchString(statement) && !clocked.MatchString(statement) {
			statements = append(statements, statement)
		}
	}
	return statements
}
