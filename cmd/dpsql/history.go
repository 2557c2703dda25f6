package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// history keeps what was typed at one database, and nothing that was answered,
// in a file that only its owner can read: a JSON text a line. Without such a
// file it lasts as long as the shell. It is the editor's source of history.
type history struct {
	entries []string
	file    *os.File // nil when there is none
}

// mostEntries are loaded; a file twice as long is cut.
const (
	mostEntries  = 1000
	longestEntry = 1 << 20 // bytes
)

// openHistory loads the earlier entries of a database.
func openHistory(database string) *history {
	h := &history{}
	path, err := historyPath(database)
	if err != nil {
		return h
	}
	if h.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		h.file = nil
		return h
	}
	h.load()
	return h
}

// load reads the file, and cuts it when it has grown long.
func (h *history) load() {
	lines := bufio.NewScanner(h.file)
	lines.Buffer(nil, longestEntry)
	for lines.Scan() {
		var entry string
		if json.Unmarshal(lines.Bytes(), &entry) == nil {
			h.entries = append(h.entries, entry)
		}
	}
	long := len(h.entries) > 2*mostEntries
	h.entries = h.entries[max(0, len(h.entries)-mostEntries):]
	if long && h.file.Truncate(0) == nil {
		for _, entry := range h.entries {
			h.store(entry)
		}
	}
}

// historyPath returns the file of a database, in a folder that exists then. It
// is named after the database and told apart by a hash of its place.
func historyPath(database string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	place, err := filepath.Abs(database)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "dpsql", "history")
	sum := sha256.Sum256([]byte(place))
	return filepath.Join(dir, fmt.Sprintf("%s-%x", filepath.Base(place), sum[:4])), os.MkdirAll(dir, 0o700)
}

// secretive tells a declaration in which someone may have written how to reach a
// database, rather than the name of a variable: in quotes stands what is none, or
// what does not follow dsn_env. It is refused, and must not stay.
var secretive = regexp.MustCompile(`(?is)\bcreate\s+source\b.*(://|password|"[^"]*[^"\w][^"]*"|'[^']*[^'\w][^']*'|[^=\s]\s*'\w)`)

// Write remembers an entry, unless it repeats the last or has a secret. Each entry is appended
// at once, so that shells side by side keep each other's.
func (h *history) Write(entry string) (int, error) {
	if n := len(h.entries); entry == "" || secretive.MatchString(entry) || n > 0 && h.entries[n-1] == entry {
		return n, nil
	}
	h.entries = append(h.entries, entry)
	return len(h.entries), h.store(entry)
}

func (h *history) store(entry string) error {
	if h.file == nil {
		return nil
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	_, err = h.file.Write(append(line, '\n'))
	return err
}

// GetLine returns an entry.
func (h *history) GetLine(i int) (string, error) {
	if i < 0 || i >= len(h.entries) {
		return "", errors.New("no such entry")
	}
	return h.entries[i], nil
}

// Len returns the number of entries.
func (h *history) Len() int { return len(h.entries) }

// Dump returns all entries.
func (h *history) Dump() any { return h.entries }

func (h *history) close() {
	if h.file != nil {
		h.file.Close()
	}
}
