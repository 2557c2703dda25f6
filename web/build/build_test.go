package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

var update = flag.Bool("update", false, "write the golden files")

// installed skips a test where npm ci --prefix web has not been run, or node is not there.
func installed(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is missing")
	}
	if _, err := os.Stat("../node_modules/@observablehq/plot"); err != nil {
		t.Skip("npm ci --prefix web was not run")
	}
}

// TestCharts draws each answer of testdata/charts, which are answers of the demonstration, some of them
// changed so that a rule has its case, and holds what the page makes
// of it to the golden files beside it.
func TestCharts(t *testing.T) {
	installed(t)
	program, _, err := build("..", "build/testdata/golden.ts", api.BuildOptions{Platform: api.PlatformNode, Format: api.FormatESModule, External: []string{"canvas"},
		Banner: map[string]string{"js": `import { createRequire } from "node:module"; const require = createRequire("/");`}})
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "golden.mjs")
	if err := os.WriteFile(script, program, 0o600); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob("../testdata/charts/*.json")
	if len(names) == 0 {
		t.Fatal("no answers are found")
	}
	var answers []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(text))
	}
	cmd := exec.Command("node", script)
	cmd.Stdin, cmd.Stderr = strings.NewReader("["+strings.Join(answers, ",")+"]"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var drawn []struct {
		SVG, Summary, Line, Table string
		Notes                     []string
	}
	if err := json.Unmarshal(out, &drawn); err != nil || len(drawn) != len(names) {
		t.Fatal(err, len(drawn))
	}
	for i, d := range drawn {
		base := strings.TrimSuffix(names[i], ".json")
		golden(t, base+".svg", lines(d.SVG))
		golden(t, base+".txt", d.Summary+"\n"+strings.Join(d.Notes, "\n")+"\n"+d.Line+"\n"+lines(d.Table))
	}
}

// lines breaks markup between elements, so that differences can be read.
func lines(markup string) string { return strings.ReplaceAll(markup, "><", ">\n<") + "\n" }

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != got {
		t.Errorf("%s: %v; got\n%s", name, err, got)
	}
}

// TestDist holds web/dist to its sources, byte for byte, and the scripts to their types.
func TestDist(t *testing.T) {
	installed(t)
	if err := run("..", true); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command("../node_modules/.bin/tsc", "-p", "..").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
