package catalog

import (
	"context"
	"os"
	"testing"
	"time"
)

func recent(t *testing.T, s *Store) Version {
	t.Helper()
	v, err := s.Recent(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// counting returns a Store that has counted a commit, and another on its file.
func counting(t *testing.T) (s, other *Store) {
	t.Helper()
	s = open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	if err := charge(s, account, KindReleases, epsilon(1, 0)); err != nil { // there are marks now
		t.Fatal(err)
	}
	addPublic(t, s, "first")
	return s, open(t, s.Path())
}

// TestRecentNoticesStores asks for recent versions after commits of the same
// Store and of another: each is noticed at once, and nothing else is.
func TestRecentNoticesStores(t *testing.T) {
	s, other := counting(t)
	for i, by := range []*Store{s, other, other, s} {
		before := recent(t, s)
		if recent(t, s) != before || !before.Known() {
			t.Error("the version changed, or is not known, though nothing happened")
		}
		asked := s.commits.asked
		if recent(t, s); s.commits.asked != asked && time.Since(asked) < maxUnnoticed {
			t.Error("SQLite was asked again though nothing happened")
		}
		addPublic(t, by, string(rune('a'+i)))
		if recent(t, s) == before {
			t.Errorf("commit %d is not noticed", i)
		}
	}
}

// TestRecentNoticesPrograms commits past all Stores, which is noticed too.
func TestRecentNoticesPrograms(t *testing.T) {
	s, _ := counting(t)
	before := recent(t, s)
	raw(t, s.Path(), `CREATE TABLE theirs (a)`)
	for recent(t, s) == before { // until the test's timeout
		time.Sleep(time.Millisecond)
	}
}

// TestRecentWithoutCount does what can happen to the file beside a database that
// is in use: versions are right all the same.
func TestRecentWithoutCount(t *testing.T) {
	for _, c := range []struct {
		what   string
		happen func(path string) error
	}{
		{"deleted", os.Remove},
		{"cut off", func(path string) error { return os.Truncate(path, 0) }},
		{"replaced", func(path string) error {
			if err := os.Rename(path, path+"-old"); err != nil {
				return err
			}
			return os.WriteFile(path, make([]byte, countEnd), 0o600)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			s, other := counting(t)
			before := recent(t, s)
			if err := c.happen(s.markPath()); err != nil {
				t.Fatal(err)
			}
			recent(t, s)
			addPublic(t, other, "theirs")
			addPublic(t, s, "own")
			for recent(t, s) == before {
				time.Sleep(time.Millisecond)
			}
			addPublic(t, other, "theirs too")
			for n := recent(t, s); version(t, s) != n; n = recent(t, s) {
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// TestRecentOfClosedStore shares nothing any more.
func TestRecentOfClosedStore(t *testing.T) {
	s, _ := counting(t)
	recent(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recent(context.Background()); err == nil || s.commits.shared.number != nil {
		t.Errorf("got %v, and the count is shared: %v", err, s.commits.shared.number != nil)
	}
}

// BenchmarkRecent shows what not asking SQLite saves.
func BenchmarkRecent(b *testing.B) {
	s, err := Open(context.Background(), b.TempDir()+"/test.db", Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(s.markPath(), make([]byte, countEnd), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := s.Write(context.Background(), func(tx *Tx) error { return tx.AddPublic("p") }); err != nil {
		b.Fatal(err)
	}
	for name, ask := range map[string]func(context.Context) (Version, error){"version": s.Version, "recent": s.Recent} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := ask(context.Background()); err != nil || !v.Known() {
					b.Fatal(v, err)
				}
			}
		})
	}
}
