package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"dpsql/bench/report"
)

// wholeRun is what the head of a report made in one go says of that.
var wholeRun = regexp.MustCompile(`(?m)^- The whole run took .*\n`)

// replace puts sections and their charts in the places of those that the report
// in the folder has, and leaves the others as they are.
func (b *bench) replace(kind kind, sections []*report.Section, dir string) error {
	file := filepath.Join(dir, kind.file)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(data)
	for _, s := range sections {
		var section bytes.Buffer
		if err := b.write(&section, s, dir); err != nil {
			return err
		}
		if text, err = replaced(text, "## "+s.Title+"\n", section.String()); err != nil {
			return err
		}
		text = relisted(text, s)
	}
	text = wholeRun.ReplaceAllString(text, "- Sections were made one by one; each says how long it took.\n")
	b.note("%s", file)
	return os.WriteFile(file, []byte(text), 0o644)
}

// replaced returns the text with another section of the same heading.
func replaced(text, heading, section string) (string, error) {
	before, rest, found := strings.Cut(text, "\n"+heading)
	if !found {
		return "", fmt.Errorf("the report has no section %q: make it anew without -only", strings.TrimSpace(heading))
	}
	after := ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		after = rest[i+1:]
	}
	return before + "\n" + section + after, nil
}

// relisted returns the text with the section's lines in the list of what others
// do better.
func relisted(text string, s *report.Section) string {
	const heading = "\n## Where dpsql is not the best\n"
	i := strings.Index(text, heading)
	if i < 0 {
		return text
	}
	head, list := text[:i+len(heading)], text[i+len(heading):]
	end := strings.Index(list, "\n## ")
	if end < 0 {
		return text
	}
	own := "- [" + s.Title + "]("
	var kept strings.Builder
	for line := range strings.Lines(strings.TrimRight(list[:end], "\n") + "\n") {
		if !strings.HasPrefix(line, own) {
			kept.WriteString(line)
		}
	}
	return head + kept.String() + losses(s) + list[end:]
}
