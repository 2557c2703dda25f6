package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
)

// history keeps what was typed, and nothing that was answered, in a file that
// only its owner can read. Without such a file it lasts as long as the shell.
type history struct {
	remember func(entry string) // hands an entry to the line editor
	file     *os.File           // nil when there is none
	last     string
}

// openHistory loads the earlier entries into the editor.
func openHistory(line *liner.State) *history {
	h := &history{remember: line.AppendHistory}
	path, err := historyPath()
	if err != nil {
		return h
	}
	h.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		h.file = nil
		return h
	}
	if n, _ := line.ReadHistory(h.file); n > 2*liner.HistoryLimit {
		// Drop all but the entries that the editor holds.
		if h.file.Truncate(0) == nil {
			line.WriteHistory(h.file)
		}
	}
	return h
}

// historyPath returns the file, in a folder that exists then.
func historyPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "dpsql")
	return filepath.Join(dir, "history"), os.MkdirAll(dir, 0o700)
}

// add remembers a text. Each entry is appended at once, so that shells side by
// side keep each other's.
func (h *history) add(text string) {
	for _, entry := range entries(text) {
		if entry == h.last {
			continue
		}
		h.last = entry
		h.remember(entry)
		if h.file != nil {
			io.WriteString(h.file, entry+"\n")
		}
	}
}

// entries returns a text as lines to recall. A statement typed over several
// lines is recalled as one, unless joining its lines would change it.
func entries(text string) []string {
	var lines []string
	joinable := true
	open := false // inside quotes
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		lines = append(lines, line)
		open = open != (strings.Count(line, "'")%2 == 1) != (strings.Count(line, `"`)%2 == 1)
		joinable = joinable && !open && !strings.Contains(line, "--")
	}
	if joinable && len(lines) > 0 {
		return []string{strings.Join(lines, " ")}
	}
	return lines
}

func (h *history) close() {
	if h.file != nil {
		h.file.Close()
	}
}
