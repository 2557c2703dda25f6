package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// tools are the programs of one installation, and the user who runs them.
type tools struct {
	bin   string
	owner owner
}

// findTools looks for PostgreSQL 15 where Debian and Ubuntu keep it, then in
// pg_config's folder, in PATH, and for any other version of Debian's, newest first.
func findTools() (tools, error) {
	folders := []string{"/usr/lib/postgresql/15/bin"}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	if found, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(found))
	}
	others, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	sort.Sort(sort.Reverse(sort.StringSlice(others)))
	for _, folder := range append(folders, others...) {
		if complete(folder) {
			owner, err := serverOwner()
			return tools{bin: folder, owner: owner}, err
		}
	}
	return tools{}, fmt.Errorf("%w: initdb, postgres, pg_isready and psql are not in %s", ErrMissing, strings.Join(folders, ", "))
}

func complete(folder string) bool {
	for _, name := range []string{"initdb", "postgres", "pg_isready", "psql"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

func (t tools) path(name string) string { return filepath.Join(t.bin, name) }

// command returns a command that runs a program of the installation as its owner.
func (t tools) command(name string, args ...string) *exec.Cmd {
	run := exec.Command(t.path(name), args...)
	t.owner.apply(run)
	return run
}
