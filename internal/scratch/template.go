package scratch

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A Template is a folder of files that a process makes once and then copies: a database that many
// tests begin with.
type Template struct {
	once  sync.Once
	files map[string][]byte
}

// Copy returns a new folder with what fill leaves in one. Fill closes the files.
func (m *Template) Copy(t testing.TB, fill func(dir string)) string {
	t.Helper()
	m.once.Do(func() {
		dir := t.TempDir()
		fill(dir)
		m.files = make(map[string][]byte)
		paths, err := filepath.Glob(filepath.Join(dir, "*"))
		for _, path := range paths {
			if err == nil {
				m.files[filepath.Base(path)], err = os.ReadFile(path)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	dir := t.TempDir()
	for name, data := range m.files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
