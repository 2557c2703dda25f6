package journeys

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stub is a server of the console with one analyst, one table and two answers: a free one, and one for 0.8 % of
// what is left.
type stub struct {
	mu     sync.Mutex
	lost   bool     // the session is
	key    bool     // it is the curator's
	bought []string // what was agreed to
	left   float64
	tables []string // that the curator declared
	ran    []string // what the curator ran
}

const (
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
	sexes  = "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex"
)

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	route, isAPI := strings.CutPrefix(r.URL.Path, "/api/v1/")
	switch name, isAsset := strings.CutPrefix(r.URL.Path, "/assets/"); {
	case isAsset && strings.HasSuffix(name, ".css"):
		http.ServeFile(w, r, "../dist/"+name)
	case isAsset:
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		http.ServeFile(w, r, "../dist/"+name)
	case !isAPI:
		text, _ := os.ReadFile("../shell.html")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(text)
	default:
		var body struct {
			User, Password, Key, SQL, Buy string
			Settings                      struct{ Accuracy float64 }
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		status, reply := http.StatusOK, ""
		switch {
		case route == "login" && body.Password == "correct horse":
			s.lost = false
			reply = `{"token":"t","user":"ana","role":"analyst","database":"clinic"}`
		case route == "login" && body.Key == "once":
			s.key = true
			reply = `{"token":"t","user":"","role":"curator","database":"clinic"}`
		case route == "login":
			status, reply = 401, `{"error":{"code":"login","message":"the user or the password is another one"}}`
		case r.Header.Get("X-Dpsql-Token") != "t" || s.lost:
			status, reply = 401, `{"error":{"code":"session","message":"log in"}}`
		case s.key:
			status, reply = s.curator(route, body.SQL)
		default:
			status, reply = s.reply(route, body.SQL, body.Buy, body.Settings.Accuracy)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(reply))
	}
}

func (s *stub) reply(route, sql, buy string, accuracy float64) (int, string) {
	rho, chosen := "0", "by_group"
	if accuracy > 0 && accuracy < 41 {
		rho, chosen = "0.00008", "direct"
	}
	price := fmt.Sprintf(`{"rho":%q,"left":"%v","words":"takes %.2g %% of what is left, for good"}`, rho, s.left, 0.008/s.left)
	switch route {
	case "session":
		return 200, `{"user":"ana","role":"analyst","database":"clinic"}`
	case "schema":
		return 200, `{"tables":[{"name":"visits","kind":"private","unit":null,"limits":"answer_time = '250 ms'","columns":[
			{"name":"sex","type":"TEXT","domain":"IN ('F', 'M', NULL)","nullable":true,"values":["'F'","'M'"]},
			{"name":"age","type":"INTEGER","domain":"BETWEEN 0 AND 120","nullable":false,"values":null},
			{"name":"<i>diagnosis</i>","type":"TEXT","domain":"any text","nullable":false,"values":null}]}],
			"releases":[{"name":"by_group","table":"visits","columns":"sex, year","method":"projection","epsilon":"0.4","delta":"0","created":"2026-11-28T17:23:58Z","periods":null}]}`
	case "budget":
		return 200, fmt.Sprintf(`{"accounts":[{"table":"visits","account":"quota","unit":"ρ","total":"0.01","spent":"%v","left":"%v","words":"about %.0f more direct answers within ±50 (95 %%)"}],
			"purchases":[{"at":"2026-11-28T17:23:58Z","table":"visits","action":"<b>3</b> direct answers","rho":"0.0003"}]}`, 0.01-s.left, s.left, s.left*1300)
	case "complete":
		return 200, `[{"text":"sex","kind":"column","from":7}]`
	case "plan":
		if strings.Contains(sql, "FLOR") {
			return 422, `{"error":{"code":"unsupported","message":"the function flor() is outside the dialect","position":8}}`
		}
		return 200, fmt.Sprintf(`{"columns":[],"candidates":[
			{"name":"by_group","kind":"projection","columns":"sex, year","margin":41,"cost":"0","refusal":%q,"note":"","chosen":%v,"core":1},
			{"name":"by_age","kind":"projection","columns":"age","margin":null,"cost":"0","refusal":"no column sex","note":"","chosen":false,"core":1},
			{"name":"direct","kind":"direct","columns":"all","margin":30,"cost":"0.00008","refusal":%q,"note":"","chosen":%v,"core":1}],"price":%s}`,
			map[bool]string{true: "beyond SET accuracy = 30"}[rho != "0"], rho == "0", map[bool]string{true: "SET accuracy = 30 buys it"}[rho == "0"], rho != "0", price)
	case "ask":
		switch {
		case strings.Contains(sql, "FLOR"):
			return 422, `{"error":{"code":"unsupported","message":"the function flor() is outside the dialect","hint":"around aggregates stand ROUND and ABS","position":8}}`
		case rho != "0" && s.left < 0.00008:
			return 422, `{"error":{"code":"budget","message":"your quota of visits has ρ 0 left","hint":"ask the curator"}}`
		case rho != "0" && buy != rho:
			return 409, `{"error":{"code":"price","message":"the answer costs ρ 0.00008"},"price":` + price + `}`
		case rho != "0":
			s.bought, s.left = append(s.bought, buy), 0.00004 // as others buy, too
		}
		margin := map[bool]int{true: 41, false: 30}[rho == "0"]
		return 200, fmt.Sprintf(`{"columns":["sex","n"],"rows":[["F",3264],["M",2674]],"margins":[[null,%d],[null,%[1]d]],"intervals":[[null,[%d,%d]],[null,[%d,%d]]],"confidence":0.95,"via":%q,"mechanism":%q,"support":9,"cost":{"epsilon":0,"rho":%s}}`,
			margin, 3264-margin, 3264+margin, 2674-margin, 2674+margin, chosen, map[bool]string{true: "projection", false: "direct"}[rho == "0"], rho)
	}
	return 404, `{"error":{"code":"unknown","message":"there is no such route"}}`
}

// curator replies to the curator, whose table has a column of visits' and a unit.
func (s *stub) curator(route, sql string) (int, string) {
	switch route {
	case "session":
		return 200, `{"user":"","role":"curator","database":"clinic"}`
	case "schema":
		return 200, `{"tables":[` + strings.Join(s.tables, ",") + `],"releases":[` + map[bool]string{true: `{"name":"by_group","table":"visits","columns":"sex","method":"projection","epsilon":"0.38","delta":"0"}`}[len(s.ran) > 1] + `]}`
	case "budget":
		return 200, `{"accounts":[{"table":"visits","account":"releases","unit":"ε","total":"2","spent":"1.5","left":"0.5","words":"25 % left for releases"},
			{"table":"visits","account":"interactive","unit":"ρ","total":"0.0834","spent":"0.02","left":"0.0634","words":"about 80 more direct answers within ±50 (95 %)"}],
			"ledger":[{"seq":1,"at":"2026-11-28T17:23:58Z","rows_of":"raw_visits","account":"releases","action":"create release","object":"by_group","epsilon":"0.4","delta":null,"rho":null,"periods":null}]}`
	case "import":
		return 200, `{"table":"raw_visits","rows":1000,"columns":[{"name":"patient","type":"INTEGER"},{"name":"sex","type":"TEXT"},{"name":"age","type":"INTEGER"}],"notes":["numbers have decimal commas"]}`
	case "draft":
		return 200, `{"sql":"-- A draft\nCREATE PRIVATE TABLE visits (\n    sex TEXT IN ('F', 'M'), -- list all that can occur\n    age INTEGER BETWEEN 0 AND 100 CLAMP -- rounded\n) FROM raw_visits WITH (\n    epsilon = 1, -- of everything\n    delta = 1e-6 -- far below\n);\n"}`
	case "check":
		return 200, fmt.Sprintf(`{"text":"-- What the domains lose\nsex: %d rows lost\nage: 0 rows lost\n"}`, map[bool]int{true: 0, false: 12}[strings.Contains(sql, "OR NULL")])
	case "runs":
		return 200, `[]`
	case "export":
		return 200, "<!doctype html>" + strings.Repeat(" ", 4_100_000)
	case "run":
		if e, ok := strings.CutPrefix(sql, "EXPLAIN CREATE RELEASE mine ON visits (sex) WITH (epsilon = "); ok {
			var epsilon float64
			_, _ = fmt.Sscanf(e, "%g", &epsilon)
			return 200, fmt.Sprintf(`{"result":{"columns":["candidate","margin","note"],"rows":[["by_group",null,"would leave ε %g of 2"],["count of 1 cell",%.0f,""]]}}`+"\n", 2-epsilon, 5/epsilon)
		}
		s.ran = append(s.ran, sql)
		if strings.Contains(sql, "CREATE PRIVATE TABLE") {
			s.tables = []string{`{"name":"visits","kind":"private","unit":"patient, at most 4 rows","limits":null,"columns":[{"name":"sex","type":"TEXT","domain":"IN ('F', 'M')","nullable":false,"values":["'F'","'M'"]}]}`}
		}
		return 200, `{"id":"1"}` + "\n" + `{"progress":0.61}` + "\n" + `{"result":{"columns":[],"rows":[],"note":"done"}}` + "\n"
	}
	return 404, `{"error":{"code":"unknown","message":"there is no such route"}}`
}

// console serves a stub, and returns its address.
func console(t *testing.T, s *stub) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// enter logs in.
func (p tab) enter(user, password string) {
	p.t.Helper()
	p.wait("login")
	p.js(`document.querySelector("#user").value = ` + encode(p.t, user) + `, document.querySelector("#password").value = ` + encode(p.t, password) + `, document.querySelector("#login button").click()`)
}

const question = `document.querySelector("dialog h2")?.textContent === "Buy this answer?"`

// TestConsole goes through what an analyst does: log in, read an answered example, ask, fail, buy, run dry.
func TestConsole(t *testing.T) {
	s := &stub{left: 0.01}
	p := open(t, browser(t), 1200, "light", console(t, s)+"/")
	p.wait("login")
	p.accessible()
	p.picture("console_login")
	p.enter("ana", "wrong")
	p.until(`document.querySelector("#login .message").textContent === "the user or the password is another one"`)
	p.enter("ana", "correct horse")
	p.answers(sexes)
	p.is(`document.querySelector("#result td.number").textContent`, "3264 ± 41")
	p.until(`document.querySelector("#left")?.textContent === "visits: Left for direct answers: pays for about 13 within ±50."`)
	p.until(`document.querySelector("#candidates .chosen")?.textContent === "by_group ± 41 free ✓"`)
	p.is(`document.querySelector("#candidates details").textContent`, "why not by_ageby_age: no column sex")
	p.is(`[...document.querySelectorAll("#columns .table > details > summary")].map(e => e.textContent).join()`, "sex 2,age 0 … 120,<i>diagnosis</i> ")
	p.is(`document.querySelector("#run").textContent`, "Answer · free")
	p.is(`document.querySelector("#status").textContent`, "2 rows, ± at 95 % · release by_group · cost 0")
	p.accessible()
	p.picture("console_ask")

	// The keyboard: a statement that is refused, and the one before it.
	p.js(editor + `.focus()`)
	p.do(chromedp.KeyEvent("a", control), chromedp.KeyEvent("\b"), chromedp.KeyEvent("SELECT FLOR"))
	p.until(`document.querySelector("#candidates").textContent.includes("flor()")`)
	p.do(chromedp.KeyEvent("\r", control))
	p.wait("refused")
	p.is(`document.querySelector("#result").textContent.includes("Hint: around aggregates")`, "true")
	p.is(`document.querySelector("#editor").shadowRoot.querySelector(".fault").textContent`, "FLOR")
	p.do(chromedp.KeyEvent(kb.ArrowUp, chromedp.KeyModifiers(chromedp.ModifierAlt)))
	p.is(`document.querySelector("#sql").value`, sexes)

	// A closer answer has a price. Enter does not buy it; the question's own button does.
	p.until(`document.querySelector("#candidates button")`)
	p.js(`document.querySelector("#candidates button").click()`)
	p.until(`document.querySelector("#run").textContent === "Buy · takes 0.8 % of what is left, for good"`)
	p.js(editor + `.focus()`)
	p.do(chromedp.KeyEvent("\r", control))
	p.until(question)
	p.accessible()
	p.picture("console_buy")
	p.do(chromedp.KeyEvent("\r"))
	p.until(`!document.querySelector("dialog")`)
	if len(s.bought) != 0 {
		t.Error("Enter bought an answer")
	}
	p.js(`document.querySelector("#run").click()`)
	p.until(question)
	p.js(`document.querySelector("#yes").click()`)
	p.until(`document.querySelector("#result td.number")?.textContent === "3264 ± 30"`)
	if len(s.bought) != 1 || s.bought[0] != "0.00008" {
		t.Errorf("bought %v", s.bought)
	}

	p.until(`document.querySelector("#run").textContent === "Buy · takes 2e+02 % of what is left, for good" && document.querySelector("#left").textContent.includes("about 0 within")`)

	// The session is lost: the text stays. Then nothing is left.
	s.mu.Lock()
	s.lost = true
	s.mu.Unlock()
	p.js(`document.querySelector("#run").click()`)
	p.until(question)
	p.js(`document.querySelector("#yes").click()`)
	p.enter("ana", "correct horse")
	p.wait("refused")
	p.is(`document.querySelector("#result .message").textContent`, "budget: your quota of visits has ρ 0 left")
	p.is(`document.querySelector("#sql").value`, sexes)

	p.is(`document.querySelectorAll("#columns ul")[0].children.length`, "2")
	p.js(`document.querySelector("#forget").click()`)
	p.is(`localStorage.getItem("dpsql clinic ana")`, "[]")

	// Budget, and back: the answer is still there.
	p.js(`document.querySelector("nav a[href='/budget']").click()`)
	p.until(`document.querySelector("#budget td:nth-child(3)")?.textContent === "<b>3</b> direct answers"`)
	p.is(`location.pathname + document.title`, "/budgetBudget · clinic · dpsql")
	p.accessible()
	p.picture("console_budget")
	p.js(`history.back()`)
	p.until(`document.querySelector("#result .message")`)
	p.js(`document.querySelector("#logout").click()`)
	p.do(chromedp.WaitVisible("#login"))
}

// TestConsoleLooks opens the pages on a phone, and in the dark.
func TestConsoleLooks(t *testing.T) {
	b := browser(t)
	for _, c := range []struct {
		name, path, scheme string
		width              int64
	}{
		{"console_dark", "/ask", "dark", 1200}, {"console_phone", "/ask", "light", 320}, {"console_budget_phone_dark", "/budget", "dark", 320},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, b, c.width, c.scheme, console(t, &stub{left: 0.0085})+c.path)
			p.enter("ana", "correct horse")
			if c.path == "/ask" {
				p.answers(sexes)
				p.until(`document.querySelector("#candidates .chosen")`)
			}
			p.until(`document.querySelector("#left")?.textContent`)
			p.until(`!document.querySelector("[aria-busy]")`)
			p.accessible()
			p.picture(c.name)
		})
	}
}

// TestCurates goes from a file to a page, as a curator does.
func TestCurates(t *testing.T) {
	s := new(stub)
	file := filepath.Join(t.TempDir(), "Visits 2025.csv")
	if err := os.WriteFile(file, []byte("patient,sex,age\n1,F,30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, browser(t), 1200, "light", console(t, s)+"/curate#key=once")
	p.until(`document.querySelector("#read")`)
	p.is(`location.hash + [...document.querySelectorAll("nav a")].map(a => a.textContent)`, "Ask,Budget,Curate,Publish")
	p.do(chromedp.SetUploadFiles("#file", []string{file}))
	p.until(`document.querySelector("#table").value === "visits_2025"`)
	p.js(`document.querySelector("#read").click()`)
	p.until(`document.querySelector("#declared .message")?.textContent === "outside: 1.2 % of rows (exact, for your eyes)"`)
	p.is(`document.querySelector("#notes").textContent`, "1000 rows are read into raw_visits_2025.numbers have decimal commas")
	p.is(`[...document.querySelector("#unit").options].map(o => o.value)`, ",patient,sex,age")

	// Fields are clauses.
	set := func(field, value string) {
		p.js(`((e) => { e.value = ` + encode(t, value) + `, e.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector(` + encode(t, field) + `))`)
	}
	set("#unit", "patient")
	set("#max_rows", "4")
	set("#epsilon", "2")
	p.js(`document.querySelector("#declared .column:nth-child(1) .row input").click()`)
	p.until(`document.querySelector("#declared .column:nth-child(1)").textContent.includes("outside: 0 % of rows")`)
	p.js(`document.querySelector("#declared .column:nth-child(2) input").click()`)
	p.is(`document.querySelector("#declaration").value`, "-- A draft\nCREATE PRIVATE TABLE visits (\n    sex TEXT IN ('F', 'M') OR NULL -- list all that can occur\n    -- age INTEGER BETWEEN 0 AND 100 CLAMP -- rounded\n) FROM raw_visits WITH (\n    unit = patient, max_rows = 4,\n    epsilon = 2, -- of everything\n    delta = 1e-6 -- far below\n);\n")
	p.js(`document.querySelector("#declared .column:nth-child(2) input").click()`)
	p.is(`document.querySelector("#declaration").value.split("\n").slice(2, 4).join("|")`, "    sex TEXT IN ('F', 'M') OR NULL, -- list all that can occur|    age INTEGER BETWEEN 0 AND 100 CLAMP -- rounded")

	// Accuracy first, ε follows. What is built is released.
	p.js(`document.querySelector("#declare").click()`)
	p.until(`document.querySelector("#of").value === "visits"`)
	p.until(`document.querySelector("#means").textContent === "± 12 for 95 % of counts → ε = 0.4; would leave ε 1.6 of 2"`)
	p.accessible()
	p.picture("console_curate")
	p.js(`document.querySelector("#build").click()`)
	p.until(`document.querySelector("#releases li")`)
	p.is(`document.querySelector("#progress").textContent`, "done")
	if want := "CREATE RELEASE mine ON visits (sex) WITH (epsilon = 0.4);"; len(s.ran) != 2 || s.ran[1] != want {
		t.Errorf("ran %q, want %q", s.ran, want)
	}

	// Dropping asks for the name.
	p.js(`document.querySelector("#releases button").click()`)
	p.until(`document.querySelector("#yes")`)
	p.is(`document.querySelector("#yes").disabled`, "true")
	p.do(chromedp.SendKeys("dialog input", "by_group"))
	p.is(`document.querySelector("#yes").disabled`, "false")
	p.accessible()
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog")`)

	// A page of the release.
	p.js(`HTMLAnchorElement.prototype.click = function() { saved = this.download; }, saved = ""`)
	p.js(`document.querySelector("nav a[href='/publish']").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`)
	p.until(`document.querySelector("#preview dd")`)
	p.js(`document.querySelector("#card-title").value = "Ana's visits", document.querySelector("#card-title").dispatchEvent(new Event("input", { bubbles: true }))`)
	p.is(`document.querySelector("#export").value`, "EXPORT RELEASE by_group TO 'ana_s_visits.html' WITH (title = 'Ana''s visits');")
	p.js(`document.querySelector("#make").click()`)
	p.until(`document.querySelector("#said").textContent === "Make the page: 4.1 MB"`)
	p.is(`saved`, "ana_s_visits.html")
	p.accessible()
	p.picture("console_publish")
	p.js(`document.querySelector("nav a[href='/budget']").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`)
	p.until(`document.querySelector("#budget td")`)
	p.accessible()
	p.picture("console_ledger")
	p.do(chromedp.EmulateViewport(320, 900))
	for _, page := range []string{"curate", "publish"} {
		p.js(`document.querySelector("nav a[href='/` + page + `']").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`)
		p.until(`document.querySelector("#` + page + `")`)
		p.accessible()
		p.picture("console_" + page + "_phone")
	}
}
