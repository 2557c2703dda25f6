//go:build unix

package catalog_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

// readOnlyChild is the child process of the tests below: it runs without the
// right to write and reports what it can do.
func readOnlyChild(path string) {
	s, err := catalog.Open(context.Background(), path, catalog.Options{})
	if err != nil {
		fmt.Println("open", sqlerr.CodeOf(err))
		return
	}
	defer s.Close()
	var n int
	err = s.Read(context.Background(), func(tx *catalog.Tx) error {
		tables, err := tx.Tables()
		n = len(tables)
		return err
	})
	fmt.Printf("read %d %q; ", n, sqlerr.CodeOf(err))
	err = s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("p") })
	_, lease := s.AcquireLease(context.Background())
	fmt.Printf("readonly %v; write %s; lease %s\n", s.ReadOnly(), sqlerr.CodeOf(err), sqlerr.CodeOf(lease))
}

// unprivileged runs a role on path in a child process. If the tests run as root, whom
// permissions do not stop, the child runs as nobody.
func unprivileged(t *testing.T, binary, path string) string {
	t.Helper()
	child := exec.Command(binary)
	child.Env = append(os.Environ(), "CATALOG_TEST_ROLE=read-only", "CATALOG_TEST_PATH="+path)
	child.Dir = "/"
	if os.Geteuid() == 0 {
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := child.Output()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// copyBinary puts the test binary where nobody can run it.
func copyBinary(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(dir, "catalog.test")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWithoutPermission(t *testing.T) {
	base := t.TempDir()
	for dir := base; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Skipf("cannot open %s to the child process: %v", dir, err)
		}
	}
	binary := copyBinary(t, base)
	readable := `read 1 ""; readonly true; write readonly; lease readonly`
	for _, c := range []struct {
		name      string
		file, dir os.FileMode
		journal   string
		openNow   bool // another process has the database open
		want      string
	}{
		{"read-only file", 0o444, 0o777, "wal", false, readable},
		{"read-only directory", 0o666, 0o555, "wal", false, readable},
		{"both", 0o444, 0o555, "wal", false, readable},
		{"both, rollback journal", 0o444, 0o555, "delete", false, readable},
		{"both, open elsewhere", 0o444, 0o555, "wal", true, readable},
		{"unreadable file", 0o000, 0o777, "wal", false, "open io"},
		{"unreadable directory", 0o666, 0o000, "wal", false, "open io"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(base, strings.ReplaceAll(c.name, " ", "-"))
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "x.db")
			s := open(t, path)
			declare(t, s, "rows1")
			s.Close()
			raw(t, path, `PRAGMA journal_mode = `+c.journal)
			if err := os.Chmod(path, c.file); err != nil {
				t.Fatal(err)
			}
			if c.openNow {
				holder := open(t, path)
				write(t, holder, func(tx *catalog.Tx) error { return tx.AddPublic("held") })
			}
			if err := os.Chmod(dir, c.dir); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o755)
			if c.openNow && os.Geteuid() != 0 {
				t.Skip("the holder needs the right to write; run as root")
			}
			if got := unprivileged(t, binary, path); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
