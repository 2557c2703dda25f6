package journeys

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"dpsql/web/dist"
)

// shell is a page without an engine: its Worker has the answers of testdata/charts. {{X}} stands for what is put in.
const shell = `<!doctype html>
<html lang="en" data-state="loading"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {{SCRIPT HASH}} 'wasm-unsafe-eval'; style-src {{STYLE HASH}}; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'">
<title>Visits</title><style>{{STYLE}}</style></head><body>
<header id="top"><h1>Visits &lt;2025&gt;</h1><p>Counts of admissions, each with its margin.</p></header>
<main>
<section id="app"><noscript><p>With scripts this page answers SQL.</p></noscript></section>
<article id="card"><h2>What this is</h2><dl><dt>counted</dt><dd>admissions</dd><dt>privacy loss</dt><dd>ε = 0.8</dd></dl></article>
<details id="licences"><summary>Licences</summary><pre tabindex="0">{{LICENCES}}</pre></details>
</main>
<script type="application/json" id="dpsql-card">{{CARD}}</script>
<script type="application/gzip;base64" id="dpsql-engine">{{ENGINE}}</script>
<script type="text/plain" id="dpsql-worker">{{WORKER}}</script>
<script>{{SCRIPT}}</script>
</body></html>
`

// asked are the statements that the Worker answers, with the file of the answer.
var asked = map[string]string{
	wards: "bars", months: "line_months", canada: "noise_below_zero", panels: "panels_cut",
	"SELECT markup": "markup", "DESCRIBE adult": "rows", "SELECT no_margin": "no_margin",
}

const (
	wards  = "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward"
	months = "SELECT STRFTIME('%Y-%m', admitted) AS month, COUNT(*) AS n FROM admissions GROUP BY month"
	canada = "SELECT occupation, COUNT(*) AS n FROM adult WHERE native_country = 'Canada' GROUP BY occupation"
	panels = "SELECT education, marital_status, COUNT(*) AS n FROM adult GROUP BY education, marital_status"
)

// write makes a page whose Worker has the answers of asked, and returns its address.
func write(t *testing.T, engine string) string {
	t.Helper()
	answers := map[string]json.RawMessage{"SET confidence = 0.9986111111111111": json.RawMessage(`{"columns":[],"rows":[]}`), "SET confidence = 0.95": json.RawMessage(`{"columns":[],"rows":[]}`)}
	for sql, name := range asked {
		var one struct{ Answer json.RawMessage }
		if err := json.Unmarshal(read(t, "../testdata/charts/"+name+".json"), &one); err != nil {
			t.Fatal(err)
		}
		answers[sql] = one.Answer
	}
	worker := "const answers = " + encode(t, answers) + ";\n" + strings.ReplaceAll(string(read(t, "testdata/worker.js")), "</script", `<\/script`)
	card := map[string]any{"format": "dpsql page 1", "title": "Visits <2025>", "made": "2026-11-28", "digest": strings.Repeat("ab", 32), "examples": []string{wards, months, panels},
		"tables": []any{map[string]any{"name": "admissions", "columns": []any{
			map[string]any{"name": "ward", "type": "TEXT", "shown": "cardiology, maternity, medicine, neurology, paediatrics, surgery"},
			map[string]any{"name": "<i>", "type": "INTEGER", "shown": "0 … 120"}}}}}
	script, style := bundle(t, "page.js"), bundle(t, "page.css")
	text := strings.NewReplacer(
		"{{SCRIPT HASH}}", hash(script), "{{STYLE HASH}}", hash(style), "{{STYLE}}", style, "{{SCRIPT}}", script, "{{LICENCES}}", bundle(t, "LICENCES.txt")[:900],
		"{{CARD}}", encode(t, card), "{{ENGINE}}", base64.StdEncoding.EncodeToString([]byte(engine)), "{{WORKER}}", worker).Replace(shell)
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + name
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func bundle(t *testing.T, name string) string {
	t.Helper()
	text, err := dist.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// encode returns JSON, in which encoding/json escapes every <.
func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// shared is what all journeys use, made by the first that needs it: a browser, and the program in a folder.
var shared struct {
	chromium, program sync.Once
	browser           context.Context
	folder            string
	stop              []func()
	err               error
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range slices.Backward(shared.stop) {
		stop()
	}
	os.Exit(code)
}

// browser returns Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing")
	}
	if _, err := os.Stat(axe); err != nil {
		t.Skip("npm ci --prefix web was not run")
	}
	shared.chromium.Do(func() {
		all, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.ExecPath(path), chromedp.WindowSize(1200, 900), chromedp.WSURLReadTimeout(4*time.Minute))...)
		ctx, cancel := chromedp.NewContext(all)
		shared.browser, shared.stop = ctx, append(shared.stop, end, cancel)
		shared.err = chromedp.Do(ctx)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.browser
}

// program builds dpsql, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	shared.program.Do(func() {
		if shared.folder, shared.err = os.MkdirTemp("", "journeys"); shared.err != nil {
			return
		}
		shared.stop = append(shared.stop, func() { _ = os.RemoveAll(shared.folder) })
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(shared.folder, "dpsql"), "./cmd/dpsql")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			shared.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return filepath.Join(shared.folder, "dpsql")
}

const axe = "../node_modules/axe-core/axe.min.js"

// tab is a page in a tab of its own.
type tab struct {
	t      *testing.T
	ctx    context.Context
	width  int64
	scheme string
}

// open opens an address. What the page says on its console, and what it asks of others, is an error.
func open(t *testing.T, browser context.Context, width int64, scheme, address string, more ...chromedp.Action[chromedp.Void]) tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute) // a journey that hangs; what it waits for is states
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, more...); err != nil {
		t.Fatal(err)
	}
	p := tab{t, ctx, width, scheme}
	p.media(scheme, "none")
	must(chromedp.Call(ctx, network.Enable, network.EnableParams{}))(t)
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	from := at.Scheme + "://" + at.Host
	messages, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if strings.HasPrefix(m.Text, "Failed to load resource: the server responded with a status of 4") {
				continue // a refusal of the console's API
			}
			if strings.HasSuffix(address, "/changed.html") && strings.Contains(m.Text, "Content Security Policy") {
				continue // which a page may violate whose script was changed
			}
			t.Errorf("the console says %s", m.Text)
		}
	}()
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if u := r.Request.URL; !strings.HasPrefix(u, from) && !strings.HasPrefix(u, "blob:") && !strings.HasPrefix(u, "data:") {
				t.Errorf("the network is asked for %s", u)
			}
		}
	}()
	p.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
	return p
}

func must[T any](_ T, err error) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (p tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for an expression of JavaScript to be true, over reloads of the page.
func (p tab) until(expression string) {
	p.t.Helper()
	for {
		_, err := p.evaluate(`await new Promise(done => { const look = () => (` + expression + `) ? done() : setTimeout(look, 10); look(); })`)
		switch {
		case err == nil:
			return
		case p.ctx.Err() != nil || !regexp.MustCompile("collected|destroyed|navigated|context").MatchString(err.Error()):
			p.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// wait waits for a state of the page.
func (p tab) wait(state string) {
	p.t.Helper()
	p.until(`document.documentElement.dataset.state === "` + state + `"`)
}

// js returns what an expression of JavaScript is, as a text.
func (p tab) js(expression string) string {
	p.t.Helper()
	got, err := p.evaluate(expression)
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

func (p tab) evaluate(expression string) (string, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[string]("(async () => String("+expression+"))()", chromedp.EvalAwaitPromise))
}

// is holds an expression of JavaScript to a text.
func (p tab) is(expression, want string) {
	p.t.Helper()
	if got := p.js(expression); got != want {
		p.t.Errorf("%s is %q, want %q", expression, got, want)
	}
}

// media says which scheme of colours is wished for, and whether colours are forced. Nothing fades: axe-core would find
// half a colour.
func (p tab) media(scheme, forced string) {
	p.t.Helper()
	must(chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "forced-colors", Value: forced}, {Name: "prefers-reduced-motion", Value: "reduce"}}}))(p.t)
}

// accessible holds the page to axe-core's rules, those of colours in both schemes, and to widths: of a phone, of half
// a screen, which is 200 %, and its own.
func (p tab) accessible() {
	p.t.Helper()
	if p.js(`typeof axe`) == "undefined" {
		if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](string(read(p.t, axe))+";true")); err != nil {
			p.t.Fatal(err)
		}
	}
	other := map[string]string{"light": "dark", "dark": "light"}[p.scheme]
	for _, c := range []struct{ scheme, rules string }{{other, `{ runOnly: "color-contrast" }`}, {p.scheme, ""}} {
		p.media(c.scheme, "none")
		got := p.js(`(await axe.run(` + c.rules + `)).violations.map(v => v.id + ": " + v.nodes.map(n => n.target + " " + n.any.concat(n.all).map(c => c.message)).join("; ")).join("\n")`)
		if got != "" {
			p.t.Errorf("axe-core finds in the %s\n%s", c.scheme, got)
		}
	}
	for _, width := range []int64{320, 600, p.width} {
		p.do(chromedp.EmulateViewport(width, 900))
		p.is("document.documentElement.scrollWidth <= innerWidth", "true")
	}
}

// picture keeps a picture of the whole page, where DPSQL_PICTURES names a folder: to be looked at, never compared.
func (p tab) picture(name string) {
	p.t.Helper()
	p.keep(name, chromedp.FullScreenshot(100))
}

// keep keeps a picture as picture does.
func (p tab) keep(name string, shot chromedp.Action[[]byte]) {
	p.t.Helper()
	folder := os.Getenv("DPSQL_PICTURES")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, shot)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// TestLooks opens a page at each width in each scheme, with each kind of answer.
func TestLooks(t *testing.T) {
	b := browser(t)
	address := write(t, "engine")
	for _, c := range []struct {
		name, scheme, sql string
		width             int64
	}{
		{"light", "light", "", 1200}, {"dark", "dark", months, 1200}, {"phone", "light", canada, 320}, {"phone_dark", "dark", panels, 320},
		{"table", "light", "DESCRIBE adult", 320}, {"no_margin", "dark", "SELECT no_margin", 640}, {"refused", "light", "SELECT FLOR(age)", 640},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := address
			if c.sql != "" {
				at += "#sql=" + url.QueryEscape(c.sql)
			}
			p := open(t, b, c.width, c.scheme, at)
			p.wait(map[bool]string{true: "refused", false: "answered"}[c.name == "refused"])
			p.accessible()
			p.picture(c.name)
		})
	}
	t.Run("forced", func(t *testing.T) { // bars keep colours that are not the ground's, all else has the system's
		p := open(t, b, 640, "light", address)
		p.wait("answered")
		for _, scheme := range []string{"light", "dark"} {
			p.media(scheme, "active")
			p.is(`(s => s.color !== s.backgroundColor && s.color === getComputedStyle(document.body).color)(getComputedStyle(document.querySelector("#run")))`, "true")
			p.is(`new Set([".chart rect[data-low]", ".chart line[data-low]", "body"].map(e => getComputedStyle(document.querySelector(e))).map(s => s.fill + s.stroke)).size`, "3")
			p.picture("forced_" + scheme)
		}
	})
}

// TestAsks goes through what a page does: an example, the keyboard, an error, a link, a picture to take away.
func TestAsks(t *testing.T) {
	b := browser(t)
	p := open(t, b, 1200, "light", write(t, "engine"))
	p.wait("answered")
	p.is(`document.querySelector("#sql").value`, wards)
	p.is(`JSON.parse(document.querySelector("#answer").textContent).rows.length`, "6")
	p.is(`document.querySelector("#answer").dataset.sql`, wards)
	p.is(`document.querySelectorAll("#result tbody tr").length`, "6")
	p.is(`document.querySelector("#result td.number").textContent`, "3932 ± 80")
	p.is(`document.querySelector("#result svg rect[data-low]").dataset.high`, "4012")
	p.is(`document.querySelector("#status").textContent`, "6 rows, ± 80 at 95 % · of kept rows, at most 3 a patient · release costs · cost 0")
	p.is(`document.querySelector("#sql").hidden && getComputedStyle(document.querySelector("#editor").shadowRoot.querySelector(".cm-content")).minHeight`, "88px")

	// By keyboard, which the browser styles where text is typed over text: the editor takes text, Control-Enter asks. Completion is the engine's; Tab takes it, and else leaves.
	p.js(editor + `.focus()`)
	p.do(chromedp.KeyEvent("a", control), chromedp.KeyEvent("\b"), chromedp.KeyEvent("SELECT FLOR"), chromedp.KeyEvent("\r", control))
	p.wait("refused")
	p.is(`document.querySelector("#result pre").textContent`, "SELECT FLOR\n       ^")
	p.is(`document.querySelector("#editor").shadowRoot.querySelector(".fault").textContent`, "FLOR")
	p.is(`document.querySelector("#result .message").textContent`, "unsupported: the function flor() is outside the dialect </script><b>")
	p.do(chromedp.KeyEvent("a", control), chromedp.KeyEvent("\b"), chromedp.KeyEvent("SELECT wa"))
	p.until(`document.querySelector("#editor").shadowRoot.querySelectorAll(".cm-tooltip-autocomplete li").length === 2`)
	for second := `document.querySelector("#editor").shadowRoot.querySelector("[aria-selected]")?.textContent.startsWith("warm")`; p.js(second) != "true"; {
		p.do(chromedp.KeyEvent(kb.ArrowDown)) // CodeMirror takes no key in the first 75 ms of a list, nor while it is made anew
	}
	p.do(chromedp.KeyEvent("\t"))
	p.until(`document.querySelector("#sql").value === "SELECT warm"`)
	p.do(chromedp.KeyEvent("\t"))
	p.is(`document.activeElement.id`, "run")

	// What a program writes into the textarea is asked.
	p.js(`document.querySelector("#sql").value = "SELECT markup", document.querySelector("#run").click()`)
	p.answers("SELECT markup")
	p.is(`document.querySelector("#result td").textContent`, "</text><script>alert(1)</script>")
	p.is(`document.querySelectorAll("#result script, #result b").length`, "0")
	p.is(`location.hash`, "#sql=SELECT+markup")

	// A link to a statement, which comes while another one is answered, and all numbers together.
	p.js(`document.querySelector("#sql").value = "` + wards + `", document.querySelector("#run").click(), location.hash = "#sql=` + url.QueryEscape(months) + `"`)
	p.answers(months)
	p.is(`document.querySelector("figcaption").textContent`, "band: each point by itself, at 95 %")
	p.js(`document.querySelector("#together").click()`)
	p.until(`document.querySelector("figcaption").textContent === "the true numbers of all 36 points are within, at 95 %"`)

	// What is saved: a picture that stands alone, and columns of intervals.
	p.js(`create = URL.createObjectURL, URL.createObjectURL = blob => { saved = blob; return create(blob); }, HTMLAnchorElement.prototype.click = () => {}, saved = null`)
	p.js(`[...document.querySelectorAll("#save button")].find(b => b.textContent === "CSV").click()`)
	p.is(`(await saved.text()).split("\r\n").slice(0, 2).join("|")`, "month,n,n_margin,n_low,n_high|2022-01,568,77,491,645")
	p.js(`[...document.querySelectorAll("#save button")].find(b => b.textContent === "SVG").click()`)
	p.is(`(await saved.text()).includes("--bar:#7aa6d8") && /GROUP BY month.*release days.*2026-11-28 · digest abababababababab/s.test(await saved.text())`, "true")
	p.js(`[...document.querySelectorAll("#save button")].find(b => b.textContent === "PNG").click()`)
	p.until(`saved.type === "image/png" && saved.size > 10000`)

	// A chart is laid out for its width, and not scaled. What is below zero can be clamped.
	p.do(chromedp.EmulateViewport(500, 900))
	p.until(`document.querySelector("#result svg").getAttribute("width") === "468"`)
	p.is(`getComputedStyle(document.querySelector("#result svg text")).fontSize`, "12px")
	p.is(`document.querySelector("#clamp")`, "null")
	p.js(`location.hash = "#sql=` + url.QueryEscape(canada) + `"`)
	p.answers(canada)
	p.is(`document.querySelector("#clamp").textContent`, "SET clamp = on")
	p.js(`document.querySelectorAll("#columns li button")[1].click()`)
	p.is(`document.querySelector("#sql").value`, canada+` "<i>"`)
}

const editor = `document.querySelector("#editor").shadowRoot.querySelector(".cm-content")`

var control = chromedp.KeyModifiers(chromedp.ModifierCtrl)

// answers waits for the answer to a statement.
func (p tab) answers(sql string) {
	p.t.Helper()
	p.until(`document.documentElement.dataset.state === "answered" && document.querySelector("#answer").dataset.sql === ` + encode(p.t, sql))
}

// TestStops: a statement that does not end is stopped, and the page answers again.
func TestStops(t *testing.T) {
	p := open(t, browser(t), 640, "light", write(t, "engine")+"#sql=SELECT+forever")
	p.wait("answering")
	p.js(`document.querySelector("#stop").click()`)
	p.wait("ready")
	p.js(`document.querySelector("#sql").value = "` + wards + `", document.querySelector("#run").click()`)
	p.answers(wards)
}

// TestDamaged: a page whose digest is another one answers nothing.
func TestDamaged(t *testing.T) {
	p := open(t, browser(t), 640, "light", write(t, "damaged"))
	p.wait("damaged")
	p.is(`document.querySelector("#run").disabled`, "true")
	p.is(`document.querySelector("#result").textContent`, "damaged: the digest is another one. This page answers nothing.")
	p.is(`document.querySelector("#card") !== null`, "true")
	p.accessible()
}

// TestPlain: ?plain, and a finger in place of a mouse, leave the textarea alone.
func TestPlain(t *testing.T) {
	b, address := browser(t), write(t, "engine")
	p := open(t, b, 640, "light", address+"?plain")
	p.wait("answered")
	p.is(`document.querySelector("#editor") === null && !document.querySelector("#sql").hidden`, "true")
	p.do(chromedp.Focus("#sql"), chromedp.KeyEvent("a", control), chromedp.KeyEvent("DESCRIBE adult"), chromedp.KeyEvent("\r", control))
	p.answers("DESCRIBE adult")
	p.accessible()
}

// TestBare: a frame shows the answer alone.
func TestBare(t *testing.T) {
	b, address := browser(t), write(t, "engine")
	p := open(t, b, 640, "light", address+"#bare&sql="+url.QueryEscape(wards))
	p.wait("answered")
	p.is(`[...document.querySelectorAll("header, #card, #run, #editor, #save")].every(e => e.getClientRects().length === 0)`, "true")
	p.is(`document.querySelector("#result svg").getClientRects().length`, "1")
	p.is(`location.hash.slice(0, 6) + new URLSearchParams(location.hash.slice(1)).get("sql")`, "#bare&"+wards)
	p.picture("bare")
}

// TestWithoutScript: the card can be read.
func TestWithoutScript(t *testing.T) {
	b := browser(t)
	p := open(t, b, 640, "light", write(t, "engine"), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	text, err := chromedp.Run(p.ctx, chromedp.Text("main"))
	if err != nil || !strings.Contains(text, "ε = 0.8") || !strings.Contains(text, "With scripts this page answers SQL.") {
		t.Errorf("%v %q", err, text)
	}
}
