package catalog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/catalog"
)

// TestSpill sorts more than SQLite holds in memory, by a reader and by the writer. The rest is in a file in the
// database's folder, which has no name and is closed to others.
func TestSpill(t *testing.T) {
	t.Setenv("SQLITE_TMPDIR", "")
	for _, folder := range []string{"plain", "it's a 100% 'folder'?"} {
		dir := filepath.Join(t.TempDir(), folder)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s := open(t, filepath.Join(dir, "x.db"))
		spilled := func(tx *catalog.Tx) error {
			rows, err := tx.SQL().QueryContext(context.Background(),
				`WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 20000) SELECT hex(randomblob(100)) AS x FROM t ORDER BY x`)
			if err != nil {
				return err
			}
			defer rows.Close()
			if !rows.Next() {
				return rows.Err()
			}
			found := 0
			open, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Skip(err)
			}
			for _, f := range open {
				link := filepath.Join("/proc/self/fd", f.Name())
				to, _ := os.Readlink(link)
				path, unnamed := strings.CutSuffix(to, " (deleted)")
				if !unnamed || !strings.HasPrefix(filepath.Base(path), "#") && !strings.Contains(path, "etilqs") {
					continue
				}
				found++
				info, err := os.Stat(link)
				if err != nil {
					return err
				}
				if filepath.Dir(path) != dir || info.Mode().Perm() != 0o600 {
					t.Errorf("spilled into %s with mode %v", to, info.Mode())
				}
			}
			if found == 0 {
				return fmt.Errorf("nothing was spilled: the test shows nothing")
			}
			return nil
		}
		declare(t, s, "raws")
		if err := s.Read(context.Background(), spilled); err != nil {
			t.Error(err)
		}
		if err := s.Write(context.Background(), spilled); err != nil {
			t.Error(err)
		}
	}
}
