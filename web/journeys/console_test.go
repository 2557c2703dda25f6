package journeys

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
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
	bought []string // what was agreed to
	left   float64
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
			User, Password, SQL, Buy string
			Settings                 struct{ Accuracy float64 }
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		status, reply := http.StatusOK, ""
		switch {
		case route == "login" && body.Password == "correct horse":
			s.lost = false
			reply = `{"token":"t","user":"ana","role":"analyst","database":"clinic"}`
		case route == "login":
			status, reply = 401, `{"error":{"code":"login","message":"the user or the password is another one"}}`
		case r.Header.Get("X-Dpsql-Token") != "t" || s.lost:
			status, reply = 401, `{"error":{"code":"session","message":"log in"}}`
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
