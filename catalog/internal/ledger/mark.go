package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"sync"
)

// Mark says that the ledger of a database had a line. Marks stand in a small file
// beside the database, written after the commit of the line and before anything
// it paid for is drawn. So the marks are never ahead of the database, unless the
// database lost lines.
type Mark struct {
	Catalog [16]byte // names the database; chosen at random with the catalog
	Seq     int64    // the number of the line
	Hash    [sha256.Size]byte
}

// The mark of line n is in slot n mod slots, so that processes which charge at the
// same time do not overwrite each other's. A half-written mark fails its check.
const (
	slots    = 64
	markSize = 16 + 8 + sha256.Size + 8
)

// MarkOf returns the mark of the last line of a chain. The name is the roll that
// names the catalog.
func MarkOf(name Roll, c Chain) (m Mark) {
	copy(m.Catalog[:], name.Sum[:])
	m.Seq, m.Hash = c.seq, c.hash
	return m
}

// Last returns the mark of the highest line of a catalog, false where there is
// none. Marks of another database that once had the name say nothing.
func Last(marks []Mark, catalog [16]byte) (last Mark, found bool) {
	for _, m := range marks {
		if m.Catalog == catalog && m.Seq > last.Seq {
			last, found = m, true
		}
	}
	return last, found
}

func (m Mark) encode() []byte {
	b := binary.BigEndian.AppendUint64(m.Catalog[:], uint64(m.Seq))
	b = append(b, m.Hash[:]...)
	check := sha256.Sum256(b)
	return append(b, check[:8]...)
}

func decodeMark(b []byte) (m Mark, ok bool) {
	copy(m.Catalog[:], b)
	m.Seq = int64(binary.BigEndian.Uint64(b[16:]))
	copy(m.Hash[:], b[24:])
	return m, bytes.Equal(m.encode(), b)
}

// ReadMarks returns the marks in the file of that name. They must be read before
// the transaction begins whose ledger they are compared with, since later ones may
// be of lines that it does not see. A file that is missing, or that may not be
// read, has no marks.
func ReadMarks(path string) ([]Mark, error) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) || os.IsPermission(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Mark
	for b = b[:min(len(b), slots*markSize)]; len(b) >= markSize; b = b[markSize:] {
		if m, ok := decodeMark(b[:markSize]); ok {
			all = append(all, m)
		}
	}
	return all, nil
}

// MarkFile writes marks. It keeps the file open between them: opening and closing
// it takes half as long as the sync. Its methods may be called by several
// goroutines. The zero value is ready to use.
type MarkFile struct {
	mu   sync.Mutex
	file *os.File
	info fs.FileInfo // which file this is
}

// Write makes a mark durable in the file of that name, which costs about as much
// as a commit. A missing file is created with the permissions of the database, and
// created says that its name is new. After an error the mark may be there or not.
func (f *MarkFile) Write(m Mark, path, database string) (created bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if created, err = f.open(path, database); err == nil {
		_, err = f.file.WriteAt(m.encode(), m.Seq%slots*markSize)
	}
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		f.close()
	}
	return created, err
}

// open opens the file, unless the one that is open still has the name.
func (f *MarkFile) open(path, database string) (created bool, err error) {
	named, err := os.Stat(path)
	if created = os.IsNotExist(err); err == nil && f.file != nil && os.SameFile(named, f.info) {
		return false, nil
	}
	f.close()
	mode := os.FileMode(0o600)
	if info, err := os.Stat(database); err == nil {
		mode = info.Mode().Perm() // for everyone who may charge
	}
	opened, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return false, err
	}
	info, err := opened.Stat()
	if err != nil {
		opened.Close()
		return false, err
	}
	f.file, f.info = opened, info
	return created, nil
}

// Close closes the file, which the next mark opens again.
func (f *MarkFile) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

// close closes the file. It has been synced, or the mark failed.
func (f *MarkFile) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}
