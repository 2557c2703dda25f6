// Package publish writes releases as one page: a file that answers SQL in any browser, without a server. It has the
// card as HTML, the releases, dpsql's engine for js/wasm and SQLite for what stands around answers.
package publish

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"sync"

	"dpsql/page"
	"dpsql/web/dist"
)

// built has the engine, which .ci/engine builds of page/wasm: wasm.zst, Go's wasm_exec.js for it, and the licences of
// what is in it. manifest.json says of what it was built.
//
//go:embed engine
var built embed.FS

// Write writes a page of payloads, and returns its digest. The card's format, digest and payloads are filled in.
func Write(w io.Writer, c page.Card, payloads [][]byte) (digest string, err error) {
	text, err := page.Sealed(c, payloads)
	if err != nil {
		return "", err
	}
	if c, err = page.ReadCard(text, payloads); err != nil {
		return "", err
	}
	engine, err := parts(built, "engine/wasm.zst", "engine/wasm_exec.js", "engine/LICENCES.txt")
	if err != nil {
		return "", err
	}
	web, err := parts(dist.Files, "page.js", "page.css", "worker.js", "sqlite.wasm", "LICENCES.txt")
	if err != nil {
		return "", err
	}
	script, style := web[0], web[1]
	p := &printer{w: w}
	p.text(`<!doctype html>
<html lang="en" data-state="loading"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="` + policy(style, []byte(loader), script) + `">
<title>` + shown(c.Title) + `</title><style>` + string(style) + `</style></head><body>
<header id="top"><h1>` + shown(c.Title) + `</h1>`)
	if c.About != "" {
		p.text(`<p>` + shown(c.About) + `</p>`)
	}
	p.text("</header>\n<main>\n<section id=\"app\"><p>With scripts this page answers SQL. While this stands here, none runs: they are off, or the page is damaged.</p></section>\n")
	p.card(c)
	p.text(`<details id="licences"><summary>Licences</summary><pre tabindex="0">` + html.EscapeString(string(engine[2])+string(web[4])) + "</pre></details>\n</main>\n")
	p.element("application/json", "dpsql-card", func() { p.text(string(text)) })
	for i, payload := range payloads {
		p.element(packed, "dpsql-"+c.Payloads[i].Name, func() { p.pack(payload) })
	}
	p.element(packed, "dpsql-engine", func() { p.once(engine[0]) })
	p.element(packed, "dpsql-sqlite", func() { p.once(web[3]) })
	p.element("text/plain", "dpsql-worker", func() { p.text(string(engine[1]) + "\n" + string(web[2])) })
	p.element(packed, "dpsql-app", func() { p.once(script) })
	p.text("<script>" + loader + "</script>\n</body></html>\n")
	return c.Digest, p.err
}

// packed is the type of base64 of gzip. The engine in it is compressed by zstd.
const packed = "application/gzip;base64"

// loader is the script that unpacks the page's own, and runs it: 0.75 MB have 0.33 so. A script that the policy refuses does nothing.
const loader = `(async () => {
const bytes = Uint8Array.from(atob(document.getElementById("dpsql-app").textContent), c => c.charCodeAt(0));
const script = document.createElement("script");
script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
document.body.append(script);
if (!document.getElementById("run")) throw 0;
})().catch(() => {
document.documentElement.dataset.state = "damaged";
document.getElementById("app").textContent = "damaged: the script is not what was written. This page answers nothing.";
});`

// policy returns the Content-Security-Policy of a page. It lets nothing be asked of the network.
func policy(style []byte, scripts ...[]byte) string {
	source := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	allowed := ""
	for _, script := range scripts {
		allowed += source(script) + " "
	}
	return "default-src 'none'; script-src " + allowed + "'wasm-unsafe-eval'; style-src " + source(style) +
		"; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"
}

// parts reads files.
func parts(from embed.FS, names ...string) (all [][]byte, err error) {
	for _, name := range names {
		text, err := from.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// printer writes a page, and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) text(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// element writes a script that the browser does not run.
func (p *printer) element(kind, id string, inner func()) {
	p.text(open(kind, id))
	inner()
	p.text("</script>\n")
}

// open is the tag of such a script.
func open(kind, id string) string { return fmt.Sprintf(`<script type="%s" id="%s">`, kind, id) }

// pack writes bytes as base64 of gzip.
func (p *printer) pack(b []byte) { p.text(zipped(b)) }

// once packs what is in every page, and is packed once in a process.
func (p *printer) once(b []byte) {
	sum := sha256.Sum256(b)
	text, ok := ours.Load(sum)
	if !ok {
		text = zipped(b)
		ours.Store(sum, text)
	}
	p.text(text.(string))
}

// ours is what once has packed, by its digest.
var ours sync.Map

// zipped returns bytes as base64 of gzip. Neither the level nor the buffer can fail.
func zipped(b []byte) string {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = z.Write(b)
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
