package publish

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"

	"dpsql/internal/answerjson"
	"dpsql/page"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
)

// hostile is markup wherever it is put in unescaped.
const hostile = `</script></title><script>alert(1)</script><!--'"&` + "\u202e\u2028\u2029\u2066\x00\x01\r\u009b\xff"

// markup is a card with markup in every text.
func markup() page.Card {
	return page.Card{Title: hostile, About: hostile, Cite: hostile, DOI: hostile, Publisher: hostile, Contact: hostile, Licence: hostile, Version: hostile,
		Made: hostile, Examples: []string{hostile}, Picture: page.Picture{Tables: []page.Table{{Name: hostile, Unit: hostile, MaxRows: 3, Epsilon: hostile,
			Delta: hostile, Columns: []page.Column{{StoredColumn: query.StoredColumn{Name: hostile, Type: "TEXT", Domain: stored(hostile)}, Shown: hostile}}}}}}
}

func stored(value string) query.StoredDomain {
	domain, err := query.NewList(query.TypeText, []query.Value{query.Text(value)})
	if err != nil {
		panic(err)
	}
	c, err := query.Column{Name: "c", Domain: domain}.Stored()
	if err != nil {
		panic(err)
	}
	return c.Domain
}

// TestMarkup: texts do not become elements of the page, whatever is in them.
func TestMarkup(t *testing.T) {
	marked := markup()
	marked.Publics = []page.Public{{Name: hostile, Columns: []page.PublicColumn{{Column: around.Column{Name: hostile}}}}}
	marked.Tables[0].Each = hostile
	file := written(t, marked)
	if strings.Contains(file, "alert(1)<") || strings.Contains(file, "<script>alert") || strings.Contains(file, "<!--") {
		t.Error("a text became markup")
	}
	plain := markup()
	plain.Title = "visits"
	plain.About = "about"
	tags := regexp.MustCompile(`</?[a-z]+[^>]*>`)
	want := len(tags.FindAllString(written(t, page.Card{Title: "t", About: "a", Picture: page.Picture{Tables: []page.Table{{Name: "t", Columns: []page.Column{plain.Tables[0].Columns[0]}}}, Publics: []page.Public{{Name: "p", Columns: []page.PublicColumn{{Column: around.Column{Name: "c"}}}}}}}), -1))
	// Five more pairs: publisher, contact, licence and budget, each a dt and a dd.
	if got := len(tags.FindAllString(file, -1)); got != want+3*4+4 {
		t.Errorf("%d tags, want %d", got, want+16)
	}
	_, rest, _ := strings.Cut(file, `<header id="top">`)
	seen, _, _ := strings.Cut(rest, `<details id="licences">`)
	if strings.ContainsFunc(seen, func(r rune) bool { return r != '\n' && answerjson.IsHidden(r) }) {
		t.Error("a text reorders the card, or hides in it")
	}
	if !strings.Contains(file, "<h2>Table "+html.EscapeString(hostile[:strings.Index(hostile, "\u202e")])+`\u202e\u2028\u2029\u2066\u0000\u0001\u000d\u009b`+"\ufffd</h2>") {
		t.Error("the name of the table is missing")
	}
}

func written(t *testing.T, c page.Card) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(&b, c, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestVerify: a page is what was written, and each part is held to be.
func TestVerify(t *testing.T) {
	file := written(t, markup())
	if c, _, own, err := Verify([]byte(file)); err != nil || !own || c.Title != strings.ToValidUTF8(hostile, "\ufffd") {
		t.Fatalf("%v %v", own, err)
	}
	for what, c := range map[string]struct {
		old, new string
		own      bool
		code     sqlerr.Code
	}{
		"card":   {`"max_rows":3`, `"max_rows":4`, false, page.Damaged},
		"shown":  {"at most 3 of each", "at most 2 of each", false, ""},
		"script": {"<script>", "<script> ", false, ""},
		"engine": {`id="dpsql-engine">H`, `id="dpsql-engine">I`, false, ""},
		"app":    {`id="dpsql-app">H`, `id="dpsql-app">I`, false, ""},
		"worker": {`id="dpsql-worker">`, `id="dpsql-worker">;`, false, ""},
		"style":  {"<style>", "<style> ", false, ""},
		"policy": {"default-src 'none'", "default-src *", false, ""},
		"hash":   {"script-src 'sha256-", "script-src 'sha256-A", false, ""},
		"twice":  {"<body>", `<body><script id="dpsql-card" type="application/json">{}</script>`, false, ""}, // the browser's first card is another one
		"after":  {"</html>\n", "</html>\n<script>alert(1)</script>", false, ""},
		"none":   {`id="dpsql-card"`, `id="card"`, false, page.Damaged},
	} {
		changed := strings.Replace(file, c.old, c.new, 1)
		if changed == file {
			t.Errorf("%s: nothing was changed", what)
		}
		if _, _, own, err := Verify([]byte(changed)); own != c.own || sqlerr.CodeOf(err) != c.code {
			t.Errorf("%s: own %v, %v", what, own, err)
		}
	}
}

// TestPolicy: the page runs its own script and style, and asks nothing of the network.
func TestPolicy(t *testing.T) {
	file := written(t, page.Card{Title: "t", Picture: page.Picture{Tables: []page.Table{}}})
	script := regexp.MustCompile(`(?s)<script>(.*)</script>\s*</body>`).FindStringSubmatch(file)
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(file)
	inner, err := element([]byte(file), packed, "dpsql-app")
	if err != nil {
		t.Fatal(err)
	}
	app, err := unpack(inner)
	if err != nil || script == nil || style == nil || !strings.Contains(file, `content="`+policy([]byte(style[1]), []byte(script[1]), app)+`"`) {
		t.Error("the policy is of another script or style")
	}
	for _, tag := range regexp.MustCompile(`(?i)\s(src|href|style|on[a-z]+)=`).FindAllString(file[:strings.Index(file, "<style>")]+file[strings.Index(file, "</style>"):strings.Index(file, `<script type`)], -1) {
		t.Errorf("the page has %s", tag)
	}
	for _, name := range []string{"engine/wasm_exec.js"} {
		text, err := built.ReadFile(name)
		if err != nil || bytes.Contains(text, []byte("</script")) || bytes.Contains(text, []byte("<!--")) {
			t.Errorf("%s cannot stand in a page: %v", name, err)
		}
	}
}
