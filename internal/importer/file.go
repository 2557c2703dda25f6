package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"dpsql/sqlerr"
)

// file is an input that can be read from the start more than once.
type file struct {
	path     string
	dialect  Dialect
	from     io.ReadSeeker
	disk     *os.File
	gz       bool
	most     int64 // bytes of what gz unpacks; any number if 0
	meter    meter
	charset  encoding.Encoding // nil for UTF-8
	mac      bool              // lines end in CR
	comma    rune              // 0 if the first line was to show it
	padded   bool              // blanks stand before quotes
	formulas bool              // texts are written ="00012", as Excel keeps their zeros
	ruled    bool              // lines of - and + stand between rows, and blanks around fields
	numbered bool              // the first row begins with "1" in quotes
	wider    bool              // all rows have one separator more than the names
	below    int               // the line below which a full line of names seems to stand, or 0

	dates []form // that are looked for

	fields []string // the first record
	forms  []form   // of the dates in each field; without a name where it is something else
	timed  []bool   // whether these have a time of day
	kept   []int    // the fields that are columns
	notes  []string // what was decided, for the report

	readings []string // the forms that dates may have, if it could not be decided
}

// open opens the file. It holds a pipe in memory, because a pipe cannot be read twice.
func open(o Options) (*file, error) {
	if err := o.Dialect.check(); err != nil {
		return nil, err
	}
	charset, err := charsetOf(o.Dialect.Encoding)
	if err != nil {
		return nil, err
	}
	dates, err := formsOf(o.Dialect.Dates)
	if err != nil {
		return nil, err
	}
	disk, err := os.Open(o.Path)
	if err != nil {
		return nil, unreadable(o.Path, err)
	}
	f := &file{path: o.Path, disk: disk, from: disk, dialect: o.Dialect, charset: charset, dates: dates, most: o.Most, meter: meter{report: o.Progress}}
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
	if err := f.begin(); err != nil {
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
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(text, 1<<16)
	for range f.dialect.Skip {
		if err := skipLine(buffered); err != nil {
			return nil, f.unreadable(err)
		}
	}
	text = buffered
	if f.dialect.SkipLast > 0 {
		text = &butLast{from: buffered, n: f.dialect.SkipLast}
	}
	if f.quote() == '"' {
		return text, nil
	}
	return swapped{text, f.quote()}, nil
}

// butLast reads a text without its last n lines, and without the blank ones among and below them.
type butLast struct {
	from *bufio.Reader
	n    int
	held []string
	full int // of the lines held, those that are not blank
	next string
}

func (b *butLast) Read(p []byte) (int, error) {
	for b.next == "" {
		line, err := b.from.ReadString('\n')
		if err != nil && (err != io.EOF || line == "") {
			return 0, err
		}
		b.held = append(b.held, line)
		for b.full += full(line); b.full > b.n; b.held = b.held[1:] {
			b.next += b.held[0]
			b.full -= full(b.held[0])
		}
	}
	n := copy(p, b.next)
	b.next = b.next[n:]
	return n, nil
}

// full returns 1 for a line that is not blank.
func full(line string) int {
	if strings.TrimSpace(line) == "" {
		return 0
	}
	return 1
}

// quote returns the byte that is exchanged with ".
func (f *file) quote() byte {
	if f.dialect.NoQuote {
		return unquoted
	}
	return f.dialect.Quote
}

// text returns a reader of what the bytes of the file are, in UTF-8 and with LF at the
// ends of lines. A byte order mark says in which encoding they are.
func (f *file) text(from io.Reader) (io.Reader, error) {
	if f.gz {
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, unreadable(f.path, err)
		}
		if from = z; f.most > 0 {
			from = &bounded{z, f.most, sqlerr.New(sqlerr.Invalid, "file %s has more than %d bytes when it is unpacked", f.path, f.most).
				WithHint("load a part of it, or by .import, which has no limit")}
		}
	}
	text := decoded(bufio.NewReader(from), f.charset)
	if f.mac {
		text = transform.NewReader(text, runes.Map(func(r rune) rune {
			if r == '\r' {
				return '\n'
			}
			return r
		}))
	}
	return text, nil
}

func (f *file) unreadable(err error) error { return unreadable(f.path, err) }

// bounded reads at most so many bytes.
type bounded struct {
	io.Reader
	left int64
	err  error // of the byte after them
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.err
	}
	return n, err
}

// unreadable describes an error of the file without quoting its content.
func unreadable(path string, err error) error {
	what := "cannot be read"
	switch own := new(sqlerr.Error); {
	case errors.As(err, &own):
		return own
	case os.IsNotExist(err):
		what = "does not exist"
	case os.IsPermission(err):
		what = "cannot be opened: permission denied"
	case err == gzip.ErrHeader, err == gzip.ErrChecksum, err == io.ErrUnexpectedEOF:
		what = "is damaged, or no gzip file"
	}
	return sqlerr.New(sqlerr.IO, "file %s %s", path, what)
}
