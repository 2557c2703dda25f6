package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsql/internal/scram"
	"dpsql/internal/seeds"
	"dpsql/web"
)

// TestHosts: the console answers to addresses and to names that it was given, whatever is asked for.
func TestHosts(t *testing.T) {
	h := open(t, func(c *web.Config) { c.Hosts = []string{"console.example"} })
	for host, known := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "[::1]:8433": true, "10.1.2.3": true, "localhost:9": true, "LOCALHOST.": true, "console.example": true,
		"localhost.evil.example": false, "127.0.0.1.evil.example": false, "evil.example:8433": false, "console.example.evil.example": false,
		"sub.console.example": false, "2130706433": false, "0x7f.1": false, "clinic": false,
	} {
		for _, path := range []string{"/", "/api/v1/session", "/assets/x", "/nowhere"} {
			p := h.page()
			p.host = host
			status, reply, r := p.send("GET", path, "", nil)
			if (status != 421) != known || !known && !strings.Contains(reply, `"code":"host"`) {
				t.Errorf("%s of %s: %d %s", path, host, status, reply)
			}
			if r.Header.Get("Access-Control-Allow-Origin") != "" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s of %s lets others in: %v", path, host, r.Header)
			}
		}
	}
}

// TestForgeries: what a page of another site, or of another port of this host, has a browser send is refused although
// the browser sends the cookie.
func TestForgeries(t *testing.T) {
	h := open(t, nil)
	for name, forged := range map[string]struct {
		method, path, kind, body string
		header                   map[string]string
		status                   int
	}{
		"a form of another port":     {"POST", "ask", "application/x-www-form-urlencoded", "sql=SHOW+TABLES", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, 403},
		"a form of a JSON's look":    {"POST", "ask", "text/plain", `{"sql":"SHOW TABLES","=":""}`, map[string]string{"Origin": "null"}, 403},
		"a form without a word":      {"POST", "logout", "multipart/form-data; boundary=x", "--x--", nil, 415},
		"an image":                   {"GET", "schema", "", "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		"an image of another port":   {"GET", "budget", "", "", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "image"}, 403},
		"an image of an old browser": {"GET", "schema", "", "", nil, 401},
		"a link":                     {"GET", "session", "", "", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 401},
		"a preflight":                {"OPTIONS", "ask", "", "", map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Headers": "x-dpsql-token"}, 405},
		"a beacon":                   {"POST", "ask", "application/json", `{"sql":"SHOW TABLES"}`, map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"a login for another":        {"POST", "login", "application/json", `{"user":"bob","password":"b0bs-word"}`, map[string]string{"Origin": "http://evil.example"}, 403},
		"another method by header":   {"GET", "ask", "", "", map[string]string{"X-HTTP-Method-Override": "POST"}, 405},
	} {
		p := h.ana()
		p.token = "" // the browser has the cookie alone
		for field, value := range forged.header {
			p.header.Set(field, value)
		}
		status, reply, r := p.send(forged.method, "/api/v1/"+forged.path, forged.kind, strings.NewReader(forged.body))
		if status != forged.status || len(r.Cookies()) > 0 || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %s %v, want %d", name, status, reply, r.Header, forged.status)
		}
	}
}

// TestFixation: a login makes both halves anew, whatever the browser had before, and no half of one session opens
// another.
func TestFixation(t *testing.T) {
	h := open(t, nil)
	eve := h.page().login(object{"user": "bob", "password": "b0bs-word"})
	p := h.page()
	planted := *eve.cookie
	p.cookie, p.token = &planted, eve.token // planted in the browser before the login
	p.login(object{"user": "ana", "password": "s3cretive"})
	if p.cookie.Value == planted.Value || p.token == eve.token {
		t.Error("the login goes on with a half that was planted")
	}
	for _, halves := range [][2]string{{p.cookie.Value, eve.token}, {eve.cookie.Value, p.token}, {p.token, p.token}, {"", ""}} {
		mixed := h.page()
		mixed.cookie, mixed.token = &http.Cookie{Name: p.cookie.Name, Value: halves[0]}, halves[1]
		mixed.want(401, `"code":"(session|token)"`)(mixed.get("session"))
	}
	eve.want(200, `"user":"bob"`)(eve.get("session"))
	p.want(200, `"user":"ana"`)(p.get("session"))
}

// TestProxies: what a request says of where it comes from counts for nothing.
func TestProxies(t *testing.T) {
	var log strings.Builder
	failures := scram.NewFailures()
	h := open(t, func(c *web.Config) { c.Failures, c.Log = failures, slog.New(slog.NewTextHandler(&log, nil)) })
	for range 40 {
		failures.Begin("ana", "127.0.0.1")
	}
	p := h.page()
	p.header.Set("X-Forwarded-For", "10.9.9.9")
	p.header.Set("X-Forwarded-Host", "localhost")
	p.host = "evil.example"
	p.want(421, `"host"`)(p.post("login", object{"user": "ana", "password": "s3cretive"}))
	p.host = ""
	p.want(429, `"logins"`)(p.post("login", object{"user": "ana", "password": "s3cretive"}))
	p.login(object{"user": "bob", "password": "b0bs-word"})
	if got := log.String(); !strings.Contains(got, "client=127.0.0.1") || strings.Contains(got, "10.9.9.9") {
		t.Errorf("the log has %s", got)
	}
}

// TestLoginTime fails to log in, as a user who exists and as one who does not, in a random order. The ranks of the
// times tell the two apart no better than chance does (Mann and Whitney's test): it fails for |z| > 5, whose
// probability is 5.8e-7 for exchangeable times. Times of which one kind has no derivation of a key have |z| = 9.
func TestLoginTime(t *testing.T) {
	const n = 60
	failures := scram.NewFailures()
	h := open(t, func(c *web.Config) { c.Failures = failures })
	type login struct {
		user string
		took time.Duration
	}
	all := make([]login, 2*n)
	for i := range all {
		all[i].user = []string{"ana", "nob"}[i%2]
	}
	random := rand.New(rand.NewPCG(seeds.Of(t), 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, l := range all {
		p := h.page()
		begun := time.Now()
		p.want(401, `"login"`)(p.post("login", object{"user": l.user, "password": "x"}))
		all[i].took = time.Since(begun)
		try, _ := failures.Begin(l.user, "127.0.0.1") // so that the next one does not wait
		failures.Succeeded(try)
	}
	slices.SortFunc(all, func(a, b login) int { return int(a.took - b.took) })
	sum := 0.0
	for i, l := range all {
		if l.user == "ana" {
			sum += float64(i + 1)
		}
	}
	if z := (sum - n*(2*n+1)/2.0) / math.Sqrt(n*n*(2*n+1)/12.0); math.Abs(z) > 5 {
		t.Errorf("the time of a failed login tells whether there is such a user: z = %.2f", z)
	}
}

// TestHeld: an answer for which rows are read comes at the end of its slot, whether there are rows or none; and who
// leaves meanwhile is charged, and has the answer stored.
func TestHeld(t *testing.T) {
	t.Parallel()
	const slot = 300 * time.Millisecond
	h := open(t, nil)
	h.exec(`CREATE PRIVATE TABLE nobody (sex TEXT IN ('F'), age INTEGER BETWEEN 200 AND 299) FROM visits_raw WITH (epsilon = 2, delta = 1e-6)`,
		`GRANT SELECT ON nobody TO ana WITH (rho = 0.02)`,
		`ALTER PRIVATE TABLE visits SET (answer_time = 300)`, `ALTER PRIVATE TABLE nobody SET (answer_time = 300)`)
	ana := h.ana()
	question := func(table string, n int) object {
		return object{"sql": fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE age <> %d", table, n), "settings": object{"accuracy": 100, "mechanism": "direct"}, "buy": "0.001"}
	}
	for i, table := range []string{"visits", "nobody"} {
		begun := time.Now()
		ana.want(200, `"mechanism":"direct"`)(ana.post("ask", question(table, 200*i+i)))
		if took := time.Since(begun); took < slot {
			t.Errorf("an answer about %s came after %v, within its slot of %v", table, took, slot)
		}
	}
	leaving := question("visits", 50)
	ctx, leave := context.WithTimeout(context.Background(), slot/2)
	defer leave()
	body := `{"sql":"` + leaving["sql"].(string) + `","settings":{"accuracy":100,"mechanism":"direct"},"buy":"0.001"}`
	r, err := http.NewRequestWithContext(ctx, "POST", h.url+"/api/v1/ask", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Dpsql-Token": {ana.token}}
	r.AddCookie(ana.cookie)
	if reply, err := http.DefaultClient.Do(r); err == nil {
		reply.Body.Close()
		t.Error("an answer came within half of its slot")
	}
	leaving["buy"] = "0"
	for until := time.Now().Add(time.Minute); ; time.Sleep(slot / 4) {
		status, reply := ana.post("ask", leaving)
		if status == 200 && strings.Contains(reply, `"rho":0}`) {
			break
		}
		if strings.Contains(reply, "unknown") || time.Now().After(until) {
			t.Fatalf("the answer to a client that left is not stored: %d %s", status, reply)
		}
	}
}

// TestPricesOfOthers: an agreed price is a bound and no right: it buys nothing for somebody else, nothing dearer, and
// nothing twice.
func TestPricesOfOthers(t *testing.T) {
	h := open(t, nil)
	h.exec(`GRANT SELECT ON visits TO bob`)
	ana, bob := h.ana(), h.page().login(object{"user": "bob", "password": "b0bs-word"})
	ask := object{"sql": "SELECT COUNT(*) FROM visits WHERE age < 50", "settings": object{"accuracy": 50}}
	_, plan := ana.post("plan", ask)
	ask["buy"] = price(plan)
	bob.want(422, `"code":"forbidden"`)(bob.post("ask", ask))
	dearer := object{"sql": ask["sql"], "settings": object{"accuracy": 10}, "buy": ask["buy"]}
	ana.want(409, `"code":"price"`)(ana.post("ask", dearer))
	ana.want(200, `"purchases":\[\]`)(ana.get("budget"))
	var racing sync.WaitGroup
	for range 8 { // in two sessions
		again := *ana
		racing.Go(func() { again.want(200, `"rows"`)(again.post("ask", ask)) })
	}
	racing.Wait()
	_, budget := ana.get("budget")
	if n := strings.Count(budget, `"action"`); n != 1 {
		t.Errorf("%d purchases for one price: %s", n, budget)
	}
	bob.want(200, `"purchases":\[\]`)(bob.get("budget"))
}

// TestBuildsOfOthers: a build goes on when its curator leaves, the next one finds it, and nobody else does.
func TestBuildsOfOthers(t *testing.T) {
	h := open(t, nil)
	first := h.curator()
	first.want(200, `"result"`)(first.post("run", object{"sql": "CREATE RELEASE by_age ON visits (age) USING PROJECTION WITH (epsilon = 0.5, transform = identity)"}))
	ana := h.ana()
	for _, path := range []string{"watch", "cancel"} {
		ana.want(403, `for the curator`)(ana.post(path, object{"id": "1"}))
	}
	first.want(200, `{}`)(first.post("logout", object{}))
	for _, path := range []string{"watch", "cancel"} {
		first.want(401, `"session"`)(first.post(path, object{"id": "1"}))
	}
	next := h.curator()
	next.want(200, `by_age`)(next.get("runs"))
	next.want(200, `"result"`)(next.post("watch", object{"id": "1"}))
	next.want(404, `"unknown"`)(next.post("watch", object{"id": "2"}))
}

// endless is a file of a size, made as it is read, and how much of it was.
type endless struct{ left, read int64 }

func (e *endless) Read(p []byte) (int, error) {
	n := min(int64(len(p)), e.left)
	if n == 0 {
		return 0, io.EOF
	}
	copy(p, bytes.Repeat([]byte("1\n"), int(n+1)/2)[:n])
	e.left, e.read = e.left-n, e.read+n
	return int(n), nil
}

// TestHugeUpload: a file of 1 GiB is refused while it comes, and nothing of it stays.
func TestHugeUpload(t *testing.T) {
	t.Parallel()
	h := open(t, func(c *web.Config) { c.Upload = 1 << 20 })
	p := h.curator()
	for _, known := range []bool{true, false} {
		file := &endless{left: 1 << 30}
		r, err := http.NewRequest("POST", h.url+"/api/v1/import?table=huge&name=huge.csv", file)
		if err != nil {
			t.Fatal(err)
		}
		if known {
			r.ContentLength = 1 << 30
		}
		r.Header.Set("X-Dpsql-Token", p.token)
		r.AddCookie(p.cookie)
		reply, err := http.DefaultClient.Do(r)
		if err == nil { // it may still be writing
			text, _ := io.ReadAll(reply.Body)
			reply.Body.Close()
			p.want(413, `"code":"size"`)(reply.StatusCode, string(text))
		}
		if file.read > 1<<28 {
			t.Errorf("%d bytes were taken", file.read)
		}
	}
	if left, _ := filepath.Glob(h.file + "-upload-*"); len(left) > 0 {
		t.Errorf("there are %v", left)
	}
	p.want(200, `"tables":`)(p.get("schema"))
	p.want(422, `"unknown"`)(p.post("draft", object{"table": "huge"}))
}
