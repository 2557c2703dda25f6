package dpsql_test

import (
	"flag"
	"os"
	"os/exec"
	"testing"
)

var long = flag.Bool("long", false, "build for pages")

// TestBuildsForPages builds for a browser what a page answers with: internal/released and sqlfront/around, too.
func TestBuildsForPages(t *testing.T) {
	if !*long {
		t.Skip("compiles for a second machine: -long does")
	}
	build := exec.Command("go", "build", "./page")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
