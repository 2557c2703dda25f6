// Command mutate changes dpsql in one place at a time, and looks whether a test fails.
//
//	go run ./internal/mutate                     all mutants of mutants.tsv
//	go run ./internal/mutate -only 'smw.*Test'   those whose line matches
//	go run ./internal/mutate -candidates noise   all that could be listed of a package
//
// A mutant that no test tells from dpsql breaks a promise that no test holds: the command lists it as
// alive, and fails. One that does what dpsql does has the reason in its line.
//
// A line of mutants.tsv has, between tabs: the package, the function, the operator, the text that it
// changes, and why it is equivalent, if it is. So it outlives a move within the package. The tests that
// must fail are those of the package's line that begins with "tests": the arguments of one or more
// go test, the quickest first, between semicolons.
package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed mutants.tsv
var listed string

func main() {
	only := flag.String("only", "", "run the mutants whose line matches this regular expression")
	candidates := flag.String("candidates", "", "list the mutants of this package in place of running any")
	parallel := flag.Int("parallel", max(1, runtime.NumCPU()), "how many mutants run at once")
	patience := flag.Float64("patience", 5, "how many times as long as without a mutant a go test may take; a mutant that takes longer is dead")
	flag.Parse()
	var err error
	if *candidates != "" {
		err = printCandidates(*candidates)
	} else {
		err = campaign(*only, *parallel, *patience)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// printCandidates lists the mutants of a package. Some may not compile.
func printCandidates(dir string) error {
	all, err := mutantsOf(dir)
	if err != nil {
		return err
	}
	for _, m := range all {
		fmt.Println(m.id())
	}
	return nil
}

// readList returns the mutants that are listed, and the tests of each package.
func readList(text string) (list []mutant, tests map[string][]string, err error) {
	tests = map[string][]string{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#") || line == "\n":
		case f[0] == "tests" && len(f) == 3:
			tests[f[1]] = strings.Split(f[2], ";")
		case len(f) == 4:
			list = append(list, mutant{pkg: f[0], function: f[1], operator: f[2], source: f[3]})
		case len(f) == 5 && f[4] != "":
			list = append(list, mutant{pkg: f[0], function: f[1], operator: f[2], source: f[3], equivalent: f[4]})
		default:
			return nil, nil, fmt.Errorf("mutants.tsv has the line %q", line)
		}
	}
	for _, m := range list {
		if tests[m.pkg] == nil {
			return nil, nil, fmt.Errorf("mutants.tsv names no tests of %s", m.pkg)
		}
	}
	return list, tests, nil
}

// find makes the mutants of a list from the sources. Those that they do not have are an error.
func find(list []mutant) (missing error) {
	sources := map[string]map[string]mutant{}
	for i, m := range list {
		if sources[m.pkg] == nil {
			all, err := mutantsOf(m.pkg)
			if err != nil {
				return err
			}
			sources[m.pkg] = map[string]mutant{}
			for _, s := range all {
				sources[m.pkg][s.id()] = s
			}
		}
		s, ok := sources[m.pkg][m.id()]
		if !ok {
			missing = errors.Join(missing, fmt.Errorf("the sources have no such place: %s", m))
		}
		list[i].file, list[i].content = s.file, s.content
	}
	return missing
}

// outcome is what became of a mutant.
type outcome string

const (
	killed     outcome = "killed"
	alive      outcome = "ALIVE"
	equivalent outcome = "equivalent"
	broken     outcome = "DOES NOT COMPILE"
)

// campaign runs the mutants whose lines match, and prints what became of them.
func campaign(only string, parallel int, patience float64) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	list, tests, err := readList(listed)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m mutant) bool { return !match.MatchString(m.id()) })
	if err := find(list); err != nil {
		return err
	}
	limits := limits{patience: patience, of: map[string]func() (time.Duration, error){}}
	all, errs := make([]outcome, len(list)), make([]error, len(list))
	next, printing := make(chan int), sync.Mutex{}
	var failed atomic.Bool // a test, without a mutant
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				begun := time.Now()
				if all[i], errs[i] = list[i].judge(tests[list[i].pkg], &limits); errs[i] != nil {
					failed.Store(true)
					continue
				}
				printing.Lock()
				fmt.Printf("%-10s %4.0f s  %s\n", all[i], time.Since(begun).Seconds(), list[i])
				printing.Unlock()
			}
		})
	}
	for i := range list {
		if failed.Load() {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	return summarize(list, all)
}

// limits tell how long a go test may take with a mutant.
type limits struct {
	patience float64
	mu       sync.Mutex
	of       map[string]func() (time.Duration, error)
}

// get returns half a minute for the compiler, and patience times what a test takes on dpsql as it is, where the
// first who asks runs it. Errors: it fails there.
func (l *limits) get(test string) (time.Duration, error) {
	l.mu.Lock()
	once := l.of[test]
	if once == nil {
		once = sync.OnceValues(func() (time.Duration, error) {
			begun := time.Now()
			if out, err := exec.Command("go", testArguments(test)...).CombinedOutput(); err != nil {
				return 0, fmt.Errorf("go test %s fails without a mutant:\n%s", test, out)
			}
			return 30*time.Second + time.Duration(l.patience*float64(time.Since(begun))), nil
		})
		l.of[test] = once
	}
	l.mu.Unlock()
	return once()
}

// judge runs tests until one fails, or takes too long. Errors: one fails without the mutant.
func (m mutant) judge(tests []string, limits *limits) (outcome, error) {
	if m.equivalent != "" {
		return equivalent, nil
	}
	if m.run("build", "./"+m.pkg) != nil {
		return broken, nil
	}
	for _, test := range tests {
		limit, err := limits.get(test)
		if err != nil {
			return "", err
		}
		if m.run(append(testArguments(test), "-timeout="+limit.String())...) != nil {
			return killed, nil
		}
	}
	return alive, nil
}

// testArguments are the arguments of go for a line of tests.
func testArguments(test string) []string {
	return append([]string{"test", "-vet=off", "-failfast", "-count=1"}, strings.Fields(test)...)
}

// run runs go with the mutant in the place of its file.
func (m mutant) run(args ...string) error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	file, err := filepath.Abs(m.file)
	if err != nil {
		return err
	}
	about, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(changed, m.content(), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(overlay, about, 0o600); err != nil {
		return err
	}
	return exec.Command("go", slices.Insert(args, 1, "-overlay="+overlay)...).Run()
}

// summarize prints a table by package, and who is alive. It fails if somebody is.
func summarize(list []mutant, all []outcome) error {
	counts, packages := map[string]map[outcome]int{"all": {}}, []string{}
	failed := 0
	for i, m := range list {
		if counts[m.pkg] == nil {
			counts[m.pkg] = map[outcome]int{}
			packages = append(packages, m.pkg)
		}
		counts[m.pkg][all[i]]++
		counts["all"][all[i]]++
		if all[i] == alive || all[i] == broken {
			failed++
		}
	}
	fmt.Printf("\n%-28s %8s %8s %10s %8s\n", "package", "mutants", "killed", "equivalent", "alive")
	for _, p := range append(packages, "all") {
		c := counts[p]
		fmt.Printf("%-28s %8d %8d %10d %8d\n", p, c[killed]+c[equivalent]+c[alive]+c[broken], c[killed], c[equivalent], c[alive]+c[broken])
	}
	for i, m := range list {
		if all[i] == alive || all[i] == broken {
			fmt.Printf("%s: %s\n", all[i], m)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d mutants are alive or do not compile", failed, len(list))
	}
	return nil
}
