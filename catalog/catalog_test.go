package catalog_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/internal/scratch"
	"dpsql/query"
	"dpsql/sqlerr"
)

// TestMain lets the test binary run again as a child process that plays a role.
func TestMain(m *testing.M) {
	switch role := os.Getenv("CATALOG_TEST_ROLE"); role {
	case "":
		scratch.InMemory()
		scratch.CollectSeldom()
		os.Exit(m.Run())
	case "hold-lease":
		holdLease(os.Getenv("CATALOG_TEST_PATH"))
	case "read-only":
		readOnlyChild(os.Getenv("CATALOG_TEST_PATH"))
	case "spend":
		spendChild(os.Getenv("CATALOG_TEST_PATH"))
	case "mounted":
		mountedChild(os.Getenv("CATALOG_TEST_PATH"))
	default:
		fmt.Println("unknown role", role)
		os.Exit(2)
	}
}

func holdLease(path string) {
	s, err := catalog.Open(context.Background(), path, catalog.Options{})
	if err == nil {
		_, err = s.AcquireLease(context.Background())
	}
	fmt.Println("held:", err)
	bufio.NewReader(os.Stdin).ReadString('\n') // until killed
}

// template is a database that is made once and then copied.
type template struct {
	once  sync.Once
	files map[string][]byte
}

// copy returns the path of a copy of what make makes. Make closes its Stores.
func (m *template) copy(t *testing.T, make func(path string)) string {
	t.Helper()
	path := dbPath(t)
	m.copyTo(t, path, make)
	return path
}

func (m *template) copyTo(t *testing.T, path string, make func(path string)) {
	t.Helper()
	m.once.Do(func() {
		first := dbPath(t)
		make(first)
		m.files = snapshotFiles(t, first)
	})
	placeFilesAt(t, path, m.files)
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "test.db") }

func open(t testing.TB, path string) *catalog.Store { return openWith(t, path, catalog.Options{}) }

func openWith(t testing.TB, path string, o catalog.Options) *catalog.Store {
	t.Helper()
	s, err := catalog.Open(context.Background(), path, o)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func write(t testing.TB, s *catalog.Store, fn func(*catalog.Tx) error) {
	t.Helper()
	if err := s.Write(context.Background(), fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func read(t testing.TB, s *catalog.Store, fn func(*catalog.Tx) error) {
	t.Helper()
	if err := s.Read(context.Background(), fn); err != nil {
		t.Fatalf("read: %v", err)
	}
}

// raw runs statements through a connection that is not the catalog's.
func raw(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", catalog.DSN(path, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func wantCode(t testing.TB, err error, code sqlerr.Code) {
	t.Helper()
	if _, ours := err.(*sqlerr.Error); !ours || sqlerr.CodeOf(err) != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
}

func domain(d query.Domain, err error) query.Domain {
	if err != nil {
		panic(err)
	}
	return d
}

func clinicColumns() []query.Column {
	return []query.Column{
		{Name: "sex", Domain: domain(query.NewList(query.TypeText, []query.Value{query.Text("F"), query.Text("M"), query.Null()}))},
		{Name: "age", Domain: domain(query.NewRange(0, 120, true))},
		{Name: "zip", Domain: query.Unbounded()},
	}
}

func someCaps() accounting.Caps {
	return accounting.Caps{ReleaseEpsilon: 1000, ReleaseDelta: 500, InteractiveRho: 300, InteractiveDelta: 7, InteractiveEpsilon: 11}
}

// declare opens an account over base and declares a table of the same name
// without its last letter.
func declare(t testing.TB, s *catalog.Store, base string) (account, table int64) {
	t.Helper()
	write(t, s, func(tx *catalog.Tx) error {
		a := &catalog.Account{Epsilon: "2", Delta: "1e-6", Interactive: "0.5", Caps: someCaps(), Bases: []string{base}}
		if err := tx.CreateAccount(a); err != nil {
			return err
		}
		tab := &catalog.Table{Name: base[:len(base)-1], Source: base, Columns: clinicColumns(), Account: a.ID, MaxRows: 1}
		if err := tx.AddTable(tab); err != nil {
			return err
		}
		account, table = a.ID, tab.ID
		return nil
	})
	return account, table
}
