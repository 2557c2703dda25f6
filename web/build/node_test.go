package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSurroundingsInNode runs tests of package page that need SQLite in node, where sql.js is theirs.
func TestSurroundingsInNode(t *testing.T) {
	installed(t)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "page.test")
	build := exec.Command("go", "test", "-c", "-gcflags=all=-l", "-o", binary, "./page")
	build.Dir, build.Env = "../..", append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sqljs, err := filepath.Abs("../node_modules/sql.js/dist/sql-wasm.js")
	if err != nil {
		t.Fatal(err)
	}
	const script = `require(process.argv[3])({ useOldExtensionFunctions: false }).then(sql => { globalThis.dpsqlSQL = sql; process.argv.splice(3, 1); require(process.argv[1]) })`
	runs := exec.Command("node", "-e", script, filepath.Join(strings.TrimSpace(string(root)), "lib/wasm/wasm_exec_node.js"), binary, sqljs, "-test.run", "^TestSurroundings$", "-test.v")
	out, err := runs.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSurroundings") {
		t.Fatalf("%v\n%s", err, out)
	}
}
