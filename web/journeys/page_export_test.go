package journeys

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	frames "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// setup makes a release of visits to a clinic, a page of it and a file. {CSV} and {DIR} stand for paths.
const setup = `.import {CSV} raw
CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M', NULL), diagnosis TEXT IN ('E10', 'E11', 'F32', 'I10', 'J45') OR OTHER, days INTEGER BETWEEN 0 AND 30)
  FROM raw WITH (epsilon = 10, delta = 1e-6, unit = patient, max_rows = 4);
CREATE RELEASE cells ON visits USING MARGINALS WITH (epsilon = 1);
EXPORT RELEASE cells TO '{DIR}/visits.html' WITH (title = 'Visits', about = 'Visits to a clinic, each with what it was for.', publisher = 'The clinic',
  cite = 'The clinic, 2026', licence = 'CC-BY-4.0', examples = '{DIR}/examples.sql');
EXPORT RELEASE cells TO '{DIR}/visits.db';
`

const byDiagnosis = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"

// exported returns a page that EXPORT wrote, and what the program says to statements about the same release.
func exported(t *testing.T, statements ...string) (file string, answers []string) {
	t.Helper()
	dir := t.TempDir()
	csv, err := filepath.Abs("../../testdata/clinic/visits.csv")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"examples.sql": byDiagnosis + ";\n", "setup.sql": strings.NewReplacer("{DIR}", dir, "{CSV}", csv).Replace(setup)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		out, err := exec.Command(program(t), args...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := run("-q", "-f", filepath.Join(dir, "setup.sql"), filepath.Join(dir, "clinic.db")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, sql := range statements {
		answer, err := run("-json", "-readonly", filepath.Join(dir, "visits.db"), sql)
		if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	return filepath.Join(dir, "visits.html"), answers
}

// TestExported opens a page as dpsql writes it: by its engine, it answers as the program does.
func TestExported(t *testing.T) {
	b := browser(t)
	statements := []string{byDiagnosis, "SELECT sex, AVG(days) FROM visits WHERE diagnosis = 'I10' GROUP BY sex", "SELECT COUNT(*) FROM visits WHERE days BETWEEN 2 AND 5 AND sex = 'F'",
		"SELECT COUNT(*) FROM visits WHERE zip = 7", "SELECT COUNT(*) FROM visit", "SELEC", "SELECT days, COUNT(*) FROM visits GROUP BY days ORDER BY 2 DESC LIMIT 3",
		"SELECT sex, n, RANK() OVER (ORDER BY n DESC) AS place, 9007199254740993 AS large FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) AS t"}
	file, answers := exported(t, statements...)
	t.Run("changed", func(t *testing.T) { changed(t, b, file) })
	t.Run("framed", func(t *testing.T) { framed(t, b, file, byDiagnosis, `"6 true"`) })
	p := open(t, b, 1200, "light", "file://"+file)
	p.answers(byDiagnosis)
	t.Logf("ready and answered after %s ms", p.js(`Math.round(performance.now())`))
	p.accessible()
	p.picture("exported")
	p.do(chromedp.EmulateViewport(1000, 780))
	p.keep("page", chromedp.CaptureScreenshot()) // docs/page.png; docs/console.png is console_ask
	for i, sql := range statements {
		p.js(`location.hash = "#sql=` + url.QueryEscape(sql) + `"`)
		p.until(`["answered", "refused"].includes(document.documentElement.dataset.state) && document.querySelector("#answer").dataset.sql === ` + encode(t, sql))
		p.is(`document.querySelector("#answer").textContent.trim()`, answers[i])
	}
	// What is nearly too deep for a page has stack enough.
	for _, deep := range []string{`"SELECT COUNT(*)" + "+1".repeat(295) + " FROM visits"`, `"SELECT 'a'" + "||'a'".repeat(295)`, `"SELECT COUNT(*) FROM visits WHERE days = 1" + " OR days = 2".repeat(590)`,
		`"SELECT COUNT(*) FROM visits WHERE days" + " ISNULL".repeat(590)`, `"SELECT n" + "||(n)".repeat(195) + " FROM (SELECT COUNT(*) AS n FROM visits) AS t"`} {
		p.js(`document.querySelector("#answer").textContent = "", document.querySelector("#sql").value = ` + deep + `, document.querySelector("#run").click()`)
		p.until(`document.querySelector("#answer").textContent && ["answered", "refused"].includes(document.documentElement.dataset.state)`)
		p.is(`/browser/.test(document.querySelector("#answer").textContent)`, "false")
	}
	p.js(`location.hash = "#sql=` + url.QueryEscape(byDiagnosis) + `"`)
	p.answers(byDiagnosis)
	p.js(`window.warm = [], new MutationObserver((_, watch) => {
		if (document.documentElement.dataset.state !== "answered") return;
		if (window.from) warm.push(performance.now() - window.from);
		if (warm.length === 30) return watch.disconnect();
		document.querySelector("#sql").value = "SELECT COUNT(*) FROM visits WHERE days = " + warm.length % 7;
		window.from = performance.now();
		document.querySelector("#run").click();
	}).observe(document.documentElement, { attributeFilter: ["data-state"] }), document.querySelector("#run").click(), ""`)
	p.until(`warm.length === 30`)
	t.Logf("a warm count takes %s ms from the click to the page, at the quartiles of 30", p.js(`warm.sort((a, b) => a - b) && [warm[7], warm[15], warm[22]].map((x) => x.toFixed(1)).join(", ")`))

	// Without a script, the card has it all.
	for _, text := range []string{"rows, at most 4 of each patient", "OTHER", "ε", "The clinic, 2026", "@misc{dpsql-", "CC-BY-4.0", "SHA-256", "dpsql verify"} {
		p.is(`document.querySelector("#card").textContent.includes(`+encode(t, text)+`)`, "true")
	}
}

// changed: a page in which a byte is another one, or lacks, answers nothing.
func changed(t *testing.T, b context.Context, file string) {
	whole := string(read(t, file))
	engine := func(name string) [2]string {
		_, packed, _ := strings.Cut(whole, `id="dpsql-`+name+`">`)
		return [2]string{packed[:4096], packed[:400]}
	}
	for name, change := range map[string][2]string{"script": {whole, replaced(t, whole)}, "policy": {"'sha256-", "'sha256-A"}, "hash": hashed(whole), "engine": engine("engine"), "sqlite": engine("sqlite"), "app": engine("app"), "card": {`"max_rows":4`, `"max_rows":5`}, "release": {`id="dpsql-release-0">H4sIA`, `id="dpsql-release-0">H4sIB`}, "digest": {`"digest":"`, `"digest":"0`}} {
		other := strings.Replace(whole, change[0], change[1], 1)
		if other == whole {
			t.Errorf("%s: nothing was changed", name)
		}
		at := filepath.Join(t.TempDir(), "changed.html")
		if err := os.WriteFile(at, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		p := open(t, b, 640, "light", "file://"+at)
		if name == "policy" { // nothing runs that could say more
			p.is(`document.querySelector("#app").textContent`, "With scripts this page answers SQL. While this stands here, none runs: they are off, or the page is damaged.")
			continue
		}
		p.wait("damaged")
		p.is(`/damaged/.test(document.querySelector("#app").textContent) && typeof attacked`, "undefined")
		p.is(`document.querySelector("#run:enabled") === null`, "true")
	}
}

// replaced returns a page whose script is another one, which can be unpacked.
func replaced(t *testing.T, whole string) string {
	t.Helper()
	before, rest, _ := strings.Cut(whole, `id="dpsql-app">`)
	packed, after, _ := strings.Cut(rest, "</script>")
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	script, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	w := gzip.NewWriter(&again)
	_, _ = w.Write(append(script, "attacked = 1;"...))
	w.Close()
	return before + `id="dpsql-app">` + base64.StdEncoding.EncodeToString(again.Bytes()) + "</script>" + after
}

// hashed has another hash of the application's script in the policy.
func hashed(whole string) [2]string {
	_, rest, _ := strings.Cut(whole, "script-src ")
	both := strings.Join(strings.Fields(rest)[:2], " ")
	return [2]string{both, strings.Replace(both, " 'sha256-", " 'sha256-A", 1)}
}

// framed: a frame of another page shows the answer to a statement, and nothing else. want is its number of rows.
func framed(t *testing.T, b context.Context, file, sql, want string) {
	parent := filepath.Join(filepath.Dir(file), "parent.html")
	text := `<!doctype html><title>parent</title><iframe title="visits" width="600" height="400" src="` + filepath.Base(file) + `#bare&amp;sql=` + url.QueryEscape(sql) + `"></iframe>`
	if err := os.WriteFile(parent, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, b, 800, "light", "file://"+parent)
	tree, err := chromedp.Call(p.ctx, frames.GetFrameTree, cdp.Empty{})
	if err != nil || len(tree.FrameTree.ChildFrames) != 1 {
		t.Fatalf("%v %+v", err, tree)
	}
	world, err := chromedp.Call(p.ctx, frames.CreateIsolatedWorld, frames.CreateIsolatedWorldParams{FrameID: tree.FrameTree.ChildFrames[0].Frame.ID})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := chromedp.Call(p.ctx, runtime.Evaluate, runtime.EvaluateParams{ContextID: world.ExecutionContextID, AwaitPromise: new(true), ReturnByValue: new(true),
		Expression: `new Promise(done => { const look = () => document.documentElement.dataset.state === "answered" ? done(JSON.parse(document.querySelector("#answer").textContent).rows.length + " " +
			[...document.querySelectorAll("header, #card, #run, #editor, #save")].every(e => e.getClientRects().length === 0)) : setTimeout(look, 10); look(); })`})
	if err != nil || string(shown.Result.Value) != want {
		t.Errorf("%v %+v", err, shown)
	}
}
