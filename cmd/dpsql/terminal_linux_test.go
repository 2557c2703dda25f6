package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dpsql/cmd/dpsql/internal/terminal"
)

// screen is a pseudo-terminal with dpsql at its other end.
type screen struct {
	t      *testing.T
	master *os.File
	slave  string // where dpsql reads what is typed
	cmd    *exec.Cmd
	mu     sync.Mutex
	seen   bytes.Buffer
	quiet  bool // nothing has appeared since something was typed
}

// openTerminal starts dpsql without colours on a terminal of 100 characters a line.
func openTerminal(t *testing.T, dir string, args ...string) *screen {
	t.Helper()
	return openTerminalWith(t, dir, []string{"NO_COLOR=1"}, args...)
}

// openTerminalWith is openTerminal with other variables in the environment.
func openTerminalWith(t *testing.T, dir string, env []string, args ...string) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})
	}
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("/dev/pts/%d", number)
	slave, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	cmd := exec.Command("dpsql", args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, slave, slave, slave
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "HOME="+dir, "TERM=xterm")
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tm := &screen{t: t, master: master, slave: name, cmd: cmd}
	go tm.watch()
	return tm
}

// watch collects what appears.
func (tm *screen) watch() {
	buffer := make([]byte, 4096)
	for {
		n, err := tm.master.Read(buffer)
		tm.mu.Lock()
		tm.seen.Write(buffer[:n])
		tm.quiet = tm.quiet && n == 0
		tm.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (tm *screen) text() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.seen.String()
}

// historyIn returns what was kept of the statements of people.db.
func historyIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "config", "dpsql", "history", "people.db-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("history files %q, %v", files, err)
	}
	history, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(history)
}

// expect waits until the text has appeared, and forgets everything up to it.
func (tm *screen) expect(want string) {
	tm.t.Helper()
	for range 6000 {
		tm.mu.Lock()
		if i := strings.Index(tm.seen.String(), want); i >= 0 {
			tm.seen.Next(i + len(want))
			tm.mu.Unlock()
			return
		}
		tm.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	tm.t.Fatalf("no %q on the terminal:\n%s", want, tm.text())
}

// settle waits until what was typed is read, something has appeared behind it, and then nothing more. It forgets all of
// it, because the editor redraws a line for every key.
func (tm *screen) settle() {
	tm.t.Helper()
	last, still := -1, 0
	for range 600 {
		read := tm.isRead()
		tm.mu.Lock()
		n := tm.seen.Len()
		if still++; !read || n != last || tm.quiet {
			still = 0
		}
		settled := still == 3
		if last = n; settled {
			tm.seen.Reset()
		}
		tm.mu.Unlock()
		if settled {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	tm.t.Fatal("nothing appears, or there is no end of it")
}

// isRead reports whether dpsql has read all that was typed.
func (tm *screen) isRead() bool {
	fd, err := unix.Open(tm.slave, unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return true // it is gone
	}
	defer unix.Close(fd)
	left, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	return err != nil || left == 0
}

func (tm *screen) typeIn(text string) {
	tm.t.Helper()
	tm.mu.Lock()
	tm.quiet = true
	tm.mu.Unlock()
	if _, err := io.WriteString(tm.master, text); err != nil {
		tm.t.Fatal(err)
	}
}

// leaves waits for the end of the program.
func (tm *screen) leaves(status int) {
	tm.t.Helper()
	done := make(chan struct{})
	go func() { tm.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		tm.cmd.Process.Kill()
		tm.t.Fatalf("dpsql goes on:\n%s", tm.text())
	}
	if got := tm.cmd.ProcessState.ExitCode(); got != status {
		tm.t.Errorf("status %d, want %d", got, status)
	}
}

// fixture returns a folder with the database that the scripts ask.
func fixture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/fixture")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dpsql", "-f", "people.sql", "people.db")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func TestShellOnTerminal(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	tm := openTerminal(t, dir, "people.db")
	tm.expect("people.db · .help for help")
	tm.settle()
	tm.typeIn("SELECT COUNT(*) FROM people\r")
	tm.settle()
	tm.typeIn("WHERE sex = 'F';\r")
	tm.expect("│ 3 ± 0 │")
	tm.expect("± at 95 % · release by_sex (projection, m = 1) · cost 0 · ")
	tm.settle()
	tm.typeIn("\x04")
	tm.leaves(exitOK)

	if want, history := `"SELECT COUNT(*) FROM people\nWHERE sex = 'F';"`+"\n", historyIn(t, dir); !strings.HasPrefix(history, want) {
		t.Errorf("history %q", history)
	}
}

// Ctrl-C drops the line, an error does not end the shell, the arrow recalls a statement
// of two lines whole, and Tab completes a name and a value.
func TestKeysOnTerminal(t *testing.T) {
	t.Parallel()
	tm := openTerminal(t, fixture(t), "people.db")
	tm.expect("people.db · .help for help")
	tm.settle()
	for _, line := range []string{"SELECT COUNT(*) FROM people\r", "WHERE sex = 'F';\r", "SELECT nonsense"} {
		tm.typeIn(line)
		tm.settle()
	}
	tm.typeIn("\x03")
	tm.settle()
	tm.typeIn("SELECT COUNT(*) FROM people WHERE sexx = 'F';\r")
	tm.expect("error unknown: ")
	tm.expect("^\r\nhint: did you mean sex?")
	tm.settle()
	for _, key := range []string{"\x1b[A", "\x1b[A"} {
		tm.typeIn(key)
		tm.settle()
	}
	tm.typeIn("\r")
	tm.expect("│ 3 ± 0 │")
	tm.settle()
	for _, keys := range []string{"SELECT COUNT(*) FROM peo", "\t", " WHERE sex = 'F", "\t", ";"} {
		tm.typeIn(keys)
		tm.settle()
	}
	tm.typeIn("\r")
	tm.expect("│ 3 ± 0 │")
	tm.settle()
	tm.typeIn("\x04")
	tm.leaves(exitOK)
}

// Letters of every alphabet reach a statement, typed, pasted and in the middle of a
// line, and Alt with a letter still moves the cursor.
func TestLettersOnTerminal(t *testing.T) {
	t.Parallel()
	tm := openTerminal(t, t.TempDir(), "letters.db")
	tm.expect("letters.db (does not exist yet)")
	tm.settle()
	for _, keys := range []string{
		"SELECT 'äößé' = 'ÿe\u0301ñ日本' FROM nobody;",
		"\x1b[200~SELECT 'äößé' = 'ÿe\u0301ñ日本' FROM nobody;\x1b[201~",
		"SELECT '' = 'ÿe\u0301ñ日本' FROM nobody;\x01\x1bf\x1b[C\x1b[Cäößé",
		"SELECT 'äößé' = 'ÿñ日本' FROM nobody;" + strings.Repeat("\x02", 17) + "e\u0301",
	} {
		tm.typeIn(keys)
		tm.settle()
		tm.typeIn("\r")
		tm.expect("SELECT 'äößé' = 'ÿe\u0301ñ日本' FROM nobody;\r\n")
		tm.settle()
	}
	tm.typeIn("\x04")
	tm.leaves(exitOK)
}

// Keywords are coloured as they are typed, and errors stand out.
func TestColorsOnTerminal(t *testing.T) {
	t.Parallel()
	tm := openTerminalWith(t, fixture(t), nil, "people.db")
	tm.settle()
	tm.typeIn("SELECT x FROM people;\r")
	tm.expect("\x1b[34mFROM\x1b[0m people")
	tm.expect("\x1b[31merror ")
	tm.expect("\x1b[33mhint:\x1b[0m")
	tm.settle()
	tm.typeIn("\x04")
	tm.leaves(exitOK)
}

// A shell that gets SIGTERM restores the terminal.
func TestShellRestoresTerminal(t *testing.T) {
	t.Parallel()
	tm := openTerminal(t, fixture(t), "people.db")
	before, err := unix.IoctlGetTermios(int(tm.master.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	tm.expect(terminal.Prompt)
	tm.cmd.Process.Signal(syscall.SIGTERM)
	tm.leaves(exitOK)
	after, err := unix.IoctlGetTermios(int(tm.master.Fd()), unix.TCGETS)
	if err != nil || after.Lflag&unix.ECHO == 0 || after.Lflag&unix.ICANON == 0 || after.Lflag&unix.ISIG == 0 {
		t.Errorf("%v; before %+v, after %+v", err, before, after)
	}
}

// On a terminal a statement's result is a table as wide as the terminal, and
// a declaration is confirmed.
func TestStatementOnTerminal(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	tm := openTerminal(t, dir, "people.db", "DROP RELEASE by_sex; EXPLAIN SELECT COUNT(*) FROM people")
	tm.expect("DROP RELEASE")
	tm.expect("┌")
	tm.expect("┘")
	tm.leaves(exitOK)
}

// Ctrl-C, and what ends jobs, ends a script that waits for its next statement. The exit status says which.
func TestInterruptedScript(t *testing.T) {
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sent.String(), func(t *testing.T) { t.Parallel(); interruptedScript(t, sent) })
	}
}

func interruptedScript(t *testing.T, sent syscall.Signal) {
	cmd := exec.Command("dpsql", "-json", "people.db")
	cmd.Dir = fixture(t)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "SELECT COUNT(*) FROM people WHERE sex = 'F';")
	if _, err := out.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(sent)
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != exitSignal+int(sent) || !strings.HasPrefix(errs.String(), `{"error":{"code":"cancelled",`) {
		t.Errorf("%v: %s", cmd.ProcessState, errs.String())
	}
}

// A curator's long results are shown by a pager, and a key opens an editor. Both can start a shell, so an
// analyst, who is not to have the file, has neither.
func TestAnalystStartsNoProgram(t *testing.T) {
	t.Parallel()
	for role, started := range map[string]int{"curator": 3, "analyst": 0} {
		t.Run(role, func(t *testing.T) { t.Parallel(); startsPrograms(t, role, started) })
	}
}

func startsPrograms(t *testing.T, role string, want int) {
	dir := fixture(t)
	program := filepath.Join(dir, "emacs") // which the line editor starts
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho started $0 $1 >>"+program+".log\ncat $1 >/dev/null\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tm := openTerminalWith(t, dir, []string{"NO_COLOR=1", "PAGER=" + program, "EDITOR=" + program, "VISUAL=" + program, "PATH=" + dir + ":" + os.Getenv("PATH")}, "-role", role, "people.db")
	tm.expect(terminal.Prompt)
	tm.settle()
	const many = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 60) SELECT n FROM t;"
	for _, keys := range []string{many + "\r", ".pager on\r", many + "\r", "SELECT 1", "\x18\x05", "\x03"} {
		tm.typeIn(keys)
		tm.settle()
	}
	tm.typeIn("\x04")
	tm.leaves(exitOK)
	log, _ := os.ReadFile(program + ".log")
	if got := strings.Count(string(log), "started"); got != want {
		t.Errorf("the %s started %d programs, want %d:\n%s%s", role, got, want, log, tm.text())
	}
}

// Nothing in a result commands a terminal, in any format.
func TestResultsCommandNoTerminal(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	for _, format := range []string{"table", "csv", "json", "markdown"} {
		tm := openTerminal(t, dir, "-format", format, "people.db", "SELECT char(97, 27, 155, 8238, 127, 98) AS x")
		tm.leaves(exitOK)
		text := tm.text()
		for range 100 { // the last of it may still come
			if text = tm.text(); !strings.Contains(text, "b") {
				time.Sleep(20 * time.Millisecond)
			}
		}
		if !strings.Contains(text, "b") || strings.ContainsAny(text, "\x1b\x7f\u009b\u202e") {
			t.Errorf("%s: %q", format, text)
		}
	}
}
