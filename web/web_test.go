package web_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/places"
	"dpsql/internal/scram"
	"dpsql/internal/scratch"
	"dpsql/web"
)

func TestMain(m *testing.M) {
	scratch.InMemory()
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// house is a console of a database with a table of 200 visits, a release of its cells, and the users ana and bob.
type house struct {
	testing.TB
	db   *engine.DB
	file string
	web  *web.Server
	url  string
}

func open(t testing.TB, change func(*web.Config)) *house {
	t.Helper()
	h := &house{TB: t}
	dir := houses.Copy(t, func(dir string) {
		h.open(dir)
		defer h.db.Close()
		h.furnish()
	})
	h.open(dir)
	t.Cleanup(func() { h.db.Close() })
	c := web.Config{Database: h.db, Name: "clinic", File: h.file}
	if change != nil {
		change(&c)
	}
	h.web = web.New(c)
	s := httptest.NewServer(h.web)
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

var houses scratch.Template

// open opens the database in a folder.
func (h *house) open(dir string) {
	h.Helper()
	h.file = filepath.Join(dir, "clinic.db")
	var err error
	if h.db, err = engine.Open(h.file, engine.Options{}); err != nil {
		h.Fatal(err)
	}
}

// furnish makes a table, a release and two users.
func (h *house) furnish() {
	h.Helper()
	rows := "sex,age\n"
	for i := range 200 {
		rows += fmt.Sprintf("%s,%d\n", []string{"F", "M"}[i%2], i%100)
	}
	csv := filepath.Join(h.TempDir(), "visits.csv")
	if err := os.WriteFile(csv, []byte(rows), 0o600); err != nil {
		h.Fatal(err)
	}
	if _, err := h.db.NewSession().Import(context.Background(), engine.Import{Path: csv, Table: "visits_raw"}); err != nil {
		h.Fatal(err)
	}
	h.exec(`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99) FROM visits_raw WITH (epsilon = 2, delta = 1e-6, answer_time = 5)`,
		`CREATE RELEASE r ON visits (sex) USING PROJECTION WITH (epsilon = 0.5, transform = identity)`,
		`CREATE USER ana PASSWORD 's3cretive'`, `CREATE USER bob PASSWORD 'b0bs-word'`,
		`GRANT SELECT ON visits TO ana WITH (rho = 0.02)`)
}

func (h *house) exec(statements ...string) {
	h.Helper()
	for _, text := range statements {
		if _, err := h.db.NewSession().Exec(context.Background(), text, nil); err != nil {
			h.Fatalf("%s: %v", text, err)
		}
	}
}

// page is somebody who is logged in, or not yet.
type page struct {
	*house
	token  string
	cookie *http.Cookie
	header http.Header // of every request
	host   string
}

func (h *house) page() *page { return &page{house: h, header: http.Header{}} }

// send sends a request, and returns its status, its reply as text, and the response.
func (p *page) send(method, path, kind string, body io.Reader) (int, string, *http.Response) {
	p.Helper()
	var sent bytes.Buffer
	if kind == "application/json" {
		body = io.TeeReader(body, &sent)
	}
	r, err := http.NewRequest(method, p.url+path, body)
	if err != nil {
		p.Fatal(err)
	}
	r.Header = p.header.Clone()
	if kind != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", kind)
	}
	if p.token != "" {
		r.Header.Set("X-Dpsql-Token", p.token)
	}
	if p.cookie != nil {
		r.AddCookie(p.cookie)
	}
	r.Host = p.host
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		p.Fatal(err)
	}
	schemas().Documented(p, path, sent.String(), reply.StatusCode, reply.Header.Get("Content-Type"), string(text))
	return reply.StatusCode, string(text), reply
}

func (p *page) post(path string, body any) (int, string) {
	p.Helper()
	text, _ := json.Marshal(body)
	status, reply, _ := p.send("POST", "/api/v1/"+path, "application/json", bytes.NewReader(text))
	return status, reply
}

func (p *page) get(path string) (int, string) {
	p.Helper()
	status, reply, _ := p.send("GET", "/api/v1/"+path, "", nil)
	return status, reply
}

type object = map[string]any

// login logs in, and keeps both halves of the session.
func (p *page) login(body object) *page {
	p.Helper()
	text, _ := json.Marshal(body)
	status, reply, response := p.send("POST", "/api/v1/login", "application/json", bytes.NewReader(text))
	var halves struct{ Token string }
	if json.Unmarshal([]byte(reply), &halves); status != 200 || halves.Token == "" || len(response.Cookies()) != 1 {
		p.Fatalf("login %v: %d %s", body, status, reply)
	}
	p.token, p.cookie = halves.Token, response.Cookies()[0]
	return p
}

func (h *house) ana() *page { return h.page().login(object{"user": "ana", "password": "s3cretive"}) }

func (h *house) curator() *page { return h.page().login(object{"key": h.web.NewKey()}) }

// want fails unless the reply has the status and matches the pattern.
func (p *page) want(status int, pattern string) func(int, string) {
	p.Helper()
	return func(got int, reply string) {
		p.Helper()
		if got != status || !regexp.MustCompile(pattern).MatchString(reply) {
			p.Errorf("%d %s, want %d %s", got, reply, status, pattern)
		}
	}
}

// TestShell: each path of the console has the same shell, which holds no data and lets nothing else in.
func TestShell(t *testing.T) {
	p := open(t, nil).page()
	var first string
	for _, path := range []string{"/", "/ask", "/budget", "/curate", "/publish"} {
		status, text, r := p.send("GET", path, "", nil)
		if status != 200 || !strings.Contains(text, "<!doctype html>") || strings.Contains(text, "clinic") || first != "" && first != text {
			t.Errorf("%s: %d %s", path, status, text)
		}
		first = text
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; script-src 'self';", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := r.Header.Get(name); !strings.HasPrefix(got, want) || strings.Contains(got, "unsafe") {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	for _, asset := range regexp.MustCompile(`/assets/[a-z.]+-[0-9a-f]{16}`).FindAllString(first, -1) {
		if status, _, r := p.send("GET", asset, "", nil); status != 200 || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d", asset, status)
		}
	}
	for _, path := range []string{"/assets/page.js-0000000000000000", "/assets/../web.go", "/clinic.db", "/api/v2/session"} {
		if status, _, _ := p.send("GET", path, "", nil); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestSession: a login gives two halves, both of which every request needs, and ends as it should.
func TestSession(t *testing.T) {
	h := open(t, nil)
	ana := h.ana()
	if c := ana.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" || !strings.HasPrefix(c.Name, "dpsql-") {
		t.Errorf("the cookie is %v", c)
	}
	ana.want(200, `^{"user":"ana","role":"analyst","database":"clinic"}$`)(ana.get("session"))
	ana.want(200, `"role":"analyst"`)(h.page().post("login", object{"user": "ANA", "password": "s3cretive"}))
	for _, body := range []object{{"user": "ana", "password": "S3cretive"}, {"user": "nobody", "password": "s3cretive"}, {"user": "", "password": ""}, {"key": "x"}} {
		h.page().want(401, `"code":"login"`)(h.page().post("login", body))
	}
	again := h.ana()
	again.want(200, "{}")(again.post("logout", object{}))
	again.want(401, `"code":"session"`)(again.get("session"))
	var pages []*page
	for range 6 {
		pages = append(pages, h.ana())
	}
	ana.want(401, `"session"`)(ana.get("session")) // the oldest of more than five
	pages[5].want(200, "ana")(pages[5].get("session"))
	h.exec(`ALTER USER ana PASSWORD 'another-word'`)
	pages[5].want(401, `"session"`)(pages[5].get("session"))
	new := h.page().login(object{"user": "ana", "password": "another-word"})
	h.exec(`DROP USER ana`, `CREATE USER ana PASSWORD 'another-word'`)
	new.want(401, `"session"`)(new.get("schema"))
}

// TestKey: the curator's key is good once, from this machine, through no proxy.
func TestKey(t *testing.T) {
	h := open(t, nil)
	old := h.web.NewKey()
	key := h.web.NewKey()
	for _, proxy := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Real-IP"} {
		p := h.page()
		p.header.Set(proxy, "10.0.0.1")
		p.want(403, "through no proxy")(p.post("login", object{"key": key}))
	}
	p := h.page()
	p.want(401, `"login"`)(p.post("login", object{"key": old}))
	p.login(object{"key": key})
	p.want(200, `"role":"curator"`)(p.get("session"))
	p.want(401, `"login"`)(h.page().post("login", object{"key": key}))
	p.header.Set("X-Forwarded-For", "10.0.0.1")
	p.want(403, "through no proxy")(p.get("session"))
}

// TestRequests: what no page of this console sends is refused before anything is done.
func TestRequests(t *testing.T) {
	t.Parallel()
	h := open(t, func(c *web.Config) { c.Hosts = []string{"console.example"} })
	for _, c := range []struct {
		name    string
		change  func(*page)
		path    string
		body    string
		status  int
		pattern string
	}{
		{"as it should be", func(*page) {}, "ask", `{"sql":"SELECT COUNT(*) FROM visits"}`, 200, `"via":"r"`},
		{"a name that was given", func(p *page) { p.host = "Console.example:8433" }, "ask", `{"sql":"SHOW TABLES"}`, 200, `visits`},
		{"another name, bound to this address", func(p *page) { p.host = "evil.example" }, "ask", `{"sql":"SHOW TABLES"}`, 421, `"code":"host"`},
		{"no name", func(p *page) { p.host = "." }, "ask", `{"sql":"SHOW TABLES"}`, 421, `"code":"host"`},
		{"a form", func(p *page) { p.header.Set("Content-Type", "application/x-www-form-urlencoded") }, "ask", `sql=SHOW+TABLES`, 415, `"code":"type"`},
		{"a form as text", func(p *page) { p.header.Set("Content-Type", "text/plain") }, "ask", `{"sql":"SHOW TABLES"}`, 415, `"code":"type"`},
		{"another site", func(p *page) { p.header.Set("Sec-Fetch-Site", "cross-site") }, "ask", `{"sql":"SHOW TABLES"}`, 403, `another site`},
		{"another port", func(p *page) { p.header.Set("Sec-Fetch-Site", "same-site") }, "ask", `{"sql":"SHOW TABLES"}`, 403, `another site`},
		{"another origin, of an old browser", func(p *page) { p.header.Set("Origin", "http://127.0.0.1:1") }, "ask", `{"sql":"SHOW TABLES"}`, 403, `another site`},
		{"no token", func(p *page) { p.token = "" }, "ask", `{"sql":"SHOW TABLES"}`, 401, `"code":"token"`},
		{"another session's token", func(p *page) { p.token = h.ana().token }, "ask", `{"sql":"SHOW TABLES"}`, 401, `"code":"token"`},
		{"no cookie", func(p *page) { p.cookie = nil }, "ask", `{"sql":"SHOW TABLES"}`, 401, `"code":"session"`},
		{"a cookie that was planted", func(p *page) { p.cookie.Value = strings.Repeat("A", 43) }, "ask", `{"sql":"SHOW TABLES"}`, 401, `"code":"session"`},
		{"not JSON", func(*page) {}, "ask", `{"sql":`, 422, `"code":"malformed"`},
		{"a field too many", func(*page) {}, "ask", `{"sql":"SHOW TABLES","bye":1}`, 422, `"code":"malformed"`},
		{"more than one", func(*page) {}, "ask", `{"sql":"SHOW TABLES"}{}`, 422, `"code":"malformed"`},
		{"too long", func(*page) {}, "ask", `{"sql":"` + strings.Repeat(" ", 1<<20) + `"}`, 413, `"code":"size"`},
		{"no path", func(*page) {}, "rows", `{}`, 404, `"code":"unknown"`},
		{"another method", func(*page) {}, "schema", `{}`, 405, `"code":"method"`},
		{"the curator's", func(*page) {}, "run", `{"sql":"DROP USER bob"}`, 403, `for the curator`},
		{"a file of an analyst", func(*page) {}, "import?table=x", `{}`, 403, `for the curator`},
		{"the curator's statement", func(*page) {}, "ask", `{"sql":"DROP USER bob"}`, 422, `"code":"forbidden"`},
		{"markup", func(*page) {}, "ask", `{"sql":"SELECT COUNT(*) FROM \"</script><img src=x>\""}`, 422, `"code":"unknown"`},
	} {
		p := h.ana()
		c.change(p)
		status, reply, r := p.send("POST", "/api/v1/"+c.path, "application/json", strings.NewReader(c.body))
		if status != c.status || !regexp.MustCompile(c.pattern).MatchString(reply) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, reply, c.status, c.pattern)
		}
		if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the reply has %v", c.name, r.Header)
		}
	}
	users, err := h.db.NewSession().Exec(context.Background(), "SHOW USERS", nil)
	if err != nil || len(users.Rows) != 2 {
		t.Errorf("of ana and bob there are %v, %v", users, err)
	}
}

// TestStrangers: nobody learns from a reply whether a user exists, or what was not granted to him.
func TestStrangers(t *testing.T) {
	h := open(t, nil)
	_, known := h.page().post("login", object{"user": "ana", "password": "x"})
	_, unknown := h.page().post("login", object{"user": "zoe", "password": "x"})
	if known != unknown {
		t.Errorf("a user is told apart: %s, %s", known, unknown)
	}
	bob := h.page().login(object{"user": "bob", "password": "b0bs-word"})
	_, there := bob.post("ask", object{"sql": "SELECT COUNT(*) FROM visits"})
	_, nowhere := bob.post("ask", object{"sql": "SELECT COUNT(*) FROM visitz"})
	if strings.ReplaceAll(there, "visits", "visitz") != nowhere {
		t.Errorf("a table is told apart: %s, %s", there, nowhere)
	}
	bob.want(200, `^{"mechanisms":\[\],"publics":\[\],"releases":\[\],"tables":\[\]}$`)(bob.get("schema"))
	bob.want(200, `^\[\]$`)(bob.post("complete", object{"sql": "SELECT COUNT(*) FROM vis", "at": 24}))
}

// TestGuesses: logins that fail slow down those that follow, over the wire and here alike.
func TestGuesses(t *testing.T) {
	failures := scram.NewFailures()
	p := open(t, func(c *web.Config) { c.Failures = failures }).page()
	for range 40 {
		failures.Begin("ana", "10.0.0.1")
	}
	p.want(429, `"code":"logins"`)(p.post("login", object{"user": "Ana", "password": "s3cretive"}))
	p.login(object{"user": "bob", "password": "b0bs-word"})
}

// TestShares: a user has turns and memory once, over the wire and here together, and others have theirs.
func TestShares(t *testing.T) {
	shares := places.NewShares()
	h := open(t, func(c *web.Config) { c.Shares = shares })
	ana, bob := h.ana(), h.page().login(object{"user": "bob", "password": "b0bs-word"})
	shares.Hold("ana", places.MostHeld-1000, places.MostHeld)
	ana.want(422, `"code":"busy"`)(ana.post("ask", object{"sql": "SELECT 1"}))
	bob.want(200, `\[\[1\]\]`)(bob.post("ask", object{"sql": "SELECT 1"}))
	shares.Hold("ana", 1000-places.MostHeld, places.MostHeld)
	begun := time.Now() // so that a machine that stands still for a second is none on which she is alone
	shares.Turn("bob")()
	for range max(1, runtime.NumCPU()-1) {
		defer shares.Turn("ana")()
	}
	ana.want(200, `\[\[1\]\]`)(ana.post("ask", object{"sql": "SELECT 1"}))
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("a user whose turns are taken over the wire waited %v", took)
	}
	for _, user := range []string{"ana", "bob"} {
		if !shares.Hold(user, places.MostHeld, places.MostHeld) {
			t.Errorf("something is kept for %s", user)
		}
	}
}

// TestSchema: what a session sees, it is told; and words are completed from it.
func TestSchema(t *testing.T) {
	h := open(t, nil)
	ana := h.ana()
	ana.want(200, `"tables":\[{"columns":\[{"name":"sex","sql":"sex","type":"text","domain":"IN \('F', 'M'\)","nullable":false,"values":\["'F'","'M'"\]},{"name":"age".*"kind":"private".*"limits":"answer_time = '5 ms'","name":"visits"`)(ana.get("schema"))
	curator := h.curator()
	status, reply, _ := curator.send("POST", "/api/v1/import?name=x.csv&table=stays", "text/csv", strings.NewReader("group,größe\na,1\n"))
	curator.want(200, `"columns":\[{"name":"group","sql":"\\"group\\"","type":"TEXT"},{"name":"größe","sql":"größe","type":"INTEGER"}\]`)(status, reply)
	h.exec(`CREATE PRIVATE TABLE "order" ("group" TEXT IN ('a')) FROM stays WITH (epsilon = 2, delta = 1e-6)`, `CREATE RELEASE "Table" ON "order" ("group") WITH (epsilon = 1)`)
	curator.want(200, `"name":"Table".*"sql":"\\"Table\\"".*"name":"group","sql":"\\"group\\"".*"name":"order".*"sql":"\\"order\\""`)(curator.get("schema"))
	ana.want(200, `^\[{"text":"visits","kind":"table","from":21}\]$`)(ana.post("complete", object{"sql": "SELECT COUNT(*) FROM vis", "at": 24}))
	ana.want(200, `"text":"'F'","kind":"value","from":45}`)(ana.post("complete", object{"sql": "SELECT 'Ä', COUNT(*) FROM visits WHERE sex = AND", "at": 45}))
}

// price returns the decimal of a price.
func price(reply string) string {
	return regexp.MustCompile(`"price":{"rho":"([^"]*)"`).FindStringSubmatch(reply + `"price":{"rho":"none"`)[1]
}

// TestPlan: a plan names the ways to answer and their prices, and is free.
func TestPlan(t *testing.T) {
	h := open(t, nil)
	ana := h.ana()
	ana.want(200, `"columns":\[{"name":"sex","type":"TEXT"},{"name":"count","type":"INTEGER"}\].*"name":"r".*"cost":"0".*"chosen":true.*"price":{"rho":"0","left":null,"words":"free"}`)(
		ana.post("plan", object{"sql": "SELECT sex, COUNT(*) FROM visits GROUP BY sex"}))
	ana.want(200, `"refusal":"SET accuracy = \d+ buys it".*"price":{"rho":null,"left":null`)(
		ana.post("plan", object{"sql": "SELECT COUNT(*) FROM visits WHERE age < 50"}))
	ana.want(200, `"price":{"rho":"0\.000\d+","left":"0.02","words":"takes \d.* % of what is left, for good"}`)(
		ana.post("plan", object{"sql": "SELECT COUNT(*) FROM visits WHERE age < ?", "args": []any{50}, "settings": object{"accuracy": 50}}))
	ana.want(200, `"candidates":\[\].*"rho":"0"`)(ana.post("plan", object{"sql": "SHOW TABLES"}))
	ana.want(200, `"price":{"rho":null,"left":null,"words":"price not known: `)(ana.post("plan", object{"sql": "CREATE RELEASE q ON visits (sex) WITH (epsilon = ?)", "args": []any{1}}))
	ana.want(200, `"price":{"rho":"0"`)(ana.post("plan", object{"sql": "; SELECT sex, COUNT(*) FROM visits GROUP BY sex;"}))
	ana.want(422, `"code":"unknown".*"position":8`)(ana.post("plan", object{"sql": "SELECT colour FROM visits"}))
	ana.want(422, `"code":"unknown".*"position":15`)(ana.post("plan", object{"sql": "SELECT 1 FROM nowhere"}))
	ana.want(422, `"code":"invalid"`)(ana.post("plan", object{"sql": "SELECT COUNT(*) FROM visits", "settings": object{"confidence": "red"}}))
	ana.want(200, `"purchases":\[\]`)(ana.get("budget"))
}

// TestBuy: a statement takes what was agreed, or nothing.
func TestBuy(t *testing.T) {
	h := open(t, nil)
	ana := h.ana()
	ask := object{"sql": "SELECT COUNT(*) FROM visits WHERE age < 50", "settings": object{"accuracy": 50}}
	_, plan := ana.post("plan", ask)
	rho := price(plan)
	for _, buy := range []string{"", "0", "0.0000001", strings.Replace(rho, "0.000", "0.0000", 1)} {
		ask["buy"] = buy
		status, reply := ana.post("ask", ask)
		ana.want(409, `"code":"price"`)(status, reply)
		if price(reply) != rho {
			t.Errorf("buy %q: %s, want the price %s", buy, reply, rho)
		}
	}
	ask["buy"] = "-1"
	ana.want(422, `"code":"invalid"`)(ana.post("ask", ask))
	ana.want(200, `"purchases":\[\]`)(ana.get("budget"))
	ask["buy"] = rho
	ana.want(200, `"mechanism":"direct".*"cost":{"epsilon":0,"rho":0.000`)(ana.post("ask", ask))
	ask["buy"] = "0"
	ana.want(200, `"cost":{"epsilon":0,"rho":0}`)(ana.post("ask", ask)) // it is stored now
	ana.want(200, `"account":"quota".*"purchases":\[{"action":"direct answer","at":"[^"]*","rho":"`+regexp.QuoteMeta(rho)+`","table":"visits"}\]`)(ana.get("budget"))
	ana.want(422, `"code":"budget"`)(ana.post("ask", object{"sql": "SELECT COUNT(*) FROM visits WHERE age < 51", "settings": object{"accuracy": 1}, "buy": "1"}))
	bob := h.page().login(object{"user": "bob", "password": "b0bs-word"})
	bob.want(200, `"purchases":\[\]`)(bob.get("budget"))
	h.curator().want(200, `"ledger":\[{.*"action":"create release"[^}]*"who":null}.*"action":"direct answer for ana"[^}]*"who":"ana"}`)(h.curator().get("budget"))
}

// TestAgreement: what was agreed holds for all aggregates of a statement together.
func TestAgreement(t *testing.T) {
	h := open(t, nil)
	ana := h.ana()
	two := object{"sql": "SELECT (SELECT COUNT(*) FROM visits WHERE age < 50) - (SELECT COUNT(*) FROM visits WHERE age < 60) AS d", "settings": object{"accuracy": 100}}
	one := object{"sql": "SELECT COUNT(*) FROM visits WHERE age < 70", "settings": object{"accuracy": 100}}
	waits := object{"sql": "SELECT COUNT(*) FROM visits WHERE age < (SELECT 40 + 0 * COUNT(*) FROM visits WHERE age < 80)", "settings": object{"accuracy": 100}}
	_, plan := ana.post("plan", one)
	rho := price(plan)
	two["buy"], waits["buy"] = rho, rho
	ana.want(409, `"code":"price"`)(ana.post("ask", two))
	ana.want(200, `"purchases":\[\]`)(ana.get("budget"))
	_, plan = ana.post("plan", two)
	two["buy"] = price(plan)
	ana.want(200, `"mechanism":"direct"`)(ana.post("ask", two))
	status, reply := ana.post("ask", waits) // the inner one is bought, and pays for nothing more
	if status == 200 || !strings.Contains(reply, "agreed") {
		t.Errorf("an aggregate that waits for another: %d %s", status, reply)
	}
	_, budget := ana.get("budget")
	if n := strings.Count(budget, `"action"`); n != 2 {
		t.Errorf("%d purchases: %s", n, budget)
	}
}

// lines reads the lines of a run.
func lines(text string) (all []string) {
	s := bufio.NewScanner(strings.NewReader(text))
	for s.Scan() {
		all = append(all, s.Text())
	}
	return all
}

// TestRun: the curator's statements tell how far they are, and are found again.
func TestRun(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	p := h.curator()
	_, reply := p.post("run", object{"sql": "CREATE RELEASE by_age ON visits (age) USING PROJECTION WITH (epsilon = 0.5, transform = identity)"})
	all := lines(reply)
	if len(all) < 2 || all[0] != `{"id":"1"}` || !strings.HasPrefix(all[len(all)-1], `{"result":{"columns":[],"rows":[]`) {
		t.Errorf("a build: %s", reply)
	}
	p.want(200, `{"error":{"code":"exists"`)(p.post("run", object{"sql": "CREATE RELEASE by_age ON visits (age) USING PROJECTION WITH (epsilon = 0.5)"}))
	p.want(200, `^{"id":"1"}\n({"progress":[\d.]+}\n)*{"result"`)(h.curator().post("watch", object{"id": "1"}))
	p.want(200, `^\[{"done":true,"id":"1","progress":1,"sql":"CREATE RELEASE by_age.*"id":"2"`)(p.get("runs"))
	p.want(404, `"unknown"`)(p.post("cancel", object{"id": "9"}))
	p.want(200, "{}")(p.post("cancel", object{"id": "1"}))
	p.want(200, `"columns":\["table","proposal".*workload = 'workload.sql'`)(p.post("advise", object{"sql": "SELECT sex, COUNT(*) FROM visits GROUP BY sex;", "epsilon": "0.4", "delta": "1e-8"}))
	p.want(422, `"invalid"`)(p.post("advise", object{"sql": "SELECT 1", "epsilon": "1); DROP USER bob; --"}))
	_, reply = p.post("run", object{"sql": "ALTER USER bob PASSWORD 'hidden-word'"})
	if _, runs := p.get("runs"); strings.Contains(runs, "hidden-word") {
		t.Errorf("a password is kept: %s", runs)
	}
}

// TestImport: a file becomes a raw table, of which a draft is written and checked; nothing of it stays beside the database.
func TestImport(t *testing.T) {
	t.Parallel()
	h := open(t, func(c *web.Config) { c.Upload = 1000 })
	p := h.curator()
	load := func(query, body string) (int, string) {
		status, reply, _ := p.send("POST", "/api/v1/import?"+query, "application/octet-stream", strings.NewReader(body))
		return status, reply
	}
	p.want(200, `"columns":\[{"name":"id","sql":"id","type":"INTEGER"},{"name":"city","sql":"city","type":"TEXT"}\].*"rows":42`)(load("table=people&name=people.csv", "id,city\n1,Rome\n2,Oslo\n"+strings.Repeat("3,Rome\n4,Oslo\n", 20)))
	p.want(422, `"code":"exists"`)(load("table=people&name=people.csv", "id,city\n1,Rome\n"))
	p.want(200, `"rows":1`)(load("table=again&name=a.csv", "id\n1\n"))
	p.want(200, `"rows":2`)(load("table=again&name=a.csv&replace=", "id\n1\n2\n"))
	p.want(200, `"rows":1`)(load("table=people&name=people.csv&append=", "id,city\n3,Bern\n"))
	p.want(200, `"columns":\[{"name":"größe","sql":"größe","type":"INTEGER"}\].*"rows":3`)(load("table=sizes&name=s.csv&encoding=windows-1252&skip=1&null=-&null=", "sizes\ngr\xf6\xdfe\n1\n-\n2\n"))
	p.want(422, `--skip takes a number`)(load("table=other&name=s.csv&skip=x", "a\n1\n"))
	p.want(422, `a file is not read by --colour`)(load("table=other&name=s.csv&colour=x", "a\n1\n"))
	p.want(413, `"code":"size"`)(load("table=long&name=long.csv", "id\n"+strings.Repeat("1\n", 500)))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "id\n"+strings.Repeat("1\n", 500))
	z.Close()
	p.want(422, `file long.csv.gz has more than 1000 bytes when it is unpacked","hint":`)(load("table=long&name=long.csv.gz", packed.String()))
	status, reply := load("table=bad&name=bad.parquet", "no such thing")
	if status != 422 || strings.Contains(reply, h.file) || strings.Contains(reply, "-upload-") {
		t.Errorf("a file that cannot be read: %d %s", status, reply)
	}
	p.want(200, `"sql":".*CREATE PRIVATE TABLE`)(p.post("draft", object{"table": "people"}))
	p.want(200, `"text":".*city: 22 rows lost.*max_rows = 20: 1 rows lost`)(p.post("check", object{"sql": "CREATE PRIVATE TABLE q (city TEXT IN ('Rome')) FROM people WITH (epsilon = 1, unit = id, max_rows = 20)"}))
	ana := h.ana()
	ana.want(422, `"code":"unknown"`)(ana.post("ask", object{"sql": "SELECT COUNT(*) FROM people"}))
	left, _ := filepath.Glob(h.file + "-upload-*")
	if len(left) > 0 {
		t.Errorf("there are %v", left)
	}
	stale := h.file + "-upload-1.csv"
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	web.New(web.Config{Database: h.db, File: h.file})
	if _, err := os.Stat(stale); err == nil {
		t.Error("what a process left that was killed is kept")
	}
}

// TestLog: each statement has a line, with a hash of its text and nothing else of it.
func TestLog(t *testing.T) {
	var log strings.Builder
	h := open(t, func(c *web.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	ana := h.ana()
	ana.post("ask", object{"sql": "SELECT COUNT(*) FROM visits"})
	ana.post("ask", object{"sql": "SELECT COUNT(*) FROM visitz"})
	got := log.String()
	for _, want := range []string{"outcome=ok via=r epsilon=0 rho=0", "outcome=unknown", engine.Fingerprint("SELECT COUNT(*) FROM visits")} {
		if !strings.Contains(got, want) {
			t.Errorf("the log has no %s: %s", want, got)
		}
	}
	if strings.Contains(got, "visit") || strings.Contains(got, "s3cretive") {
		t.Errorf("the log tells %s", got)
	}
}

// TestExport: a page is made of releases, and only the reply has it.
func TestExport(t *testing.T) {
	h := open(t, nil)
	p := h.curator()
	status, text, r := p.send("POST", "/api/v1/export", "application/json", strings.NewReader(`{"sql":"EXPORT RELEASE r TO 'visits.html' WITH (title = 'Visits');"}`))
	if status != 200 || !strings.Contains(text, "<title>Visits") || r.Header.Get("Content-Type") != "application/octet-stream" || r.Header.Get("Content-Disposition") != "attachment" {
		t.Errorf("%d, %d bytes, %v", status, len(text), r.Header)
	}
	p.want(422, `"unknown"`)(p.post("export", object{"sql": "EXPORT RELEASE s TO 'visits.html'"}))
	p.want(422, `"invalid"`)(p.post("export", object{"sql": "SHOW TABLES"}))
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(h.file), "*-upload-*")); len(left) > 0 {
		t.Errorf("there are %v", left)
	}
	ana := h.ana()
	ana.want(403, "for the curator")(ana.post("export", object{"sql": "EXPORT RELEASE r TO 'visits.html'"}))
}

// TestSlow: who is slow to ask holds nobody else up, and is cut off.
func TestSlow(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go h.web.Serve(l, false)
	defer h.web.Shutdown(context.Background())
	h.url = "http://" + l.Addr().String()
	for range 50 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n")
	}
	ana := h.ana()
	ana.want(200, "ana")(ana.get("session"))
	long, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	io.WriteString(long, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 32<<10)+"\r\n\r\n")
	if reply, _ := bufio.NewReader(long).ReadString('\n'); !strings.Contains(reply, "431") {
		t.Errorf("headers of 32 KB: %s", reply)
	}
}

// TestDraining: a console that ends takes no more requests.
func TestDraining(t *testing.T) {
	h := open(t, nil)
	ana := h.ana()
	h.web.Shutdown(context.Background())
	ana.want(503, `"code":"closed"`)(ana.get("session"))
}

// TestNothingPrivate: an analyst is told no time, no progress and no byte before the end.
func TestNothingPrivate(t *testing.T) {
	h := open(t, nil)
	ana := h.ana()
	for _, path := range []string{"run", "runs", "watch", "cancel", "import", "draft", "check", "advise"} {
		method := "POST"
		if path == "runs" {
			method = "GET"
		}
		status, reply, _ := ana.send(method, "/api/v1/"+path, "application/json", strings.NewReader("{}"))
		ana.want(403, "for the curator")(status, reply)
	}
	_, _, r := ana.send("POST", "/api/v1/ask", "application/json", strings.NewReader(`{"sql":"SELECT COUNT(*) FROM visits"}`))
	for name := range r.Header {
		if slices.Contains([]string{"Server-Timing", "Trailer", "X-Runtime"}, name) {
			t.Errorf("the reply has %s", name)
		}
	}
	ana.want(422, `"code":"forbidden"`)(ana.post("ask", object{"sql": "SHOW LEDGER"}))
	_, budget := ana.get("budget")
	if strings.Contains(budget, "ledger") || strings.Contains(budget, "bob") || strings.Contains(budget, `"releases"`) {
		t.Errorf("an analyst is told %s", budget)
	}
}
