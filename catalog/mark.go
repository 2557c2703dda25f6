package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"dpsql/sqlerr"
)

// mark says that the ledger of a database had a line: the line's number and
// hash. Marks stand in a small file beside the database, written after the
// commit of the line and before anything it paid for is drawn. So the file is
// never ahead of the database, unless the database lost lines: SQLite drops the
// end of a damaged write-ahead log without a word, and an older copy of the
// file may have been put in its place.
type mark struct {
	catalog [16]byte // which database, chosen at random with the catalog
	seq     int64
	hash    [sha256.Size]byte
}

// The mark of line n is in slot n mod marks, so that processes which charge at
// the same time do not overwrite each other's; a half-written one fails its check.
const (
	marks    = 64
	markSize = 16 + 8 + sha256.Size + 8
)

func (s *Store) markPath() string { return s.path + "-mark" }

func (m mark) encode() []byte {
	b := binary.BigEndian.AppendUint64(m.catalog[:], uint64(m.seq))
	b = append(b, m.hash[:]...)
	check := sha256.Sum256(b)
	return append(b, check[:8]...)
}

func decodeMark(b []byte) (m mark, ok bool) {
	copy(m.catalog[:], b)
	m.seq = int64(binary.BigEndian.Uint64(b[16:]))
	copy(m.hash[:], b[24:])
	return m, bytes.Equal(m.encode(), b)
}

// readMarks returns the marks beside the database. One must read them before a
// transaction begins, as later ones may be of lines that it does not see.
// Whoever may read the database and not the file goes without.
func (s *Store) readMarks() ([]mark, error) {
	b, err := os.ReadFile(s.markPath())
	if os.IsNotExist(err) || os.IsPermission(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("read", s.markPath(), err)
	}
	var all []mark
	for b = b[:min(len(b), marks*markSize)]; len(b) >= markSize; b = b[markSize:] {
		if m, ok := decodeMark(b[:markSize]); ok {
			all = append(all, m)
		}
	}
	return all, nil
}

// writeMark makes a mark durable, which costs about as much as a commit.
func (s *Store) writeMark(m mark) error {
	if s.memory != "" {
		return nil
	}
	s.mark.mu.Lock()
	defer s.mark.mu.Unlock()
	missing, err := s.openMarks()
	if err == nil {
		_, err = s.mark.file.WriteAt(m.encode(), m.seq%marks*markSize)
	}
	if err == nil {
		err = s.mark.file.Sync()
	}
	if err != nil {
		s.mark.drop()
		return fileError("write", s.markPath(), err).
			WithHint("what the statement charged stays charged, and nothing was drawn for it: SHOW LEDGER tells")
	}
	if missing {
		_ = syncDirectory(filepath.Dir(s.path)) // a name that is lost is a mark fewer, and not all systems can
	}
	return nil
}

// markFile is the file of the marks, which is kept open between them: opening
// and closing it takes half as long as the sync.
type markFile struct {
	mu   sync.Mutex
	file *os.File
	info fs.FileInfo // which file this is
}

// openMarks opens the file of the marks, unless the one that is open still has
// the name, and reports whether it was missing. The marks are locked.
func (s *Store) openMarks() (missing bool, err error) {
	named, err := os.Stat(s.markPath())
	if missing = os.IsNotExist(err); err == nil && s.mark.file != nil && os.SameFile(named, s.mark.info) {
		return false, nil
	}
	s.mark.drop()
	mode := os.FileMode(0o600)
	if info, err := os.Stat(s.path); err == nil {
		mode = info.Mode().Perm() // for everyone who may charge
	}
	f, err := os.OpenFile(s.markPath(), os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return false, err
	}
	s.mark.file, s.mark.info = f, info
	return missing, nil
}

// drop closes the file. It has been synced, or the mark failed.
func (m *markFile) drop() {
	if m.file != nil {
		m.file.Close()
		m.file = nil
	}
}

func (m *markFile) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop()
}

// mark returns the mark of the last line of a chain.
func (tx *Tx) mark(c *chain) (m mark, err error) {
	id, err := tx.roll(0, rollCatalog)
	copy(m.catalog[:], id.sum[:])
	m.seq, m.hash = c.seq, c.hash
	return m, err
}

// checkMarks compares the ledger c with what the marks say was in it. Those of
// another database that once had this name say nothing.
func (tx *Tx) checkMarks(c *chain) error {
	if len(tx.marks) == 0 {
		return nil
	}
	this, err := tx.mark(c)
	if err != nil {
		return err
	}
	var last mark
	for _, m := range tx.marks {
		if m.catalog == this.catalog && m.seq > last.seq {
			last = m
		}
	}
	if last.seq == 0 {
		return nil
	}
	l, err := find(tx, scanLine, selectLine+`WHERE seq = ?`, last.seq)
	if err != nil || l != nil && bytes.Equal(l.hash, last.hash[:]) {
		return err
	}
	return sqlerr.New(sqlerr.Corrupt, "row %d of the ledger was written and is gone", last.seq).
		WithHint("the end of the write-ahead log was lost, or the file is an older copy; restore the newest one, "+
			"or delete %s to accept that what was spent since is forgotten", tx.store.markPath())
}

// CheckFirst refuses the first budget of a catalog where the marks beside it are of
// a ledger that is gone: the database that had the name was deleted or replaced,
// and its budget is not known to this one. A ledger of one line says that a budget
// was declared, and nothing was charged. Errors: Corrupt.
func (tx *Tx) CheckFirst() error {
	accounts, err := tx.Accounts()
	if err != nil || len(accounts) > 0 {
		return err
	}
	all, err := tx.store.readMarks()
	if err != nil {
		return err
	}
	var lines int64
	for _, m := range all {
		lines = max(lines, m.seq)
	}
	if lines <= 1 {
		return nil
	}
	return sqlerr.New(sqlerr.Corrupt, "another database had this name, and its ledger of %d lines is gone", lines).
		WithHint("restore it, or delete %s to begin anew: for other rows, or accepting that for the same rows the two budgets add up",
			tx.store.markPath())
}
