package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// page is where the documentation says how clients connect.
const page = "../docs/clients.md"

// interpreters run the blocks of a language: a command, and how the file is called.
var interpreters = map[string]struct {
	file    string
	command []string
}{
	"sh":     {"block.sh", []string{"bash", "-e"}},
	"python": {"block.py", []string{"/usr/bin/python3"}},
	"java":   {"Ask.java", []string{"java", "-XX:TieredStopAtLevel=1", "-cp", "/usr/share/java/postgresql.jar"}},
	"js":     {"block.js", []string{"node"}},
	"r":      {"block.R", []string{"Rscript", "--vanilla"}},
	"perl":   {"block.pl", []string{"perl"}},
	"php":    {"block.php", []string{"php"}},
	"ruby":   {"block.rb", []string{"/usr/bin/ruby"}},
	"go":     {"", []string{"go", "run"}}, // the folder of the file that the block names
}

// block is a piece of code of the page, and the text that follows it.
var block = regexp.MustCompile("(?ms)^```([a-z]+) ([^\n]*)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?")

// TestPage runs the blocks of docs/clients.md whose client is installed, and compares what
// they print with the text below them. All numbers may differ, and so may the widths of
// tables. The page's port is put right, and its variables are set.
func TestPage(t *testing.T) {
	served := serve(t)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]Client{}
	for _, c := range All {
		known[c.Name] = c
	}
	changed := string(text)
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		language, about, code, want := m[1], m[2], m[3], m[4]
		t.Run(about, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			how, ok := interpreters[language]
			client, named := known[about]
			if !ok || !named && language != "go" {
				t.Fatalf("the block is of no client: %s %s", language, about)
			}
			if named {
				if err := client.Missing(ctx); err != nil {
					t.Skip(err)
				}
			}
			target := filepath.Join(t.TempDir(), how.file)
			if language == "go" {
				target = filepath.Join("..", filepath.Dir(about))
			} else if err := os.WriteFile(target, []byte(strings.ReplaceAll(code, "5433", served.Port)), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(ctx, how.command[0], append(how.command[1:], target)...)
			run.Env = append(served.Environment(t.TempDir()), "NODE_PATH="+absolute(t, "node_modules"))
			if language == "go" {
				run.Args[2] = "./" + filepath.ToSlash(strings.TrimPrefix(target, "../clients/"))
			}
			out, err := run.Output()
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				t.Fatalf("%v\n%s%s", err, out, exit.Stderr)
			} else if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimRight(string(out), "\n") + "\n"
			switch {
			case language == "go" || shape(got) == shape(want):
			case *update:
				changed = strings.Replace(changed, m[0], fmt.Sprintf("```%s %s\n%s```\n```text\n%s```\n", language, about, code, got), 1)
			default:
				t.Errorf("it prints:\n%s\nthe page has:\n%s", got, want)
			}
		})
	}
	if changed != string(text) {
		if err := os.WriteFile(page, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	numbers = regexp.MustCompile(`\d+(\.\d+)?`)
	widths  = regexp.MustCompile(`[ -]+`)
)

// shape is a text without its numbers and widths.
func shape(text string) string {
	return widths.ReplaceAllString(numbers.ReplaceAllString(text, "#"), " ")
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
