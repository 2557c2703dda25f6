package journeys

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"dpsql/web/webtest"
)

// TestConsole serves databases as people do, and goes through what they do in a browser.
func TestConsole(t *testing.T) {
	b, dpsql := browser(t), program(t)
	for _, c := range []struct {
		name    string
		journey func(*testing.T, context.Context, served)
	}{{"analyst", asks}, {"keyboard", types}, {"looks", looks}, {"curator", curates}} {
		t.Run(c.name, func(t *testing.T) { c.journey(t, b, serve(t, dpsql)) })
	}
}

// served is a console of the database that the documentation has. ana may spend what one direct answer costs,
// and cy was granted nothing. The budget of seasons is of each month, and a release of wide takes minutes.
type served struct{ address, key string }

func serve(t *testing.T, program string) served {
	t.Helper()
	folder := t.TempDir()
	run := func(args ...string) {
		cmd := exec.Command(program, append(args, "clinic.db")...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	example, err := filepath.Abs("../../docs/sql/example.sql")
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(folder, "users.sql")
	days := "day,order\n"
	for i := range 360 {
		days += fmt.Sprintf("2025-%02d-%02d,%c\n", 1+i/30, 1+i%28, "ab"[i%2])
	}
	if err := os.WriteFile(filepath.Join(folder, "days.csv"), []byte(days), 0o600); err != nil {
		t.Fatal(err)
	}
	wide := "v INTEGER BETWEEN 0 AND 19, w INTEGER BETWEEN 0 AND 19, x INTEGER BETWEEN 0 AND 19, y INTEGER BETWEEN 0 AND 19, z INTEGER BETWEEN 0 AND 19"
	if err := os.WriteFile(filepath.Join(folder, "wide.csv"), []byte("v,w,x,y,z\n"+strings.Repeat("1,2,3,4,5\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(users, []byte(".import wide.csv raw_wide\nCREATE PRIVATE TABLE wide ("+wide+") FROM raw_wide WITH (epsilon = 1, delta = 1e-6);\n.import days.csv raw_seasons\nCREATE PRIVATE TABLE seasons (day DATE BETWEEN '2025-01-01' AND '2025-12-31', \"order\" TEXT IN ('a', 'b')) FROM raw_seasons WITH (epsilon = 1, delta = 1e-6, period = 'month of day');"+
		"CREATE USER ana PASSWORD 'correct horse'; GRANT SELECT ON visits TO ana WITH (rho = 0.001); CREATE USER cy PASSWORD 'battery staple';"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("-q", "-f", example)
	run("-q", "-f", users)
	server := exec.Command(program, "serve", "clinic.db", "-listen", "127.0.0.1:0", "-web", "127.0.0.1:0")
	server.Dir = folder
	log, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), "msg=showing url="); ok {
			address, _, _ := strings.Cut(rest, "/ ")
			held, key := documented(t, address), strings.TrimSpace(string(read(t, filepath.Join(folder, "clinic.db-key"))))
			return served{held, strings.Replace(key, address, held, 1)}
		}
	}
	t.Fatal("the server shows no console")
	return served{}
}

// documented returns the address of what stands before a console, and holds what it takes and replies to docs/web-schema.json.
func documented(t *testing.T, console string) string {
	schemas := webtest.Read("../../docs/web-schema.json")
	to, err := url.Parse(console)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }} // nobody waits for the reply any more
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		if r.Header.Get("Content-Type") == "application/json" {
			body, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		to := &copied{w, http.StatusOK, bytes.Buffer{}}
		proxy.ServeHTTP(to, r)
		schemas.Documented(t, r.URL.RequestURI(), string(body), to.status, w.Header().Get("Content-Type"), to.text.String())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// copied keeps what is written.
type copied struct {
	http.ResponseWriter
	status int
	text   bytes.Buffer
}

func (c *copied) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *copied) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *copied) Write(text []byte) (int, error) {
	c.text.Write(text)
	return c.ResponseWriter.Write(text)
}

// enter logs in.
func (p tab) enter(user, password string) {
	p.t.Helper()
	p.wait("login")
	p.js(`document.querySelector("#user").value = ` + encode(p.t, user) + `, document.querySelector("#password").value = ` + encode(p.t, password) + `, document.querySelector("#login button").click()`)
}

// page goes to one of the pages.
func (p tab) page(name, ready string) {
	p.t.Helper()
	p.js(`document.querySelector("nav a[href='/` + name + `']").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`)
	p.until(`document.querySelector("#main ` + ready + `")`)
}

// put writes into a field, as a person who leaves it then.
func (p tab) put(field, value string) {
	p.t.Helper()
	p.js(put(field, value))
}

func put(field, value string) string {
	return fmt.Sprintf(`((e) => { e.value = %q; for (const type of ["input", "change"]) e.dispatchEvent(new Event(type, { bubbles: true })); })(document.querySelector(%q))`, value, field)
}

const (
	sexes    = "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex"
	planned  = `!document.querySelector("#candidates[aria-busy]")`
	question = `document.querySelector("dialog h2")?.textContent === "Buy this answer?"`
)

// asks: log in, read an answered example, fail, buy, run dry.
func asks(t *testing.T, b context.Context, s served) {
	p := open(t, b, 1200, "light", s.address+"/")
	p.wait("login")
	p.accessible()
	p.picture("console_login")
	p.enter("ana", "wrong")
	p.until(`document.querySelector("#login .message").textContent`)
	p.enter("ana", "correct horse")
	p.answers(sexes)
	p.is(`/^-?\d+ ± 41$/.test(document.querySelector("#result td.number").textContent)`, "true")
	p.until(`document.querySelector("#left")?.textContent === "visits: Left for direct answers: pays for 1 within ±50."`)
	p.until(`document.querySelector("#candidates .chosen")?.textContent === "by_group ± 41 free ✓"`)
	p.is(`document.querySelector("#candidates summary").textContent`, "why not by_stay, by_zip")
	p.is(`[...document.querySelectorAll("#columns .table:first-child > details > summary")].map(e => e.textContent).join()`, "sex 3,age 0 … 120,diagnosis 12,zip ,days 0 … 30,year 3")
	p.is(`document.querySelector("#run").textContent`, "Answer · free")
	p.is(`document.querySelector("#status").textContent`, "3 rows, ± 41 at 95 % · release by_group · cost 0")
	p.accessible()
	p.picture("console_ask")

	// The keyboard: the skip link, the list of keys, a statement that is refused, and the one before it.
	p.js(`document.querySelector(".skip").focus()`)
	p.do(chromedp.KeyEvent("\r"))
	p.is(`document.activeElement.id`, "main")
	p.do(chromedp.KeyEvent("?"))
	p.until(`document.querySelector("dialog[aria-label=Keys]")`)
	p.accessible()
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog")`)
	p.js(editor + `.focus()`)
	p.do(chromedp.KeyEvent("a", control), chromedp.KeyEvent("\b"), chromedp.KeyEvent("SELECT FLOOR(COUNT(*)) FROM nowhere"))
	p.until(`document.querySelector("#candidates p")`)
	p.do(chromedp.KeyEvent("\r", control))
	p.wait("refused")
	p.is(`document.querySelector("#editor").shadowRoot.querySelector(".fault").textContent`, "nowhere")
	p.do(chromedp.KeyEvent(kb.ArrowUp, chromedp.KeyModifiers(chromedp.ModifierAlt)))
	p.is(`document.querySelector("#sql").value`, sexes)

	// A closer answer has a price. Enter does not buy it; the question's own button does, and what is left is told.
	p.until(`document.querySelector("#candidates button")?.textContent === "direct ± 50 takes ρ 0.000753"`)
	p.js(`document.querySelector("#candidates button").click()`)
	p.until(planned + ` && document.querySelector("#candidates .chosen")?.textContent === "by_group ± 41 free ✓"`)
	p.js(put("#sql", "SELECT COUNT(*) AS n FROM visits WHERE age < 50 AND year = 2025") + `, document.querySelector("#run").click()`) // before there is a plan: the server says the price
	p.until(question)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog")`)
	p.until(`document.querySelector("#run").textContent === "Buy · takes 75 % of what is left, for good"`)
	p.js(editor + `.focus()`)
	p.do(chromedp.KeyEvent("\r", control))
	p.until(question)
	p.is(`document.querySelector("dialog p").textContent.replaceAll("\xa0", " ")`, "It takes 75 % of what is left, for good: ρ 0.000753 of ρ 0.001. ρ 0.000247 is left after.")
	p.accessible()
	p.picture("console_buy")
	p.do(chromedp.KeyEvent("\r"))
	p.until(`!document.querySelector("dialog")`)
	p.wait("ready") // nothing was bought
	p.js(`document.querySelector("#run").click()`)
	p.until(question)
	p.js(`document.querySelector("#yes").click()`)
	p.wait("answered")
	p.is(`JSON.parse(document.querySelector("#answer").textContent).cost.rho`, "0.000753058854039")
	p.until(`document.querySelector("#left").textContent === "visits: Left for direct answers: too little for a direct answer within ±50 (95 %)."`)
	p.until(`document.querySelector("#run").textContent === "Answer · free"`) // what was bought

	// The session is lost: the text stays. Nothing is left for another answer.
	p.put("#sql", "SELECT COUNT(*) AS n FROM visits WHERE age < 60 AND year = 2024")
	p.until(planned + ` && document.querySelector("#candidates details").textContent.includes("direct: ")`)
	p.js(`real = fetch, late = null, window.fetch = (to, o) => to.endsWith("/plan") ? real(to, o).then(r => new Promise(done => late = () => done(r))) : real(to, o), sessionStorage.setItem("token", "lost")`)
	p.put("#within", "49")
	p.until(`late`)
	p.js(`document.querySelector("#run").click()`)
	p.enter("ana", "correct horse")
	p.wait("refused")
	p.js(`window.fetch = real, late(), document.querySelector("#within").value = ""`) // what was refused before the login, and comes after it, asks for none
	p.is(`document.querySelector("#result .message").textContent.slice(0, 7)`, "budget:")
	p.is(`document.querySelector("#sql").value`, "SELECT COUNT(*) AS n FROM visits WHERE age < 60 AND year = 2024")
	p.is(`document.querySelectorAll("#columns ul")[0].children.length`, "4")
	p.js(`document.querySelector("#forget").click()`)
	p.is(`localStorage.getItem("dpsql clinic ana")`, "[]")

	// Budget, and back: the statement is still there.
	p.page("budget", "td")
	p.is(`location.pathname + document.title`, "/budgetBudget · clinic · dpsql")
	p.is(`[...document.querySelectorAll("#budget td")].slice(1).map(e => e.textContent).join()`, "visits,direct answer,ρ 0.000753")
	p.accessible()
	p.picture("console_budget")
	another := open(t, b, 640, "light", s.address+"/budget")
	another.until(`document.querySelector("#budget td")`) // a second tab has the session of the first
	p.js(`history.back()`)
	p.until(`document.querySelector("#result .message")`)
	p.js(`document.querySelector("#logout").click()`)
	p.do(chromedp.WaitVisible("#login"))

	// Who was granted nothing reads what to do. A browser has one user: the other tab shows nothing of ana's any more.
	p.enter("cy", "battery staple")
	p.until(`document.querySelector("#columns")?.textContent.includes("No table is granted to you: ask the curator for GRANT SELECT")`)
	another.until(`document.querySelector("#who span")?.textContent === "cy" && document.querySelector("#budget")?.textContent.includes("No table is granted to you")`)
	p.js(`document.querySelector("#sql").value = "SELECT 1 + 1 AS two", document.querySelector("#run").click()`)
	p.answers("SELECT 1 + 1 AS two")
	p.is(`localStorage.getItem("dpsql clinic cy") + localStorage.getItem("dpsql clinic ana")`, `["SELECT 1 + 1 AS two"][]`)
}

// types goes from the login to an answer with the keyboard alone.
func types(t *testing.T, b context.Context, s served) {
	p := open(t, b, 1200, "light", s.address+"/")
	p.wait("login")
	p.do(chromedp.KeyEvent("ana"), chromedp.KeyEvent("\t"), chromedp.KeyEvent("correct horse"), chromedp.KeyEvent("\r"))
	p.answers(sexes)
	p.do(chromedp.KeyEvent("\t"))
	p.is(`document.activeElement.className + (document.activeElement.getBoundingClientRect().left >= 0)`, "skiptrue")
	p.do(chromedp.KeyEvent("\r"), chromedp.KeyEvent("?"))
	p.until(`document.querySelector("dialog[aria-label=Keys]")`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog") && document.activeElement.id === "main"`)
	reach := func(wanted string) {
		t.Helper()
		for range 60 {
			if p.do(chromedp.KeyEvent("\t")); p.js(wanted) == "true" {
				p.is(`getComputedStyle(document.activeElement).outlineStyle !== "none" || document.activeElement.id === "editor"`, "true")
				return
			}
		}
		t.Fatalf("Tab does not reach %s", wanted)
	}
	reach(`document.activeElement.id === "editor"`)
	p.do(chromedp.KeyEvent("a", control), chromedp.KeyEvent("\b"), chromedp.KeyEvent("SELECT year, COUNT(*) AS n FROM visits GROUP BY year "), chromedp.KeyEvent("\r", control))
	p.answers("SELECT year, COUNT(*) AS n FROM visits GROUP BY year ")
	p.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("\t"))
	p.is(`document.activeElement.id`, "run")
	reach(`document.activeElement.id === "within"`)
	p.do(chromedp.KeyEvent("50"))
	p.until(planned + ` && document.querySelector("#candidates .chosen")?.textContent.startsWith("by_group ±")`)
	reach(`document.activeElement.textContent === "PNG"`)
}

// looks opens the pages on a phone, and in the dark.
func looks(t *testing.T, b context.Context, s served) {
	for _, c := range []struct {
		name, path, scheme string
		width              int64
	}{{"dark", "/ask", "dark", 1200}, {"phone", "/ask", "light", 320}, {"budget_phone_dark", "/budget", "dark", 320}} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, b, c.width, c.scheme, s.address+c.path)
			p.enter("ana", "correct horse")
			if c.path == "/ask" {
				p.answers(sexes)
				p.until(`document.querySelector("#candidates .chosen")`)
			}
			p.until(`document.querySelector("#left")?.textContent && !document.querySelector("[aria-busy]")`)
			p.accessible()
			p.picture("console_" + c.name)
		})
	}
}

// curates goes from a file to a release and its card.
func curates(t *testing.T, b context.Context, s served) {
	file, rows := filepath.Join(t.TempDir(), "Visits 2025.csv"), "patient,sex,age,ward\n"
	for i := range 600 {
		rows += fmt.Sprintf("%d,%c,%d,w%d\n", 1000+i%200, "FM"[i%2], i*7%90, i%3)
	}
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, b, 1200, "light", strings.Replace(s.key, "/#", "/curate#", 1))
	p.until(`document.querySelector("#read")`)
	p.is(`location.hash + [...document.querySelectorAll("nav a")].map(a => a.textContent)`, "Ask,Budget,Curate,Publish")

	// What a hint says is offered: the file is read again. Nothing is declared until it is said who is a person.
	city, readers := filepath.Join(filepath.Dir(file), "U\u0308BER größe (1).csv"), "Leser-Nr.;city\n"
	for i := range 300 {
		readers += fmt.Sprintf("%d;K\xf6ln\n%[1]d;\n", 1000+i%150)
	}
	if err := os.WriteFile(city, []byte(readers), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.SetUploadFiles("#file", []string{city}))
	p.until(`document.querySelector("#table").value === "über_größe_1"`)
	p.js(`document.querySelector("#read").click()`)
	for _, offer := range []string{"--encoding windows-1252", "--null ''"} {
		p.until(`document.querySelector("#notes button")?.textContent === "Read with ` + offer + `"`)
		p.js(`document.querySelector("#notes button").click()`)
	}
	p.until(`document.querySelector("#declaration").value.includes("FROM raw_über_größe_1") && !document.querySelector("#declaration").value.includes("''")`)
	p.is(`document.querySelector("#notes").textContent`, "600 rows are read into raw_über_größe_1.")
	p.is(`document.querySelector("#unit").value + document.querySelector("#declare").disabled + document.querySelector("#declaration").value.match(/TABLE .*|'K.*?'|FROM .* /g)`, "?trueTABLE über_größe_1 (,'Köln',FROM raw_über_größe_1 WITH ")
	p.put("#unit", "")
	p.until(`!document.querySelector("#declare").disabled`)
	p.put("#unit", `"Leser-Nr."`)
	p.is(`document.querySelector("#declaration").value.includes('unit = "Leser-Nr.", max_rows = 4,') + document.querySelector("#max_rows").value`, "true4")

	p.do(chromedp.SetUploadFiles("#file", []string{file}))
	p.until(`document.querySelector("#table").value === "visits_2025"`)
	p.js(`document.querySelector("#read").click()`)
	p.until(`document.querySelector("#declared .column:last-child")?.textContent.includes("outside: 0 % of rows (exact, for your eyes)")`)
	p.is(`document.querySelector("#notes").textContent`, "600 rows are read into raw_visits_2025.")
	p.is(`[...document.querySelector("#unit").options].map(o => o.value) + " " + document.querySelector("#unit").value + " " + document.querySelector("#max_rows").value`, ",patient,sex,age,ward patient 3")

	// Fields are clauses of the SQL, and a column says what it loses.
	p.put("#max_rows", "2")
	p.until(`document.querySelector("#curate section:nth-child(2)").textContent.endsWith("beyond: 33 % of rows (exact, for your eyes)")`)
	p.put("#max_rows", "4")
	p.is(`document.querySelector("#declare").disabled`, "false")
	p.put("#epsilon", "2")
	p.put(`[aria-label="ward: type and domain"]`, "TEXT IN ('w0', 'w1')")
	p.until(`document.querySelector("#declared .message")?.textContent === "outside: 33 % of rows (exact, for your eyes)"`)
	p.js(`document.querySelector("#declared .column:nth-child(2) input").click()`)
	p.is(`document.querySelector("#declaration").value.split("\n").slice(4, 10).map(l => l.replace(/ -- (?!age).*/, "")).join("|")`,
		"CREATE PRIVATE TABLE visits_2025 (|    sex TEXT IN ('F', 'M') OR OTHER,|    -- age INTEGER BETWEEN 0 AND 90 CLAMP|    ward TEXT IN ('w0', 'w1')|) FROM raw_visits_2025 WITH (|    unit = patient, max_rows = 4,")
	p.js(`document.querySelector("#declared .column:nth-child(2) input").click()`)
	p.js(`document.querySelectorAll("#declared .column:nth-child(3) .row input")[1].click()`) // OTHER
	p.until(`document.querySelector("#declared").textContent.match(/outside: 0 % of rows/g)?.length === 3`)

	// Accuracy first, ε follows. What is built is released.
	p.js(`document.querySelector("#declare").click()`)
	p.until(`document.querySelector("#of").value === "visits_2025"`)
	p.until(`/^± 2[34567] for 95 % of counts → ε = 0\.[45][0-9]*, on invented rows; would leave ε 0/.test(document.querySelector("#means").textContent)`) // half of what is left
	p.put("#exact", "0")
	p.until(`/refused: budget/.test(document.querySelector("#means").textContent) && document.querySelector("#build").disabled`)
	p.put("#exact", "1.1")
	p.until(`/^± 1[23] for 95 % of counts → ε = [0-9.]+, on invented rows; would leave ε [0-9.]+ of/.test(document.querySelector("#means").textContent)`)
	p.accessible()
	p.picture("console_curate")
	p.js(`document.querySelector("#build").click()`)
	p.until(`[...document.querySelectorAll("#releases li")].some(l => l.textContent.startsWith("mine ON visits_2025 (sex, ward)"))`)
	p.is(`document.querySelector("#progress").textContent`, "Done: the release is built: Ask answers from it, Publish makes a page of it")
	p.until(`document.querySelector("#made").value === "mine_2"`)

	// A reload finds what is being built, and Cancel ends it.
	p.put("#release", "CREATE RELEASE slow ON wide USING MARGINALS WITH (epsilon = 0.1, degree = 3, max_cells = 4000000)") // takes minutes
	p.js(`document.querySelector("#build").click()`)
	p.until(`document.querySelector("#cancel")?.onclick`)
	p.do(chromedp.Reload())
	p.until(`document.querySelector("#cancel")?.onclick && document.querySelector("#progress progress")?.ariaLabel.startsWith("CREATE RELEASE slow")`)
	p.accessible()
	p.js(`document.querySelector("#cancel").click()`)
	p.until(`document.querySelector("#progress .message")?.textContent.startsWith("cancelled: ")`)
	p.until(`[...document.querySelectorAll("#releases li")].some(l => l.textContent.startsWith("mine ON visits_2025 (sex, ward)"))`)

	// Dropping asks for the name.
	p.js(`document.querySelector("#releases [aria-label='Drop mine']").click()`)
	p.until(`document.querySelector("#yes")?.disabled`)
	p.do(chromedp.SendKeys("dialog input", "mine"))
	p.is(`document.querySelector("#yes").disabled`, "false")
	p.accessible()
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog")`)

	// A page of releases, and the ledger.
	p.page("publish", "dd") // where slow is, too, if its counts were paid for
	p.js(`document.querySelectorAll("#publish [type=checkbox]").forEach(e => e.checked = e.value === "mine")`)
	p.put("#card-title", "Ana's visits")
	p.js(`document.querySelector("[aria-label='public tables'] input").click()`)
	p.is(`document.querySelector("#export").value`, "EXPORT RELEASE mine TO 'ana_s_visits.html' WITH (title = 'Ana''s visits', public = (diagnoses));")
	p.js(`HTMLAnchorElement.prototype.click = function () { file = this.download; }, create = URL.createObjectURL, URL.createObjectURL = (blob) => (saved = blob, create(blob)), document.querySelector("#make").click()`)
	p.until(`/^ana_s_visits.html: \d\.\d MB/.test(document.querySelector("#said").textContent)`)
	p.is(`document.querySelector("#preview").innerText.includes("all rows of a person are protected together: up to 4 rows with one value of patient")`, "true")
	p.is(`file + " " + /<title>.*<.title>/.exec(await saved.text())`, "ana_s_visits.html <title>Ana&#39;s visits</title>")
	p.accessible()
	p.picture("console_publish")
	p.page("ask", "#columns .table")
	p.js(`[...document.querySelectorAll("#columns .values button")].find(e => e.textContent === "order").click()`)
	p.is(`document.querySelector("#sql").value.endsWith(' "order"')`, "true")
	p.page("budget", ".strip")
	p.is(`document.querySelectorAll(".strip span").length + document.querySelector(".strip").ariaLabel`, "12seasons: 12 periods, a cell each, filled as far as ε is used")
	p.accessible()
	p.picture("console_ledger")
	p.do(chromedp.EmulateViewport(320, 900))
	for _, name := range []string{"curate", "publish"} {
		p.page(name, "#"+map[string]string{"curate": "build", "publish": "make"}[name])
		p.accessible()
		p.picture("console_" + name + "_phone")
	}
}
