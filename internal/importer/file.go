package importer

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"

	"dpsql/sqlerr"
)

// file is an input that can be read from the start more than once.
type file struct {
	path    string
	dialect Dialect
	from    io.ReadSeeker
	disk    *os.File
	gz      bool
	meter   meter
}

// open opens the file. It holds a pipe in memory, because a pipe cannot be read twice.
func open(o Options) (*file, error) {
	if err := o.Dialect.check(); err != nil {
		return nil, err
	}
	disk, err := os.Open(o.Path)
	if err != nil {
		return nil, unreadable(o.Path, err)
	}
	f := &file{path: o.Path, disk: disk, from: disk, dialect: o.Dialect, meter: meter{report: o.Progress}}
	info, err := disk.Stat()
	if err == nil && info.IsDir() {
		disk.Close()
		return nil, sqlerr.New(sqlerr.IO, "%s is a directory", o.Path)
	}
	if err != nil || !info.Mode().IsRegular() {
		all, err := io.ReadAll(disk)
		if err != nil {
			disk.Close()
			return nil, unreadable(o.Path, err)
		}
		f.from = bytes.NewReader(all)
		f.meter.size = passes * int64(len(all))
	} else {
		f.meter.size = passes * info.Size()
	}
	name := strings.ToLower(o.Path)
	name, f.gz = strings.CutSuffix(name, ".gz")
	if f.dialect.Comma == 0 && (strings.HasSuffix(name, ".tsv") || strings.HasSuffix(name, ".tab")) {
		f.dialect.Comma = '\t'
	}
	text, err := f.text(f.from)
	if err != nil {
		disk.Close()
		return nil, err
	}
	f.dialect = f.dialect.sniff(text)
	if err := f.dialect.check(); err != nil {
		disk.Close()
		return nil, err
	}
	return f, nil
}

func (f *file) close() { f.disk.Close() }

// start returns a reader of the text from the beginning.
func (f *file) start() (io.Reader, error) {
	if _, err := f.from.Seek(0, io.SeekStart); err != nil {
		return nil, unreadable(f.path, err)
	}
	text, err := f.text(io.TeeReader(f.from, &f.meter))
	if err != nil || f.dialect.Quote == '"' {
		return text, err
	}
	return swapped{text, f.dialect.Quote}, nil
}

// text returns a reader of what the bytes of the file are.
func (f *file) text(from io.Reader) (io.Reader, error) {
	if !f.gz {
		return from, nil
	}
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, unreadable(f.path, err)
	}
	return z, nil
}

// unreadable describes an error of the file without quoting its content.
func unreadable(path string, err error) error {
	what := "cannot be read"
	switch {
	case os.IsNotExist(err):
		what = "does not exist"
	case os.IsPermission(err):
		what = "cannot be opened: permission denied"
	case err == gzip.ErrHeader, err == gzip.ErrChecksum, err == io.ErrUnexpectedEOF:
		what = "is damaged, or no gzip file"
	}
	return sqlerr.New(sqlerr.IO, "file %s %s", path, what)
}
