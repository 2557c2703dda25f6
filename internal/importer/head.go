package importer

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// mostHead bounds the part of a text that is looked at for its dialect.
const mostHead = 1 << 16

// begin looks at the first lines: where the names stand, and what separates them.
func (f *file) begin() error {
	lines, err := f.head()
	if err != nil {
		return err
	}
	f.separatorLine(lines[0])
	if !f.dialect.HasSkip {
		if err := f.comments(lines); err != nil {
			return err
		}
	}
	rest := lines[min(f.dialect.Skip, len(lines)):]
	rest = slices.DeleteFunc(slices.Clone(rest), func(line string) bool { return line == "" })
	rest = f.drawn(rest)
	first := f.record(rest)
	f.comma = f.dialect.Comma
	f.dialect = f.dialect.sniff(first)
	if err := f.dialect.check(); err != nil {
		return err
	}
	if f.padded = f.dialect.Comma != '\t' && f.dialect.padded(strings.Join(rest, "\n")); f.padded {
		f.notes = append(f.notes, "blanks at the beginning of fields left out")
	}
	f.numbered = len(rest) > 1 && f.begins(rest[1], `"1"`) || len(rest) > 2 && f.begins(rest[1], "1") && f.begins(rest[2], "2")
	f.wider = len(rest) > 2 && !slices.ContainsFunc(rest[1:], func(line string) bool {
		return f.dialect.count(line, f.dialect.Comma) != f.dialect.count(first, f.dialect.Comma)+1
	})
	f.below = f.fullLine(lines)
	if !f.dialect.HasSkip && f.comma == 0 {
		return f.title(lines, first)
	}
	return nil
}

// A ruler is a line between rows, as psql, Markdown and others draw them. A formula is a text as Excel keeps its zeros: ="00012".
var (
	ruler   = regexp.MustCompile(`^[-=+|: \x{2500}-\x{257f}]*(--|==|[─═━]{2})[-=+|: \x{2500}-\x{257f}]*$`)
	formula = regexp.MustCompile(`(?m)(^|[,;\t|])"?="`)
)

// drawn looks for lines between rows among the first lines, and for formulas. It returns the others.
func (f *file) drawn(lines []string) []string {
	f.formulas = formula.MatchString(strings.Join(lines, "\n"))
	top := strings.Join(lines[:min(3, len(lines))], "\n")
	others := slices.DeleteFunc(slices.Clone(lines), ruler.MatchString)
	for _, bar := range "│┃║|" {
		if !strings.ContainsRune(strings.Join(others[:min(1, len(others))], ""), bar) || !slices.ContainsFunc(strings.Split(top, "\n"), ruler.MatchString) {
			continue
		}
		f.ruled, f.dialect.NoQuote, f.dialect.Comma = true, true, cmp.Or(f.dialect.Comma, bar)
		f.notes = append(f.notes, "lines between rows, and blanks around fields, left out")
		return others
	}
	return lines
}

func (f *file) begins(line, field string) bool {
	return strings.HasPrefix(line, field+string(f.dialect.Comma))
}

// record returns the first record: the first line, with those that quotes join to it.
func (f *file) record(lines []string) string {
	for n := 1; n < min(len(lines), 20) && !f.dialect.NoQuote; n++ {
		if first := strings.Join(lines[:n], "\n"); strings.Count(first, `"`)%2 == 0 {
			return first
		}
	}
	return strings.Join(lines[:min(1, len(lines))], "")
}

// head returns the first lines, at least one.
func (f *file) head() ([]string, error) {
	text, err := f.text(f.from)
	if err != nil {
		return nil, err
	}
	bytes, err := io.ReadAll(io.LimitReader(text, mostHead))
	if err != nil && len(bytes) == 0 {
		return nil, f.unreadable(err)
	}
	all := string(bytes)
	if err := f.noText(all); err != nil {
		return nil, err
	}
	if strings.Contains(all, "\r") && !strings.Contains(all, "\n") {
		f.mac = true
		f.notes = append(f.notes, "lines end in CR")
		all = strings.ReplaceAll(all, "\r", "\n")
	}
	lines := strings.Split(all, "\n")
	if len(bytes) == mostHead && len(lines) > 1 {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	for left := f.dialect.SkipLast; left > 0 && len(bytes) < mostHead && len(lines) > 1; lines = lines[:len(lines)-1] {
		left -= full(lines[len(lines)-1])
	}
	return lines, nil
}

// others are what files that are no tables of text begin with.
var others = []struct {
	what, hint string
	begins     []string
}{
	{"a workbook or an archive", "save its sheet as CSV, or unpack it", []string{"PK\x03\x04", "\xd0\xcf\x11\xe0"}},
	{"compressed", "unpack it; of gzip a name that ends in .gz will do", []string{"\x1f\x8b", "BZh", "\x28\xb5\x2f\xfd", "\xfd7zXZ\x00"}},
	{"a Parquet file", "give it a name that ends in .parquet", []string{"PAR1"}},
	{"a database", "open it: dpsql FILE", []string{"SQLite format 3\x00"}},
	{"a PDF, a web page, XML or JSON", "save the table as CSV", []string{"%PDF-", "<!DOCTYPE", "<!doctype", "<html", "<?xml", `{"`, "[{"}},
}

// NoTable returns why a file is no table that can be imported, as far as its beginning tells, or nil.
func NoTable(path string) error {
	in, err := openInput(Options{Path: path})
	if err != nil {
		return err
	}
	defer in.close()
	if f, ok := in.(*file); ok {
		_, err = f.head()
	}
	return err
}

// noText refuses a file whose beginning shows that it is no table of text.
func (f *file) noText(head string) error {
	for _, kind := range others {
		for _, begins := range kind.begins {
			if strings.HasPrefix(strings.TrimLeft(head, " \r\n\t"), begins) {
				return sqlerr.New(sqlerr.Invalid, "file %s is %s, and no text with a line of names", f.path, kind.what).WithHint("%s", kind.hint)
			}
		}
	}
	if strings.ContainsAny(head, "\x01\x02\x03\x04\x05\x06\x07") && strings.Contains(head, "\x00") {
		return sqlerr.New(sqlerr.Invalid, "file %s has bytes that no text has", f.path).WithHint("save its table as CSV where it comes from")
	}
	if 4*strings.Count(head, "\x00") > len(head) {
		return sqlerr.New(sqlerr.Invalid, "file %s is in UTF-16 without its mark, or no text", f.path).
			WithHint("say what it is: .import --encoding utf-16le FILE TABLE, or utf-16be")
	}
	return nil
}

// separator is the first line of a file of Excel's that says what separates fields.
var separator = regexp.MustCompile(`^"?(?i:sep)=(.)"?$`)

func (f *file) separatorLine(line string) {
	m := separator.FindStringSubmatch(line)
	if m == nil {
		return
	}
	f.dialect.Skip = max(f.dialect.Skip, 1)
	if f.dialect.Comma == 0 {
		f.dialect.Comma, _ = utf8.DecodeRuneInString(m[1])
	}
}

// comments leaves out lines above the names that begin with #. It refuses one that may
// have the names.
func (f *file) comments(lines []string) error {
	begin := f.dialect.Skip
	last, next := 0, begin
	for next < len(lines) && (lines[next] == "" || lines[next][0] == '#') {
		if next++; lines[next-1] != "" {
			last = next
		}
	}
	if last == 0 || next == len(lines) {
		return nil
	}
	for _, r := range separators {
		if n := f.dialect.count(lines[next], r); n > 0 && n == f.dialect.count(lines[last-1], r) {
			return sqlerr.New(sqlerr.Invalid, "line %d of file %s begins with #, and may be a comment or the names", last, f.path).
				WithHint(".import --skip %d takes it for the names, --skip %d leaves it out", last-1, last)
		}
	}
	f.dialect.Skip = last
	f.notes = append(f.notes, fmt.Sprintf("%s with # left out above the names", plural(last-begin, "line")))
	return nil
}

// title refuses a first line without a separator above lines that all have one.
func (f *file) title(lines []string, first string) error {
	for _, r := range separators {
		if f.dialect.count(first, r) > 0 {
			return nil
		}
	}
	top := 0 // commas of numbers begin below the names
	for _, r := range separators {
		if at := f.table(lines, r); at > 0 && (top == 0 || at < top) {
			top = at
		}
	}
	if top > 0 {
		return f.noNames("has no separator, and may be a title above the names", top)
	}
	for _, r := range "^~:!# " {
		n := f.dialect.count(first, r)
		if n > 0 && !slices.ContainsFunc(lines, func(line string) bool { return line != "" && f.dialect.count(line, r) != n }) {
			f.notes = append(f.notes, fmt.Sprintf("one column; if '%c' separates fields: --separator '%c'", r, r))
			return nil
		}
	}
	if line := strings.TrimSpace(first); strings.Contains(line, "  ") || strings.HasPrefix(line, "+-") {
		f.notes = append(f.notes, "one column; a table whose columns are blanks or lines apart is to be written as CSV")
	}
	return nil
}

// table returns the index of the line from which on all lines have as many separators, or
// 0 if that is fewer than two lines.
func (f *file) table(lines []string, separator rune) int {
	at, n, rows := 0, 0, 0
	for i := len(lines) - 1; i > f.dialect.Skip; i-- {
		if lines[i] == "" {
			continue
		}
		m := f.dialect.count(lines[i], separator)
		if rows > 0 && m != n {
			break
		}
		at, n, rows = i, m, rows+1
	}
	if n == 0 || rows < 2 {
		return 0
	}
	return at
}

// fullLine returns the index of the first line with a text in every field.
func (f *file) fullLine(lines []string) int {
	for i, line := range lines {
		if fields := strings.Split(line, string(f.dialect.Comma)); i > f.dialect.Skip && len(fields) > 1 && !containsBlank(fields) {
			return i
		}
	}
	return 0
}

func containsBlank(fields []string) bool {
	for _, field := range fields {
		if strings.Trim(field, ` "`) == "" {
			return true
		}
	}
	return false
}

// noNames refuses the line of the names. The names seem to stand below another line.
func (f *file) noNames(why string, below int) error {
	err := sqlerr.New(sqlerr.Invalid, "line %d of file %s %s", f.dialect.Skip+1, f.path, why)
	if below == 0 {
		return err.WithHint(".import --skip N leaves out the first N lines; --skip %d takes this one for the names", f.dialect.Skip)
	}
	return err.WithHint(".import --skip %d takes line %d for the names, --skip %d this one", below, below+1, f.dialect.Skip)
}

// skipLine reads to the end of a line, or of the text.
func skipLine(text *bufio.Reader) error {
	for {
		_, err := text.ReadSlice('\n')
		if err == nil || err == io.EOF {
			return nil
		}
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
