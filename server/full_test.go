package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestDiskFull serves a file that may not grow any more after a while, as on a full disk: writes
// beyond a limit fail. Statements that have to write are then refused with an error of the disk, and
// what is stored goes on being answered on the same connection. Every answer that was received
// is stored with its charge, and the sums are exact. The limit is the shell's ulimit -f, with its
// signal ignored.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no limit of the size of files")
	}
	path := file(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := info.Size()/512 + 400 // of 512 or 1024 bytes, as the shell has it
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`trap '' XFSZ; ulimit -f %d; exec "$0"`, blocks), os.Args[0])
	cmd.Env = append(os.Environ(), serveFile+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		in.Close()
		cmd.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, "postgres://ana:s3cretive@"+strings.TrimSpace(address)+"/clinic")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(ctx, "SET mechanism = direct; SET accuracy = 5000", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	ask := func(condition string) (n int64, err error) {
		err = c.QueryRow(ctx, "SELECT COUNT(*) FROM visits WHERE "+condition, pgx.QueryExecModeSimpleProtocol).Scan(&n)
		return n, err
	}
	received := make(map[string]string)
	var first string
	var full *pgconn.PgError
	for i := 0; i < 4000 && full == nil; i++ {
		condition := fmt.Sprintf("age BETWEEN %d AND %d", i%60, 60+i/60)
		n, err := ask(condition)
		switch {
		case err == nil:
			received[condition] = fmt.Sprint(n)
			if first == "" {
				first = condition
			}
		case !errors.As(err, &full):
			t.Fatal(err)
		}
	}
	switch {
	case full == nil:
		t.Fatal("the file grew beyond the limit: the test shows nothing")
	case full.Code != "58030" && full.Code != "53100":
		t.Fatalf("refused with %s: %s", full.Code, full.Message)
	case len(received) == 0:
		t.Fatal("nothing was answered before: the test shows nothing")
	}
	if n, err := ask(first); err != nil || fmt.Sprint(n) != received[first] {
		t.Errorf("after %s (%s) a stored answer is %d, %v; want %s", full.Code, full.Message, n, err, received[first])
	}
	if _, err := ask("age = 1 AND sex = 'F'"); err == nil {
		t.Error("a new answer is sold, which could not be stored")
	}
	c.Close(context.Background())
	in.Close()
	cmd.Wait()
	t.Logf("%d answers, then %s: %s", len(received), full.Code, full.Message)
	checkReceived(t, path, "5000", received)
}
