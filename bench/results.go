package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"dpsql/bench/report"
)

// resultsDir has, of each experiment, its tables as CSV files, the points of its charts, and
// a text that says what they are, what was found, and how they were made. docsDir has the
// pages that are written from there. Both are relative to the top of the repository.
const resultsDir, docsDir = "bench/results", "docs"

// store writes a section into a folder.
func store(s *report.Section, dir, commit string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := toFile(filepath.Join(dir, s.Name+".txt"), s.Text); err != nil {
		return err
	}
	for _, c := range s.Charts() {
		points := func(w io.Writer) error { return c.WritePoints(w, commit) }
		if err := toFile(pointsOf(dir, c.Name), points); err != nil {
			return err
		}
	}
	return s.Tables(func(name string, t *report.Table) error {
		return toFile(filepath.Join(dir, name+".csv"), func(w io.Writer) error { return t.CSV(w, commit) })
	})
}

// pointsOf is the file of a chart's points.
func pointsOf(dir, chart string) string { return filepath.Join(dir, "chart-"+chart+".csv") }

// toFile writes a file at once.
func toFile(path string, write func(io.Writer) error) error {
	var data bytes.Buffer
	if err := write(&data); err != nil {
		return err
	}
	return os.WriteFile(path, data.Bytes(), 0o644)
}

// commit returns the commit of the tree, with a + behind it if Go files differ from it.
func commit() string {
	hash, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	text := strings.TrimSpace(string(hash))
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", "*.go", "*go.mod").Run() != nil {
		text += "+"
	}
	return text
}

// load says how busy the machine was recently, if the system reports it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return ""
	}
	return ", load average " + fields[2]
}

// cpu returns the processor's model, if the system reports it.
func cpu() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "an unnamed processor"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.Trim(name, "\t :")
		}
	}
	return "an unnamed processor"
}
