package catalog

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// newFile is the pattern of the names under which files are made that then get
// their own.
const newFile = ".dpsql-new-*"

// oneName refuses to write a file that has several names. SQLite keeps the
// write-ahead log beside the name it is opened by, and there the marks, the lease
// and the flights are too: whoever writes by another name sees nothing of what was
// charged by this one, and each of the two has a ledger of its own. The file was
// just identified.
func (s *Store) oneName() error {
	if s.memory != "" || s.names() <= 1 { // some file systems say 0
		return nil
	}
	s.removeNewNames()
	if _, err := s.identify(); err != nil {
		return err
	}
	if names := s.names(); names > 1 {
		return sqlerr.New(sqlerr.ReadOnly, "%s has %d names (hard links), and each would have a ledger of its own", s.path, names).
			WithHint("close the database everywhere and remove the other names; find -samefile lists them")
	}
	return nil
}

// names returns how many names the file had when it was identified last.
func (s *Store) names() uint64 {
	if file := s.identified(); file != nil {
		return links(s.path, file)
	}
	return 1 // it is gone again
}

func (s *Store) identified() os.FileInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file
}

// removeNewNames removes the names under which the file was made, as far as they
// are still there: its maker is about to, or was killed before.
func (s *Store) removeNewNames() {
	dir := filepath.Dir(s.path)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if made, _ := filepath.Match(newFile, e.Name()); !made {
			continue
		}
		if info, err := e.Info(); err == nil && os.SameFile(info, s.identified()) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// notMounted refuses to write a file that is mounted by itself, as containers
// may have it, and not with its folder: by its name there, it has another
// write-ahead log than by its own. Only Linux tells.
func (s *Store) notMounted() error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !isMounted(mounts, s.path) {
		return nil
	}
	return sqlerr.New(sqlerr.ReadOnly, "%s is mounted by itself, and what stands beside it in its own folder is not here", s.path).
		WithHint("mount the folder that holds it")
}

// isMounted reports whether a path is a mount point. In the list of mounts it is
// the fifth field, with octal numbers for blanks and backslashes.
func isMounted(mounts []byte, path string) bool {
	for line := range bytes.Lines(mounts) {
		fields := strings.Fields(string(line))
		if len(fields) > 4 && unescapeMount(fields[4]) == path {
			return true
		}
	}
	return false
}

func unescapeMount(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if i+3 < len(text) && text[i] == '\\' {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
