package dpsql_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFuzzCorpora: fuzzing goes on from a committed corpus, whatever the target.
func TestFuzzCorpora(t *testing.T) {
	target := regexp.MustCompile(`(?m)^func (Fuzz\w*)`)
	found := 0
	for _, f := range moduleFiles(t) {
		if !f.test() {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			found++
			corpus, _ := os.ReadDir(filepath.Join(f.pkg(), "testdata/fuzz", m[1]))
			if len(corpus) < 10 {
				t.Errorf("%s: %d inputs of %s are committed", f.pkg(), len(corpus), m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no targets were found")
	}
}

// TestFuzzScript runs .ci/fuzz with a stand-in for the go command that ends as it
// may: only the end at the time limit, without an input that fails, is no finding.
func TestFuzzScript(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not there")
	}
	const (
		limit   = "--- FAIL: FuzzX (20.10s)\n    context deadline exceeded\n"
		written = "    Failing input written to testdata/fuzz/FuzzX/new\n    To re-run:\n    go test -run=FuzzX/new\n"
		end     = "FAIL\nexit status 1\nFAIL\tdpsql/p\t20.2s\n"
	)
	for _, c := range []struct {
		name, says    string
		code          int
		writes, fails bool // an input, and what .ci/fuzz then tries
		finding       bool
	}{
		{name: "nothing found", says: "PASS\nok  \tdpsql/p\t20.2s\n"},
		{name: "cut off", says: limit + end, code: 1},
		{name: "cut off while minimizing", says: limit + written + end, code: 1, writes: true},
		{name: "cut off with an input that fails", says: limit + written + end, code: 1, writes: true, fails: true, finding: true},
		{name: "cut off while minimizing a failure", says: "fuzz: minimizing 40-byte failing input file\n" + limit + end, code: 1, writes: true, finding: true},
		{name: "found", says: "--- FAIL: FuzzX (1.10s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: wrong\n    \n" + written + end, code: 1, writes: true, finding: true},
		{name: "found what speaks of a deadline", says: "--- FAIL: FuzzX (1.10s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: context deadline exceeded\n    \n" + written + end,
			code: 1, writes: true, finding: true},
		{name: "seed fails", says: "failure while testing seed corpus entry: FuzzX/old\n--- FAIL: FuzzX (0.10s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: wrong\n    \n" + end, code: 1, finding: true},
		{name: "cut off and failed", says: limit + "    fuzzing process hung or terminated unexpectedly: exit status 2\n" + end, code: 1, finding: true},
		{name: "hung", says: "--- FAIL: FuzzX (20.10s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n" + written + end, code: 1, writes: true, finding: true},
		{name: "not built", says: "FAIL\tdpsql/p [build failed]\n", code: 1, finding: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			corpus := filepath.Join(dir, "p/testdata/fuzz/FuzzX")
			stub := "#!/bin/sh\ncase \"$*\" in\n*-fuzztime*)\n"
			if c.writes {
				stub += "echo input >p/testdata/fuzz/FuzzX/new\n"
			}
			stub += "cat says\nexit " + map[bool]string{true: "1", false: "0"}[c.code != 0] + ";;\nesac\n"
			if c.fails {
				stub += "exit 1\n"
			}
			for name, text := range map[string]string{"go": stub, "says": c.says, "p/testdata/fuzz/FuzzX/old": "input"} {
				write(t, filepath.Join(dir, name), text)
			}
			script, err := filepath.Abs(".ci/fuzz")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("bash", script, "./p", "FuzzX", "20s")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.finding || !strings.Contains(string(out), c.says) {
				t.Errorf("%v, want a finding: %v; it said\n%s", err, c.finding, out)
			}
			left, err := os.ReadDir(corpus)
			if err != nil {
				t.Fatal(err)
			}
			if want := 1 + map[bool]int{true: 1}[c.writes && c.finding]; len(left) != want {
				t.Errorf("%d inputs are left, want %d", len(left), want)
			}
		})
	}
}

// TestRepeatScript runs .ci/repeat with a stand-in for the go command that fails
// in its second run of three.
func TestRepeatScript(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not there")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go"), `#!/bin/sh
echo "$*" >>"$0.asked"
[ "$(wc -l <"$0.asked")" -eq 2 ] || exit 0
printf -- '--- FAIL: TestA (0.10s)\n    --- FAIL: TestA/part (0.10s)\n        a_test.go:1: wrong\nFAIL\nFAIL\tdpsql/p\t0.2s\n'
exit 1
`)
	for times, want := range map[string]string{"3": "1 of 3 runs failed:\n      1 TestA/part\n      1 TestA\n", "1": "run 1 of 1 passed\n"} {
		os.Remove(filepath.Join(dir, "go.asked"))
		cmd := exec.Command("bash", ".ci/repeat", times, "./p", "-run", "A")
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		asked, _ := os.ReadFile(filepath.Join(dir, "go.asked"))
		if !strings.HasSuffix(string(out), want) || (err != nil) != (times == "3") || !strings.HasPrefix(string(asked), "test -count=1 ./p -run A\n") {
			t.Errorf("%s times: %v, asked for %q; it said\n%s", times, err, asked, out)
		}
	}
}

// TestSkippedScript gives .ci/skipped what go test -v prints of tests that pass, fail, wait and
// are skipped, and of a package that panics.
func TestSkippedScript(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not there")
	}
	const printed = `=== RUN   TestA
    a_test.go:1: first
=== PAUSE TestA
=== RUN   TestB
    b_test.go:1: psql is missing
--- SKIP: TestB (0.00s)
=== CONT  TestA
    a_test.go:2: wrong
--- FAIL: TestA (0.10s)
=== RUN   TestC
    c_test.go:1: seed 1
--- PASS: TestC (0.00s)
FAIL
FAIL	dpsql/p	0.2s
=== RUN   TestD
    d_test.go:1: begun
panic: fault

goroutine 1 [running]:
FAIL	dpsql/q	0.1s
PASS
ok  	dpsql/r	0.1s
?   	dpsql/s	[no test files]
`
	const want = `--- FAIL: TestA (0.10s)
    a_test.go:1: first
    a_test.go:2: wrong
FAIL
FAIL	dpsql/p	0.2s
    d_test.go:1: begun
panic: fault

goroutine 1 [running]:
FAIL	dpsql/q	0.1s
ok  	dpsql/r	0.1s
?   	dpsql/s	[no test files]
`
	skipped := filepath.Join(t.TempDir(), "skipped")
	cmd := exec.Command("bash", ".ci/skipped", skipped)
	cmd.Stdin = strings.NewReader(printed)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(skipped); err != nil || string(text) != "TestB:     b_test.go:1: psql is missing\n\n" {
		t.Errorf("%v %q", err, text)
	}
}

// TestPeople holds the labelled Adult table to the program that writes it, row
// by row: compressors differ, what they compress does not.
func TestPeople(t *testing.T) {
	want, err := exec.Command("go", "run", "testdata/adult/label.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/adult/people.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/adult/people.csv.gz is not what testdata/adult/label.go writes: its comment has the command")
	}
}

// TestDependenciesAreListed: README says of each module that go.mod requires
// directly, or those of web/build and web/journeys, and of each package of web/package.json what it does for us, and lists no other.
func TestDependenciesAreListed(t *testing.T) {
	texts := make(map[string][]byte)
	for _, name := range []string{"go.mod", "web/build/go.mod", "web/journeys/go.mod", "web/package.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var required, listed []string
	for _, text := range texts {
		for _, m := range regexp.MustCompile(`(?m)^(?:require |\t)(\S+/\S+?) v\S+$|^    "(\S+)": "\d`).FindAllStringSubmatch(string(text), -1) {
			required = append(required, m[1]+m[2])
		}
	}
	_, table, _ := strings.Cut(string(readme), "\n## Dependencies\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+[./]\S.*?) \| .* \|$`).FindAllStringSubmatch(table, -1) {
		listed = append(listed, strings.Split(row[1], ", ")...)
	}
	slices.Sort(required)
	slices.Sort(listed)
	if len(required) == 0 || !slices.Equal(required, listed) {
		t.Errorf("required are\n%q, README lists\n%q", required, listed)
	}
}

// write makes a file, and the folders that it lies in.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
