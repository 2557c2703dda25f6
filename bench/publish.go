package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dpsql/bench/report"
)

// kind is one of the two reports.
type kind struct {
	file, command string
	of            []experiment
	head          func(*bench, io.Writer, kind, []*report.Section)
}

var (
	benchmarks  = kind{"benchmarks.md", "go run ./bench", experiments, (*bench).head}
	scaleReport = kind{"scale.md", "go run ./bench -scale", scaleExperiments, (*bench).scaleHead}
)

// publish writes the sections and their charts into a folder, or, where there is
// none, the text alone to out.
func (b *bench) publish(kind kind, sections []*report.Section, dir string, out io.Writer) error {
	var text bytes.Buffer
	kind.head(b, &text, kind, sections)
	for _, s := range sections {
		if err := b.write(&text, s, dir); err != nil {
			return err
		}
	}
	if dir == "" {
		_, err := out.Write(text.Bytes())
		return err
	}
	file := filepath.Join(dir, kind.file)
	b.note("%s", file)
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// write writes one section, and its charts into the folder.
func (b *bench) write(w io.Writer, s *report.Section, dir string) error {
	return s.Markdown(w, func(c *report.Chart) (string, error) { return c.Name + ".svg", b.draw(c, dir) })
}

// draw renders a chart, and stores it if there is a folder for it.
func (b *bench) draw(c *report.Chart, dir string) error {
	var svg bytes.Buffer
	if err := c.SVG(&svg); err != nil {
		return err
	}
	if dir == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, c.Name+".svg"), svg.Bytes(), 0o644)
}

// head says what was run, and on what.
func (b *bench) head(w io.Writer, kind kind, sections []*report.Section) {
	fmt.Fprintf(w, `# Benchmarks

Written by %s: do not edit. Each section ends with the command that makes it again, the time that it took, the seed of its data, its repetitions and the machine.

- Data are drawn with the seed (W2 and W3 have seeds of their own); noise comes from the system's generator and has none.
- Measurements of error are repeated with fresh noise; "a ± b" is their mean and the half-width of its 95 %% confidence interval
  (Student's t), where RMS the root of the mean square over repetitions and queries. Errors are absolute and in counts. Neighbours differ by one row.
- A query that is asked again gets the answer of the first time, as in the product, and costs nothing.
- Times of answers and builds are the least of several, in %s.
- The whole run took %.0f minutes.

`, "`"+b.command(kind)+"`", aboutClock, time.Since(b.start).Minutes())
	for _, s := range sections {
		fmt.Fprintf(w, "- [%s](#%s)\n", s.Title, anchor(s.Title))
	}
	fmt.Fprint(w, "\n## Where dpsql is not the best\n\nSaid by the figures below, experiment by experiment:\n\n")
	for _, s := range sections {
		fmt.Fprint(w, losses(s))
	}
	fmt.Fprintln(w)
}

// losses are the lines that say where a section finds something better.
func losses(s *report.Section) string {
	var b strings.Builder
	for _, text := range s.Saying(lost) {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", s.Title, anchor(s.Title), text)
	}
	return b.String()
}

func (b *bench) command(kind kind) string {
	if b.quick {
		return kind.command + " -quick"
	}
	return kind.command
}

// anchor is what a renderer of Markdown makes of a heading.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case strings.ContainsRune(":,|=.'", r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// load says how busy the machine was of late, where the system tells it.
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

// cpu returns the processor's model where the system tells it.
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
