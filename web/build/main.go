// Command build bundles the scripts and sheets of the pages, from web/app and the packages of
// web/package-lock.json into web/dist. The same inputs give the same bytes, anywhere.
//
//	npm ci --prefix web
//	go run ./web/build          # writes web/dist
//	go run ./web/build -check   # fails where web/dist has other bytes
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	web := flag.String("web", "web", "the folder of app, dist and node_modules")
	flag.Parse()
	if err := run(*web, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(web string, check bool) error {
	files, err := bundle(web)
	if err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(web, "dist", name)
		if !check {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
			continue
		}
		if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, text) {
			return cmp.Or(err, fmt.Errorf("%s is not what its sources give: go run ./web/build", path))
		}
	}
	return nil
}

// entries are the bundles, by name, with their sources.
var entries = map[string]string{"page.js": "app/page.ts", "page.css": "app/page.css", "console.js": "app/console.ts", "console.css": "app/console.css", "worker.js": "app/worker.ts"}

// bundle returns the files of web/dist.
func bundle(web string) (map[string][]byte, error) {
	files, packages := make(map[string][]byte), make(map[string]bool)
	for name, source := range entries {
		text, inputs, err := build(web, source, api.BuildOptions{
			Platform: api.PlatformBrowser, Format: api.FormatIIFE,
			MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		})
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte("</script")) || bytes.Contains(text, []byte("<!--")) {
			return nil, fmt.Errorf("%s cannot stand in a page: it would end its element", name)
		}
		files[name] = text
		for _, input := range inputs {
			if in := packageOf(input); in != "" {
				packages[in] = true
			}
		}
	}
	var err error
	if files["sqlite.wasm"], err = os.ReadFile(filepath.Join(web, "node_modules/sql.js/dist/sql-wasm-browser.wasm")); err != nil {
		return nil, err
	}
	files["LICENCES.txt"], err = licences(web, packages)
	return files, err
}

// build bundles one source, and returns the names of the files that are in it.
func build(web, source string, o api.BuildOptions) ([]byte, []string, error) {
	absolute, err := filepath.Abs(web)
	if err != nil {
		return nil, nil, err
	}
	o.AbsWorkingDir, o.EntryPoints = absolute, []string{source}
	o.Bundle, o.Metafile, o.Target, o.Charset, o.LegalComments = true, true, api.ES2022, api.CharsetUTF8, api.LegalCommentsNone
	o.LogLevel = api.LogLevelWarning
	r := api.Build(o)
	if len(r.Errors) > 0 {
		return nil, nil, fmt.Errorf("%s is not bundled", source)
	}
	var meta struct {
		Inputs map[string]json.RawMessage `json:"inputs"`
	}
	if err := json.Unmarshal([]byte(r.Metafile), &meta); err != nil {
		return nil, nil, err
	}
	var inputs []string
	for name := range meta.Inputs {
		inputs = append(inputs, filepath.ToSlash(name))
	}
	return r.OutputFiles[0].Contents, inputs, nil
}

// packageOf returns the folder of the package that a file is of, below node_modules; "" for ours.
func packageOf(file string) string {
	_, inner, ok := strings.Cut(file, "node_modules/")
	if !ok {
		return ""
	}
	parts := strings.Split(inner, "/")
	if strings.HasPrefix(inner, "@") {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// licences joins the licences of packages.
func licences(web string, packages map[string]bool) ([]byte, error) {
	var names []string
	for name := range packages {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, name := range names {
		folder := filepath.Join(web, "node_modules", filepath.FromSlash(name))
		var about struct{ Version, License string }
		text, err := os.ReadFile(filepath.Join(folder, "package.json"))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &about); err != nil {
			return nil, err
		}
		found, _ := filepath.Glob(filepath.Join(folder, "[Ll][Ii][Cc][Ee][Nn][SsCc][Ee]*"))
		if len(found) == 0 {
			return nil, errors.New(name + " has no licence")
		}
		licence, err := os.ReadFile(found[0])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s %s (%s)\n\n%s\n\n", name, about.Version, about.License, strings.TrimSpace(string(licence)))
	}
	return b.Bytes(), nil
}
