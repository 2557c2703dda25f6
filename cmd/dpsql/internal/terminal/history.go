package terminal

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

// history keeps the texts typed for one database, and no answers. Only its owner can
// read its file, which holds one JSON text per line. Without a file the history ends
// with the shell. It is the editor's source of history.
type history struct {
	entries []string
	file    *os.File // nil when there is none
}

const (
	maxEntries = 1000    // that are loaded; a file twice as long is cut
	maxEntry   = 1 << 20 // bytes
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

// load reads the file, and cuts it if it has grown long.
func (h *history) load() {
	lines := bufio.NewScanner(h.file)
	lines.Buffer(nil, maxEntry)
	for lines.Scan() {
		var entry string
		if json.Unmarshal(lines.Bytes(), &entry) == nil {
			h.entries = append(h.entries, entry)
		}
	}
	long := len(h.entries) > 2*maxEntries
	h.entries = h.entries[max(0, len(h.entries)-maxEntries):]
	if long && h.file.Truncate(0) == nil {
		for _, entry := range h.entries {
			h.store(entry)
		}
	}
}

// historyPath returns the history file of a database and makes its folder. The
// file is named after the database and a hash of its full path.
func historyPath(database string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	full, err := filepath.Abs(database)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "dpsql", "history")
	sum := sha256.Sum256([]byte(full))
	return filepath.Join(dir, fmt.Sprintf("%s-%x", filepath.Base(full), sum[:4])), os.MkdirAll(dir, 0o700)
}

// connectionString matches a CREATE SOURCE that may hold a connection string in
// place of the name of an environment variable: a quoted text that is not a name,
// or that does not follow dsn_env. Such a statement is refused, and must not stay
// in the history.
var connectionString = regexp.MustCompile(`(?is)\bcreate\s+source\b.*(://|password|"[^"]*[^"\w][^"]*"|'[^']*[^'\w][^']*'|[^=\s]\s*'\w)`)

// password matches an entry that may hold a password: of a statement that sets one, or
// mistyped.
var password = regexp.MustCompile(`(?is)password|\b(create|alter)\b(\s|/\*.*?\*/|--[^\n]*\n)*\b(user|role)\b`)

// Write adds an entry, unless it repeats the last one or may hold a secret. Each
// entry is appended at once, so that two shells keep each other's entries.
func (h *history) Write(entry string) (int, error) {
	if n := len(h.entries); entry == "" || connectionString.MatchString(entry) || password.MatchString(entry) || n > 0 && h.entries[n-1] == entry {
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
