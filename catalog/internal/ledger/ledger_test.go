package ledger_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"dpsql/catalog/internal/ledger"
	"dpsql/internal/period"
)

// three returns a chain of three lines, and the lines.
func three(t *testing.T) (c ledger.Chain, lines []ledger.Line) {
	t.Helper()
	for _, rho := range []int64{5, 7, -2} {
		l, next, ok := c.Next(ledger.Line{Over: period.All, At: "2026-01-01T00:00:00Z", Account: 1, Kind: "interactive", Action: "run", Object: "m", Rho: rho})
		if !ok {
			t.Fatal("a line does not follow")
		}
		c, lines = next, append(lines, l)
	}
	return c, lines
}

// TestChain verifies lines as they were written, and with each value changed.
func TestChain(t *testing.T) {
	c, lines := three(t)
	if c.Len() != 3 || c.Spent(1).Most(period.Whole()).Rho != 10 || c.Spent(2).Most(period.Whole()).Rho != 0 || !c.EndsWith(lines[2].Hash) || c.EndsWith(nil) {
		t.Fatalf("the chain is %+v", c)
	}
	v := ledger.Chain{}.Extend()
	for _, l := range lines {
		if !v.Add(l) {
			t.Fatalf("line %d does not verify", l.Seq)
		}
	}
	if v.Chain().End() != c.End() || v.Chain().Spent(1).Most(period.Whole()) != c.Spent(1).Most(period.Whole()) {
		t.Errorf("verified %+v, written %+v", v.Chain(), c)
	}
	for i, change := range []func(*ledger.Line){
		func(l *ledger.Line) { l.Seq++ }, func(l *ledger.Line) { l.At = "2026-01-01T00:00:01Z" }, func(l *ledger.Line) { l.Account = 2 },
		func(l *ledger.Line) { l.Kind = "releases" }, func(l *ledger.Line) { l.Action = "runm"; l.Object = "" }, func(l *ledger.Line) { l.Object = "n" },
		func(l *ledger.Line) { l.Epsilon = 1 }, func(l *ledger.Line) { l.Delta = 1 }, func(l *ledger.Line) { l.Rho-- },
		func(l *ledger.Line) { l.Hash = lines[0].Hash }, func(l *ledger.Line) { l.Hash = nil }, func(l *ledger.Line) { *l = lines[2] },
	} {
		v, l := ledger.Chain{}.Extend(), lines[1]
		change(&l)
		if !v.Add(lines[0]) || v.Add(l) {
			t.Errorf("change %d is not noticed", i)
		}
	}
}

// TestSums checks that lines are refused if a sum would overflow or be negative, and that
// the chain stays as it was.
func TestSums(t *testing.T) {
	c, _ := three(t)
	for _, l := range []ledger.Line{{Over: period.All, Account: 1, Rho: -11}, {Over: period.All, Account: 1, Rho: math.MaxInt64}, {Over: period.All, Account: 2, Epsilon: -1}, {Over: period.All, Account: 2, Delta: math.MinInt64}} {
		if _, _, ok := c.Next(l); ok {
			t.Errorf("%+v was added", l)
		}
	}
	if c.Len() != 3 || c.Spent(1).Most(period.Whole()).Rho != 10 {
		t.Errorf("the chain changed to %+v", c)
	}
}

// TestRoll takes records in and out of a set in different orders.
func TestRoll(t *testing.T) {
	a := ledger.Roll{}.With("1").With("2").Without("1").With("3")
	keys := []string{"3", "2"}
	if b := ledger.RollOf(keys, func(k *string) string { return *k }); a != b {
		t.Errorf("the rolls of one set are %v and %v", a, b)
	}
	if a == (ledger.Roll{}.With("2").With("4")) {
		t.Error("two sets have one roll")
	}
}

// TestEncodingIsUnambiguous encodes values that differ in where lists and texts
// end.
func TestEncodingIsUnambiguous(t *testing.T) {
	seen := map[[32]byte]int{}
	a := func() ledger.Encoding { return ledger.Encode("a") }
	for i, e := range []ledger.Encoding{
		a(), ledger.Encode("b"), a().Texts(""), a().Texts("x", "y"), a().Texts("xy"),
		a().Texts("xy", ""), a().Numbers(1, 2), a().Numbers(2, 1), ledger.Encode("ab"),
	} {
		if other, found := seen[e.Digest()]; found {
			t.Errorf("%d and %d have one digest", other, i)
		}
		seen[e.Digest()] = i
	}
}

// TestMarkFile writes marks and damages one. It writes again after the file was replaced
// by a directory, and after it was restored.
func TestMarkFile(t *testing.T) {
	dir := t.TempDir()
	path, database := filepath.Join(dir, "mark"), filepath.Join(dir, "db")
	if err := os.WriteFile(database, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	name := ledger.Roll{Sum: [32]byte{7}}
	var f ledger.MarkFile
	defer f.Close()
	var c ledger.Chain
	for i := range 100 {
		_, next, ok := c.Next(ledger.Line{Over: period.All, Account: 1, Rho: 1})
		if c = next; !ok {
			t.Fatal("a line does not follow")
		}
		if created, err := f.Write(ledger.MarkOf(name, c), path, database, false); err != nil || created != (i == 0) {
			t.Fatalf("mark %d: created %v, %v", i, created, err)
		}
		all, err := ledger.ReadMarks(path)
		if m, _ := ledger.Last(all, [16]byte{7}); err != nil || m.Seq != int64(i) || len(all) != min(i, 64) {
			t.Fatalf("prepared for line %d: %d marks, the last of line %d, %v", i+1, len(all), m.Seq, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 64*64 {
			t.Fatalf("the file has not its full size: %v, %v", info.Size(), err)
		}
		if _, err := f.Write(ledger.MarkOf(name, c), path, database, true); err != nil {
			t.Fatalf("mark %d: %v", i, err)
		}
	}
	last := func() int64 {
		t.Helper()
		all, err := ledger.ReadMarks(path)
		if err != nil {
			t.Fatal(err)
		}
		if m, found := ledger.Last(all, [16]byte{8}); found {
			t.Errorf("another catalog has the mark %v", m)
		}
		m, _ := ledger.Last(all, [16]byte{7})
		return m.Seq
	}
	if last() != 100 {
		t.Errorf("the last mark is of line %d", last())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[100%64*64+30] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if last() != 99 {
		t.Errorf("with that damaged, the last mark is of line %d", last())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if last() != 0 {
		t.Error("a missing file has marks")
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, committed := range []bool{false, true} {
		if _, err := f.Write(ledger.MarkOf(name, c), path, database, committed); err == nil {
			t.Error("a directory has a mark")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if created, err := f.Write(ledger.MarkOf(name, c), path, database, true); err != nil || !created || last() != 100 {
		t.Errorf("created %v, %v, and the last mark is of line %d", created, err, last())
	}
}

// TestMarkFileOfItsDatabase: whoever may charge to the database may write its marks, and a mark that
// could not be synced is none.
func TestMarkFileOfItsDatabase(t *testing.T) {
	dir := t.TempDir()
	path, database := filepath.Join(dir, "mark"), filepath.Join(dir, "db")
	if err := os.WriteFile(database, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	var f ledger.MarkFile
	defer f.Close()
	for _, mode := range []os.FileMode{0o640, 0o600} {
		if err := os.Chmod(database, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(ledger.Mark{}, path, database, true); err != nil {
			t.Fatal(err)
		}
		twin := filepath.Join(dir, "twin") // what the process's umask leaves
		if err := os.WriteFile(twin, nil, mode); err != nil {
			t.Fatal(err)
		}
		got, err := os.Stat(path)
		want, err2 := os.Stat(twin)
		if err != nil || err2 != nil || got.Mode() != want.Mode() {
			t.Errorf("a mark has mode %v beside a database of %v", got.Mode(), want.Mode())
		}
		if err := errors.Join(os.Remove(path), os.Remove(twin)); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("no file that is written and not synced is known here")
	}
	if err := os.Symlink("/dev/null", path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(ledger.Mark{}, path, database, true); err == nil {
		t.Error("a mark was not synced, and there is no error")
	}
}
