package catalog_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestLeaseBetweenStores(t *testing.T) {
	path := dbPath(t)
	a := openWith(t, path, catalog.Options{BusyTimeout: -1})
	link := path + "-link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	write(t, a, func(tx *catalog.Tx) error { return tx.AddPublic("p") })
	b := openWith(t, link, catalog.Options{BusyTimeout: -1}) // another name of the file
	held, err := a.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*catalog.Store{a, b} {
		_, err := s.AcquireLease(context.Background())
		wantCode(t, err, sqlerr.Busy)
	}
	for range 2 {
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
	}
	second, err := b.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	_, err = a.AcquireLease(context.Background())
	wantCode(t, err, sqlerr.Busy)
	held.Release() // a stale handle must not free the other's lease
	_, err = a.AcquireLease(context.Background())
	wantCode(t, err, sqlerr.Busy)
}

func TestLeaseOfKilledProcess(t *testing.T) {
	path := dbPath(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), "CATALOG_TEST_ROLE=hold-lease", "CATALOG_TEST_PATH="+path)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held: <nil>\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	s := openWith(t, path, catalog.Options{BusyTimeout: 30 * time.Millisecond})
	_, err = s.AcquireLease(context.Background())
	wantCode(t, err, sqlerr.Busy)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	lease, err := s.AcquireLease(context.Background())
	if err != nil {
		t.Fatalf("after the holder's death: %v", err)
	}
	lease.Release()
}

func TestLeaseWaits(t *testing.T) {
	s := open(t, dbPath(t))
	held, err := s.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(30*time.Millisecond, func() { held.Release() })
	lease, err := s.AcquireLease(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = s.AcquireLease(short)
	wantCode(t, err, sqlerr.Cancelled)
	lease.Release()
}
