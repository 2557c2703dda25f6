package syntax

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"dpsql/sqlerr"
)

func scanAll(t *testing.T, r io.Reader) []Input {
	t.Helper()
	s := NewScanner(r)
	var all []Input
	for {
		in, err := s.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in)
	}
}

func TestScanner(t *testing.T) {
	cases := []struct {
		name, script string
		want         []Input
	}{
		{"nothing", "", nil},
		{"blanks and comments", " \n-- a;\n/* b; */ ;; /*!c*/ ", nil},
		{"comment at the end", "SELECT 1; -- done", []Input{{"SELECT 1;", false, 1, 1}}},
		{"two in a line", "a; b;", []Input{{"a;", false, 1, 1}, {"b;", false, 1, 4}}},
		{"no semicolon at the end", "a;\n  b \n", []Input{{"a;", false, 1, 1}, {"b", false, 2, 3}}},
		{"several lines", "\n/* é */ a\n  b;c", []Input{{"a\n  b;", false, 2, 9}, {"c", false, 3, 5}}},
		{"semicolons in quotes", "a ';' \"; \" `;` [;] 'it'';s' -- ;\n /* ; */;b", []Input{
			{"a ';' \"; \" `;` [;] 'it'';s' -- ;\n /* ; */;", false, 1, 1}, {"b", false, 2, 10}}},
		{"backslashes", `a '\';b`, []Input{{`a '\';`, false, 1, 1}, {"b", false, 1, 7}}},
		{"signs are no comments", "a - -b / * c;-;/d", []Input{{"a - -b / * c;", false, 1, 1}, {"-;", false, 1, 14}, {"/d", false, 1, 16}}},
		{"a sign alone", "-", []Input{{"-", false, 1, 1}}},
		{"short comment", "/*/;*/a;", []Input{{"a;", false, 1, 7}}},
		{"stars", "/***/a;/* **/b;", []Input{{"a;", false, 1, 6}, {"b;", false, 1, 14}}},
		{"commands", ".help\na;\n  .import 'x;y' t -- z  \r\nb;", []Input{
			{".help", true, 1, 1}, {"a;", false, 2, 1}, {".import 'x;y' t -- z", true, 3, 3}, {"b;", false, 4, 1}}},
		{"a command at the end", ".quit", []Input{{".quit", true, 1, 1}}},
		{"of psql", "\\d t\nSELECT\n\\d;", []Input{{`\d t`, true, 1, 1}, {"SELECT\n\\d;", false, 2, 1}}},
		{"points inside", "SELECT a\n.b;c; .d", []Input{{"SELECT a\n.b;", false, 1, 1}, {"c;", false, 2, 4}, {".d", false, 2, 7}}},
		{"a point in a comment", "/* \n.x */a;", []Input{{"a;", false, 2, 6}}},
		{"unterminated string", "a 'b;\n", []Input{{"a 'b;", false, 1, 1}}},
		{"unterminated comment", "a; /* b;\n", []Input{{"a;", false, 1, 1}, {"/*", false, 1, 4}}},
		{"byte order mark", "\uFEFFa;", []Input{{"a;", false, 1, 1}}},
		{"carriage returns", "a\r\n;\r\nb;\r\n", []Input{{"a\r\n;", false, 1, 1}, {"b;", false, 3, 1}}},
		{"characters", "é; ü;", []Input{{"é;", false, 1, 1}, {"ü;", false, 1, 4}}},
	}
	for _, c := range cases {
		for _, r := range []io.Reader{strings.NewReader(c.script), iotest.OneByteReader(strings.NewReader(c.script))} {
			got := scanAll(t, r)
			if len(got) != len(c.want) {
				t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
				continue
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%s: got %+v, want %+v", c.name, got[i], c.want[i])
				}
			}
		}
	}
}

// lines delivers one line a Read and counts the Reads.
type lines struct {
	rest  []string
	reads int
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	l.reads++
	n := copy(p, l.rest[0])
	l.rest = l.rest[1:]
	return n, nil
}

func TestScannerAsItArrives(t *testing.T) {
	l := &lines{rest: []string{"SELECT\n", "1; SELECT 2;\n", ".tables\n", "SELECT 3;\n"}}
	s := NewScanner(l)
	for i, reads := range []int{2, 2, 3, 4} {
		if _, err := s.Next(); err != nil || l.reads != reads {
			t.Errorf("input %d: %d reads, %v; want %d", i+1, l.reads, err, reads)
		}
	}
}

func TestScannerErrors(t *testing.T) {
	s := NewScanner(strings.NewReader("a;\n  SELECT " + strings.Repeat("1,", maxStatement)))
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	in, err := s.Next()
	if sqlerr.CodeOf(err) != sqlerr.Unsupported || in.Line != 2 || in.Column != 3 {
		t.Errorf("an overlong statement: %+v, %v", in, err)
	}
	if _, again := s.Next(); again != err {
		t.Errorf("after an error: %v, want %v", again, err)
	}
	if _, err := NewScanner(strings.NewReader("." + strings.Repeat("x", maxStatement))).Next(); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("an overlong command: %v", err)
	}
	broken := NewScanner(io.MultiReader(strings.NewReader("a;b"), iotest.ErrReader(errors.New("gone"))))
	if _, err := broken.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := broken.Next(); sqlerr.CodeOf(err) != sqlerr.IO {
		t.Errorf("a failing reader: %v", err)
	}
	// A long comment is no statement.
	if got := scanAll(t, strings.NewReader("/*"+strings.Repeat("x", 2*maxStatement)+"*/a;")); len(got) != 1 || got[0].Text != "a;" {
		t.Errorf("behind a long comment: %d inputs", len(got))
	}
}

func TestLocate(t *testing.T) {
	in := Input{Text: "aé\n  b\nc;", Line: 7, Column: 5}
	for _, c := range []struct{ position, line, column int }{
		{0, 7, 5}, {1, 7, 5}, {2, 7, 6}, {3, 7, 7}, {4, 8, 1}, {6, 8, 3}, {8, 9, 1}, {9, 9, 2}, {100, 9, 3},
	} {
		if line, column := in.Locate(c.position); line != c.line || column != c.column {
			t.Errorf("position %d is %d:%d, want %d:%d", c.position, line, column, c.line, c.column)
		}
	}
}

func TestIncomplete(t *testing.T) {
	cases := []struct {
		text string
		want bool
	}{
		{"", false}, {" \n", false}, {"-- x", false}, {"/* x */", false}, {";", false}, {"SELECT 1;", false}, {"SELECT 1; -- x", false},
		{"SELECT 1; SELECT", true}, {"SELECT", true}, {"SELECT 1", true}, {"SELECT ';", true}, {"SELECT ';'", true}, {"SELECT ';';", false},
		{"SELECT \";", true}, {"SELECT [;", true}, {"SELECT `;", true}, {"SELECT 1 -- ;", true}, {"SELECT 1 /* ;", true}, {"/* ", true},
		{"SELECT 1; /*", true}, {"-", true}, {".tables", false}, {"  .import 'x", false}, {`\d people`, false}, {`SELECT \d`, true}, {"SELECT 'it''s';", false}, {`SELECT '\';`, false},
	}
	for _, c := range cases {
		if got := Incomplete(c.text); got != c.want {
			t.Errorf("Incomplete(%q) = %v", c.text, got)
		}
	}
}

// FuzzScanner checks that the scanner and the lexer cut a script at the same
// semicolons.
func FuzzScanner(f *testing.F) {
	script, err := os.ReadFile("../testdata/dialect.sql")
	if err != nil {
		f.Fatal(err)
	}
	for s := NewScanner(strings.NewReader(string(script))); ; {
		in, err := s.Next()
		if err != nil {
			break
		}
		f.Add(in.Text)
	}
	f.Add(string(script))
	f.Add("SELECT COUNT(age) FROM [people] WHERE (age IS NULL) IS NOT TRUE AND 1 = 1.5 -- x\n/* y */;")
	f.Add(".help\n'")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := Lex(text)
		if err != nil || strings.Contains(text, ".") || strings.HasPrefix(text, "\uFEFF") {
			return
		}
		want, filled := 0, false
		for _, k := range tokens {
			if end := k.Kind == KindEnd; end || k.Matches(";") {
				if filled {
					want++
				}
				filled = false
			} else {
				filled = true
			}
		}
		got := 0
		for s := NewScanner(strings.NewReader(text)); ; got++ {
			in, err := s.Next()
			if err == io.EOF {
				break
			}
			if _, _, lerr := lexOne(in.Text); err != nil || lerr != nil {
				t.Fatalf("%q: %q: %v, %v", text, in.Text, err, lerr)
			}
		}
		if got != want {
			t.Fatalf("%q has %d statements, the scanner finds %d", text, want, got)
		}
	})
}
