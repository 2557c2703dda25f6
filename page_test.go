package dpsql_test

import (
	"flag"
	"os"
	"os/exec"
	"testing"
)

var long = flag.Bool("long", false, "build for pages")

// TestBuildsForPages builds what a page answers with for a browser.
func TestBuildsForPages(t *testing.T) {
	if !*long {
		t.Skip("compiles for a second machine: -long does")
	}
	build := exec.Command("go", "build", "./internal/released", "./sqlfront/around")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
