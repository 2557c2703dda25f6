package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instructions returns the instructions of the Dockerfile: a word and the rest each.
func instructions(t *testing.T) (all [][2]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			word, rest, _ := strings.Cut(line, " ")
			all = append(all, [2]string{word, rest})
		}
	}
	return all
}

// The image is the program and nothing else, and a user who is not root runs it.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	all := instructions(t)
	last := 0
	for i, in := range all {
		if !slices.Contains(strings.Fields("FROM WORKDIR COPY RUN EXPOSE ENTRYPOINT CMD"), in[0]) {
			t.Errorf("%s is not expected", in[0])
		}
		if in[0] == "FROM" {
			last = i
		}
	}
	image := map[string]string{}
	for _, in := range all[last:] {
		image[in[0]] += in[1]
	}
	if !regexp.MustCompile(`^gcr\.io/distroless/static-debian\d+:nonroot$`).MatchString(image["FROM"]) || image["RUN"] != "" || image["COPY"] != "--from=build /dpsql /dpsql" || image["ENTRYPOINT"] != `["/dpsql"]` {
		t.Errorf("the image is %v", image)
	}
	checkServes(t, "Dockerfile", image["CMD"])
	version, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if from, _, _ := strings.Cut(strings.TrimPrefix(all[0][1], "golang:"), " "); !strings.Contains(string(version), "\ngo "+from+".") {
		t.Errorf("the image is built with %s", all[0][1])
	}
	build := buildLine(t)
	for _, want := range []string{"CGO_ENABLED=0 ", " -o /dpsql ./cmd/dpsql"} {
		if !strings.Contains(build, want) {
			t.Errorf("%s has no %q", build, want)
		}
	}
}

// buildLine returns the line that builds the program.
func buildLine(t *testing.T) string {
	t.Helper()
	for _, in := range instructions(t) {
		if in[0] == "RUN" {
			return in[1]
		}
	}
	t.Fatal("nothing is built")
	return ""
}

// checkServes checks that a list of words, in JSON, is a command line of dpsql serve.
func checkServes(t *testing.T, where, words string) {
	t.Helper()
	var args []string
	if err := json.Unmarshal([]byte(words), &args); err != nil || len(args) == 0 || args[0] != "serve" {
		t.Errorf("%s runs %s: %v", where, words, err)
		return
	}
	if _, err := parseServeFlags(args[1:]); err != nil {
		t.Errorf("%s runs %s: %v", where, words, err)
	}
}

// The line of the Dockerfile that builds the program works, and what it builds needs no
// library.
func TestImage(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("it compiles everything without C: -long")
	}
	program := filepath.Join(t.TempDir(), "dpsql")
	cmd := exec.Command("sh", "-c", strings.Replace(buildLine(t), " /dpsql ", " "+program+" ", 1))
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd = exec.Command(program, "version")
	cmd.Env = []string{}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "dpsql ") {
		t.Errorf("%v\n%s", err, out)
	}
	if ldd, err := exec.LookPath("ldd"); err == nil {
		if out, _ := exec.Command(ldd, program).CombinedOutput(); !strings.Contains(string(out), "not a dynamic executable") && !strings.Contains(string(out), "statically linked") {
			t.Errorf("it needs libraries:\n%s", out)
		}
	}
}

// The files of a service and of a container name what dpsql serve takes.
func TestServiceFiles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(top, "examples", "serve")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	service := read("dpsql.service")
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/dpsql (.*)$`).FindStringSubmatch(service)
	if line == nil {
		t.Fatal("the service starts nothing")
	}
	words, _ := json.Marshal(strings.Fields(line[1]))
	checkServes(t, "dpsql.service", string(words))
	container := regexp.MustCompile(`(?m)^    command: (\[.*\])$`).FindStringSubmatch(read("compose.yaml"))
	if container == nil {
		t.Fatal("the container starts nothing")
	}
	checkServes(t, "compose.yaml", container[1])

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing")
	}
	program, err := exec.LookPath("true") // stands in for the program, which is not installed
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "dpsql.service"), strings.Replace(service, "/usr/local/bin/dpsql", program, 1))
	write(t, filepath.Join(dir, "dpsql.socket"), read("dpsql.socket"))
	if out, err := exec.Command(analyze, "verify", filepath.Join(dir, "dpsql.service"), filepath.Join(dir, "dpsql.socket")).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every flag of the server is explained by its help and by the page.
func TestServeFlagsAreExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(docsDir, "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	new(serveOptions).flagSet().VisitAll(func(f *flag.Flag) {
		if !strings.Contains(serveHelp, "-"+f.Name+" ") || !strings.Contains(string(page), "`-"+f.Name) {
			t.Errorf("-%s is not explained", f.Name)
		}
	})
}
