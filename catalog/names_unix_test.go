//go:build unix

package catalog_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

// spendChild is a child process that spends 730 of 1000 of account 1 for each
// line that it reads, and says with which error.
func spendChild(path string) {
	s, err := catalog.Open(context.Background(), path, catalog.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(charge(s, 1, catalog.KindReleases, epsilon(730, 0)))
	}
}

// spender is such a child.
type spender struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startSpender(t *testing.T, path string) *spender {
	t.Helper()
	c := &spender{t: t, command: exec.Command(os.Args[0])}
	c.command.Env = append(os.Environ(), "CATALOG_TEST_ROLE=spend", "CATALOG_TEST_PATH="+path)
	in, err := c.command.StdinPipe()
	out, err2 := c.command.StdoutPipe()
	if err := errors.Join(err, err2, c.command.Start()); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	t.Cleanup(c.end)
	return c
}

func (c *spender) spend() string {
	c.t.Helper()
	fmt.Fprintln(c.in)
	said, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(said)
}

// end lets the child close its database.
func (c *spender) end() {
	c.in.Close()
	c.command.Wait() // a second time it does nothing
}

// TestTwoNamesAreNoTwoLedgers gives a database a second name, before a process opens it
// and while a process has it open. Two processes, each by one of the names, must not
// both spend most of the budget. Nothing is charged under either name.
func TestTwoNamesAreNoTwoLedgers(t *testing.T) {
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprint("open ", open), func(t *testing.T) {
			path := dbPath(t)
			s := openWith(t, path, catalog.Options{})
			declare(t, s, "raws")
			s.Close()
			other := filepath.Join(t.TempDir(), "other.db")
			var first *spender
			if open {
				first = startSpender(t, path)
				first.spend()
			}
			if err := os.Link(path, other); err != nil {
				t.Skip(err)
			}
			if !open {
				first = startSpender(t, path)
			}
			second := startSpender(t, other)
			for name, by := range map[string]*spender{path: first, other: second} {
				if said := by.spend(); !strings.HasPrefix(said, "readonly: "+name+" has 2 names") {
					t.Errorf("by the name %s: %s", name, said)
				}
			}
			second.end()
			if err := os.Remove(other); err != nil {
				t.Fatal(err)
			}
			if said, want := first.spend(), map[bool]string{true: "budget:", false: "<nil>"}[open]; !strings.HasPrefix(said, want) {
				t.Errorf("once it has one name again: %s, want %s", said, want)
			}
			first.end()
			if spent, err := spentOf(openWith(t, path, catalog.Options{}), 1); spent.Epsilon != 730 || err != nil {
				t.Errorf("%v is spent, %v", spent.Epsilon, err)
			}
		})
	}
}

// TestNameOfANewFile leaves the temporary name of a new file beside its final name. A
// process does so if it is killed before it removes the temporary name.
func TestNameOfANewFile(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	declare(t, s, "raws")
	left := filepath.Join(filepath.Dir(path), ".dpsql-new-123")
	if err := os.Link(path, left); err != nil {
		t.Skip(err)
	}
	if err := charge(s, 1, catalog.KindReleases, epsilon(1, 0)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("the name is still there: %v", err)
	}
}

// TestSymbolicLinks opens files by symbolic links: a link, one to a link, and one
// that is put in the file's place while it is open. All that stands beside a file
// stands beside the file itself.
func TestSymbolicLinks(t *testing.T) {
	path := dbPath(t)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	s := open(t, path)
	declare(t, s, "raws")
	if err := errors.Join(os.Symlink(path, first), os.Symlink("first", second)); err != nil {
		t.Skip(err)
	}
	for _, link := range []string{first, second} {
		s := open(t, link)
		if s.Path() != path {
			t.Errorf("%s is %s", link, s.Path())
		}
		lease, err := s.AcquireLease(context.Background())
		flight, err2 := s.AcquireFlight(context.Background(), [32]byte{}, 0, "it is tested")
		if err := errors.Join(err, err2, charge(s, 1, catalog.KindReleases, epsilon(1, 0))); err != nil {
			t.Fatal(err)
		}
		if beside, err := os.ReadDir(dir); len(beside) != 2 || err != nil {
			t.Errorf("beside the links stand %v, %v", beside, err)
		}
		lease.Release()
		flight.Land()
		s.Close()
	}
	elsewhere := filepath.Join(dir, "moved.db")
	if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, charge(s, 1, catalog.KindReleases, epsilon(1, 0)), sqlerr.IO)
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink("nowhere.db", dangling); err != nil {
		t.Fatal(err)
	}
	_, err := catalog.Open(context.Background(), dangling, catalog.Options{})
	wantCode(t, err, sqlerr.IO)
}
