package dpsql_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var long = flag.Bool("long", false, "build for pages")

// TestBuildsForPages builds the engine of pages as .ci/engine does, and holds the one that is committed to it: the same
// sources give the same bytes by the same Go.
func TestBuildsForPages(t *testing.T) {
	if !*long {
		t.Skip("compiles for a second machine: -long does")
	}
	wasm := filepath.Join(t.TempDir(), "wasm")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", wasm, "./page/wasm")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("page/publish/engine/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var committed struct{ Go, SHA256 string }
	if err := json.Unmarshal(text, &committed); err != nil {
		t.Fatal(err)
	}
	if version := runtime.Version(); version != committed.Go {
		t.Skipf("the engine was built by %s, and this is %s", committed.Go, version)
	}
	fresh, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile("page/publish/engine/wasm.zst")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if text, err = z.DecodeAll(packed, nil); err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(fresh); hex.EncodeToString(sum[:]) != committed.SHA256 || !bytes.Equal(text, fresh) {
		t.Error("page/publish/engine is not what the sources give: run .ci/engine, and commit")
	}
}
