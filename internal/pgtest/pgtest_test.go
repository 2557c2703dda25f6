package pgtest

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestClusterGoesWithItsProcess kills a process that has started a cluster.
func TestClusterGoesWithItsProcess(t *testing.T) {
	if os.Getenv(holds) != "" {
		hold(t)
		return
	}
	t.Parallel()
	_, err := findTools()
	need(t, err)
	child := exec.Command(os.Args[0], "-test.run=^TestClusterGoesWithItsProcess$", "-test.v")
	child.Env = append(os.Environ(), holds+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	folder := ""
	for lines := bufio.NewScanner(out); folder == "" && lines.Scan(); {
		_, folder, _ = strings.Cut(lines.Text(), holds+"=")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // the error says that it was killed
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", folder)
		}
	}
}

const holds = "PGTEST_HOLDS"

// hold starts a cluster, prints its folder and waits to be killed.
func hold(t *testing.T) {
	c, err := New()
	need(t, err)
	if _, err := os.Stdout.WriteString(holds + "=" + c.folder + "\n"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(patience)
}
