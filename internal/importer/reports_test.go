package importer_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/internal/importer"
	"dpsql/sqlerr"
)

// TestReports imports files as programs write them: what comes out, and what is said.
func TestReports(t *testing.T) {
	tests := []struct {
		file    string
		dialect importer.Dialect
		columns string
		rows    []string
		notes   string
	}{
		{"blank.csv", importer.Dialect{Nulls: []string{""}}, "id INTEGER, sex TEXT, age INTEGER", []string{"0 'f' NULL", "1 'm' 31", "2 NULL 32"}, ""},
		{"comment.csv", importer.Dialect{}, "ward TEXT, age INTEGER", []string{"'north' 34", "'south' 51"}, "2 lines with # left out above the names"},
		{"cp1252.csv", importer.Dialect{Encoding: "windows-1252"}, "ward TEXT, age INTEGER", []string{"'Köln' 34", "'O’Brien' 51"}, ""},
		{"cr.csv", importer.Dialect{}, "ward TEXT, age INTEGER", []string{"'north' 34", "'south' 51"}, "lines end in CR"},
		{"duplicate.csv", importer.Dialect{}, "ward TEXT, score INTEGER, score_2 INTEGER", []string{"'north' 3 4", "'south' 5 6"}, "column 3 has the name of another, and is called score_2"},
		{"index.csv", importer.Dialect{}, "column_1 INTEGER, ward TEXT, age INTEGER", []string{"0 'north' 34", "1 'south' 51", "2 'north' 28"}, "column 1 has no name, and is called column_1"},
		{"markers.csv", importer.Dialect{Nulls: []string{"NA", "-", "n/a"}}, "ward TEXT, age INTEGER, days INTEGER", []string{"'north' 34 2", "'south' NULL 7", "'north' NULL 3", "'east' 28 NULL"}, ""},
		{"money.csv", importer.Dialect{}, "ward TEXT, fee TEXT, share TEXT", []string{"'north' '$1,250.00' '12%'", "'south' '$980.50' '7%'", "'east' '$12,000.00' '81%'"},
			"`fee`: numbers but for signs of money, percent or thousands in 3 rows: --numbers; `share`: numbers but for signs of money, percent or thousands in 3 rows: --numbers"},
		{"money.csv", importer.Dialect{Numbers: true}, "ward TEXT, fee REAL, share INTEGER", []string{"'north' 1250.0 12", "'south' 980.5 7", "'east' 12000.0 81"}, ""},
		{"markers.csv", importer.Dialect{}, "ward TEXT, age TEXT, days TEXT", []string{"'north' '34' '2'"},
			"`age`: numbers but for `-` in 1 row, `NA` in 1 row: --null - --null NA; `days`: numbers but for `n/a` in 1 row: --null n/a"},
		{"blank.csv", importer.Dialect{}, "id INTEGER, sex TEXT, age INTEGER", []string{"0 'f' NULL"}, "`sex`: the empty text in 30 rows: --null '' makes it NULL"},
		{"quotes.tsv", importer.Dialect{NoQuote: true}, "note TEXT, age INTEGER", []string{`'12" pipe' 34`, `'"so-called" cure' 51`, `'"open' 28`}, ""},
		{"sep.csv", importer.Dialect{}, "ward TEXT, fee REAL", []string{"'north' 12.5", "'south' 8.0"}, ""},
		{"space.csv", importer.Dialect{}, "ward TEXT, age INTEGER", []string{"'north' 34", "'south' 51"}, ""},
		{"title.csv", importer.Dialect{HasSkip: true, Skip: 2}, "ward TEXT, age INTEGER, days INTEGER", []string{"'north' 34 2", "'south' 51 7"}, ""},
		{"trailing.csv", importer.Dialect{}, "ward TEXT, age INTEGER", []string{"'north' 34", "'south' 51", "'north' 28"}, "column 3 has no name and no value, and is left out"},
		{"utf16.txt", importer.Dialect{}, "ward TEXT, age INTEGER", []string{"'Köln' 34", "'Łódź' 51"}, ""},
	}
	for _, test := range tests {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: filepath.Join("..", "..", "testdata", "reports", "csv", test.file), Table: "t", Dialect: test.dialect})
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		rows := contents(t, db, "t", r.Columns)
		if got := describe(r.Columns); got != test.columns || !slices.Equal(rows[:min(len(rows), len(test.rows))], test.rows) || r.Rows != int64(len(rows)) {
			t.Errorf("%s: %s %q, want %s %q", test.file, got, rows, test.columns, test.rows)
		}
		if got := strings.Join(r.Notes, "; "); got != test.notes {
			t.Errorf("%s: notes %q, want %q", test.file, got, test.notes)
		}
	}
}

// TestOtherFiles imports texts of the same kinds.
func TestOtherFiles(t *testing.T) {
	tests := []struct {
		name, text, columns string
		rows                []string
		notes               int
	}{
		{"names that are taken", "a,,A,a_2,a\n1,2,3,4,5\n", "a INTEGER, column_2 INTEGER, A_3 INTEGER, a_2 INTEGER, a_4 INTEGER", []string{"1 2 3 4 5"}, 3},
		{"names again among the rows", "a,b\n1,x\na,b\n2,y\na , b\n", "a INTEGER, b TEXT", []string{"1 'x'", "2 'y'"}, 1},
		{"a row that is its name", "a\na\nb\n", "a TEXT", []string{"'a'", "'b'"}, 0},
		{"no names", "M,65,1335.67\nF,70,12.5\n", "M TEXT, 65 INTEGER, 1335.67 REAL", []string{"'F' 70 12.5"}, 1},
		{"years as names", "land,2019,2020\nx,1,2.5\n", "land TEXT, 2019 INTEGER, 2020 REAL", []string{"'x' 1 2.5"}, 0},
		{"dates in eight figures", "a,day\nx,20240131\ny,20231201\n", "a TEXT, day INTEGER", []string{"'x' 20240131", "'y' 20231201"}, 1},
		{"eight figures that are no dates", "a,id\nx,20240131\ny,20241331\n", "a TEXT, id INTEGER", []string{"'x' 20240131", "'y' 20241331"}, 0},
		{"months without a day", "a,b,c,d\n2024-03,03/2024,Mar 2024,März-24\n2024-12,12/2024,May-24,Juni 24\n", "a TEXT, b TEXT, c TEXT, d TEXT", []string{"'2024-03' '03/2024' 'Mar 2024' 'März-24'", "'2024-12' '12/2024' 'May-24' 'Juni 24'"}, 4},
		{"no months", "a,b\n2024-13,Box 24\n2024-03,May 2024\n", "a TEXT, b TEXT", []string{"'2024-13' 'Box 24'", "'2024-03' 'May 2024'"}, 0},
		{"moments in UTC by name", "at\n2024-01-31 10:15:00 UTC\n2024-02-29 09:00:00.5 UTC\n", "at TEXT", []string{"'2024-01-31 10:15:00'", "'2024-02-29 09:00:00.5'"}, 1},
		{"Stata's missing values", "a,b\n1,2\n.a,3\n4,.z\n", "a TEXT, b TEXT", []string{"'1' '2'", "'.a' '3'", "'4' '.z'"}, 2},
		{"a name like a given one", ",column_1\n1,2\n", "column_1_2 INTEGER, column_1 INTEGER", []string{"1 2"}, 1},
		{"line end in a name", "a,\"b\nc\"\n1,2\n", "a INTEGER, b c INTEGER", []string{"1 2"}, 0},
		{"a last column without a name", "a,b,\n1,2,3\n", "a INTEGER, b INTEGER, column_3 INTEGER", []string{"1 2 3"}, 1},
		{"empty columns of a sheet", "a,b,,,\n1,2,,,\n", "a INTEGER, b INTEGER", []string{"1 2"}, 3},
		{"rows that end in a separator", "a,b\n1,2,\n3,4,\n", "a INTEGER, b INTEGER", []string{"1 2", "3 4"}, 1},
		{"numbered rows", "\"a\",\"b\"\n\"1\",\"x\",2\n\"2\",\"y\",4\n", "column_1 INTEGER, a TEXT, b INTEGER", []string{"1 'x' 2", "2 'y' 4"}, 1},
		{"numbered rows without quotes", "a\tb\n1\tx\t2\n2\ty\t4\n", "column_1 INTEGER, a TEXT, b INTEGER", []string{"1 'x' 2", "2 'y' 4"}, 1},
		{"rows with names", "a\tb\nMazda RX\t1\tx\nFiat 128\t2\ty\n", "column_1 TEXT, a INTEGER, b TEXT", []string{"'Mazda RX' 1 'x'", "'Fiat 128' 2 'y'"}, 1},
		{"one row that is too long", "a,b\n1,x,2\n3,y\n", "", nil, 0},
		{"names again behind a mark", "\ufeffa,b\n1,x\n\ufeffa,b\n2,y\n", "a INTEGER, b TEXT", []string{"1 'x'", "2 'y'"}, 1},
		{"blanks between columns", "id  name   n\n1   x      5\n22  yy     6\n", "id  name   n TEXT", []string{"'1   x      5'", "'22  yy     6'"}, 1},
		{"MySQL's lines", "+----+---+\n| id | n |\n+----+---+\n|  1 | x |\n+----+---+\n|  2 | NULL |\n+----+---+\n", "id INTEGER, n TEXT", []string{"1 'x'", "2 'NULL'"}, 3},
		{"psql's lines", " id |  name  \n----+--------\n  1 | 12\" a \n  2 | \n(2 rows)\n\n", "id INTEGER, name TEXT", []string{"1 '12\" a'", "2 ''"}, 3},
		{"Markdown's lines", "| id | n |\n|---:|:--|\n| 1 | x |\n", "id INTEGER, n TEXT", []string{"1 'x'"}, 3},
		{"lines of boxes", "┌────┬───┐\n│ id │ n │\n├────┼───┤\n│  1 │ x │\n└────┴───┘\n", "id INTEGER, n TEXT", []string{"1 'x'"}, 3},
		{"bars without lines", "a|b\n --|x \n", "a TEXT, b TEXT", []string{"' --' 'x '"}, 0},
		{"formulas of texts", "zip;n\n=\"00012\";\"=\"\"7\"\"\"\n=\"a \"\"b\"\"\";8\n", "zip TEXT, n INTEGER", []string{"'00012' 7", "'a \"\"b\"\"' 8"}, 0},
		{"line end in the first name", "\"a\nb\";c\n1;2\n3;4\n", "a b INTEGER, c INTEGER", []string{"1 2", "3 4"}, 0},
		{"another separator", "a~b\n1~2\n", "a~b TEXT", []string{"'1~2'"}, 1},
		{"sep of tabs", "\"SEP=\t\"\r\na\tb,c\r\n1\t2\r\n", "a INTEGER, b,c INTEGER", []string{"1 2"}, 0},
		{"mark before sep", "\ufeffsep=|\na|b\n1|2\n", "a INTEGER, b INTEGER", []string{"1 2"}, 0},
		{"big-endian", "\xfe\xff\x00a\x00\n\x01\x41\x00\n", "a TEXT", []string{"'Ł'"}, 0},
		{"CR and quotes", "a,b\r\"x,y\",2\r", "a TEXT, b INTEGER", []string{"'x,y' 2"}, 1},
		{"a comment and a blank line", "# x, y\n\na,b,c\n1,2,3\n", "a INTEGER, b INTEGER, c INTEGER", []string{"1 2 3"}, 1},
		{"blank lines first", "\n\na;b\n1;2\n", "a INTEGER, b INTEGER", []string{"1 2"}, 0},
		{"decimal commas", "a,b\nx,\"1,5\"\ny,\"2,25\"\n", "a TEXT, b TEXT", []string{"'x' '1,5'", "'y' '2,25'"}, 1},
		{"blanks before quotes", "a, \"b\",c\n1, \"x, \"\"y\"\"\", z\n", "a INTEGER, b TEXT, c TEXT", []string{"1 'x, \"y\"' 'z'"}, 1},
		{"what looks like them", "a,b\n\"x, \"\"y\"\"\", z\n", "a TEXT, b TEXT", []string{"'x, \"y\"' ' z'"}, 0},
		{"a footer", "a;b\r\nx;\"1\n2\"\r\n\r\nSource; none; 2024\r\n", "", nil, 0},
		{"a footer of one field", "a;b\r\nx;\"1\n2\"\r\nSource: an office\r\n* estimates\r\n", "a TEXT, b TEXT", []string{"'x' '1\n2'"}, 1},
		{"a footer below a blank line", "a,b,c\n1,2,3\n\nSource: x, y\nz\n", "a INTEGER, b INTEGER, c INTEGER", []string{"1 2 3"}, 1},
		{"a total of one field", "a,b\n1,2\nTotal\n", "a INTEGER, b INTEGER", []string{"1 2"}, 1},
		{"a row of sums", "a,b\nx,2\nTotal,2\n", "a TEXT, b INTEGER", []string{"'x' 2", "'Total' 2"}, 1},
		{"comments among rows", "\ufeff# x\n# y\na,b\n# first\n1,2\n# some, more, words\n3,4\n#\n", "a INTEGER, b INTEGER", []string{"1 2", "3 4"}, 2},
		{"# in a row", "a,b\n#1,2\n", "a TEXT, b INTEGER", []string{"'#1' 2"}, 0},
		{"empty texts in many columns", "a,b,c,d,e\nx,x,x,x,1\n,,,,2\n", "a TEXT, b TEXT, c TEXT, d TEXT, e INTEGER", []string{"'x' 'x' 'x' 'x' 1", "'' '' '' '' 2"}, 1},
		{"blanks behind numbers", "a,b\n1 , 2.5 \n , 3 \n", "a INTEGER, b REAL", []string{"1 2.5", "NULL 3.0"}, 0},
	}
	for _, test := range tests {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: write(t, "x.csv", test.text), Table: "t"})
		if test.columns == "" && sqlerr.CodeOf(err) == sqlerr.Invalid {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got, rows := describe(r.Columns), contents(t, db, "t", r.Columns); got != test.columns || !slices.Equal(rows, test.rows) || len(r.Notes) != test.notes {
			t.Errorf("%s: %s %q %q, want %s %q", test.name, got, rows, r.Notes, test.columns, test.rows)
		}
	}
}

// TestSkipLast leaves out the last lines, whatever they look like, and says when that may be wanted.
func TestSkipLast(t *testing.T) {
	const rows = "ward,age\nnorth,34\nsouth,51\n"
	for _, test := range []struct {
		name, text string
		last       int
		notes      string
		rows       int // -1 for a refusal
	}{
		{"none", rows, 0, "", 2},
		{"a row", rows, 1, "", 1},
		{"a total", rows + "Total,85\n", 0, "1 row of `Total`, which may add up others: --skip-last 1 leaves out what is at the end", 3},
		{"that total", rows + "Total,85\n", 1, "", 2},
		{"without a line end", rows + "Total,85", 1, "", 2},
		{"blank lines below", rows + "Total,85\r\n\r\n  \n", 1, "", 2},
		{"blank lines among them", rows + "Total,85\n\nSource: an \"office\n", 2, "", 2},
		{"in other languages", rows + "Summe:,85\nGesamt,85\n", 0, "2 rows of `Gesamt`, which may add up others: --skip-last 2 leaves out what is at the end", 4},
		{"of two kinds", rows + "Grand Total,85\n\nSource: x\n", 0, "1 line left out below the rows; 1 row of `Grand Total`, which may add up others: --skip-last 2 leaves out what is at the end", 3},
		{"among rows", "ward,age\nnorth,34\nTotal,34\nsouth,51\n", 0, "1 row of `Total`, which may add up others; CREATE VIEW … WHERE leaves out the others", 3},
		{"subtotals behind a number", "no,ward,age\n1,north,34\n,Subtotal north,34\n2,Sum Ltd,51\n,Total,85\n, ,\n", 0, "1 row without a value left out; 2 rows of `Total`, which may add up others: --skip-last 2 leaves out what is at the end; CREATE VIEW … WHERE leaves out the others", 4},
		{"a word before others", "ward,no,age\nAll Saints,5,34\nSumme Nord,,34\nSum,7,5\n", 1, "1 row of `Summe`, which may add up others: --skip-last 1 leaves out what is at the end", 2},
		{"hollow rows", "ward,age\nnorth,34\n,\nsouth,51\n  ,\n,\n", 0, "3 rows without a value left out", 2},
		{"a column of that name", "Total,age\n1,34\n2,51\n", 0, "", 2},
		{"CR", strings.ReplaceAll(rows+"Sum,85\n", "\n", "\r"), 1, "lines end in CR", 2},
		{"other quotes", "'ward','age'\n'north',34\n'south',51\n'Total',85\n", 1, "", 2},
		{"more than there are", rows, 3, "", -1},
	} {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: write(t, "x.csv", test.text), Table: "t", Dialect: importer.Dialect{SkipLast: test.last}})
		if test.rows < 0 && sqlerr.CodeOf(err) == sqlerr.Invalid {
			continue
		}
		if got := strings.Join(r.Notes, "; "); err != nil || r.Rows != int64(test.rows) || got != test.notes {
			t.Errorf("%s: %d rows, %q, %v; want %d, %q", test.name, r.Rows, got, err, test.rows, test.notes)
		}
		if test.last > 0 && err == nil && r.Columns[1].Type != "INTEGER" {
			t.Errorf("%s: %v", test.name, r.Columns)
		}
	}
}

// TestColumns: of a text and of a Parquet file, the columns that are asked for.
func TestColumns(t *testing.T) {
	type row struct {
		A []int64
		B int64
		C string
	}
	texts := write(t, "x.csv", "A,b,c,d,d\n1/2/2024,5,x,7,8\n")
	parquet := write(t, "x.parquet", string(parquetBytes(t, row{A: []int64{1, 2}, B: 5, C: "x"})))
	for _, test := range []struct {
		path, want, notes string
		columns           []string
		code              sqlerr.Code
	}{
		{texts, "5 'x'", "", []string{"C", "b"}, ""},
		{texts, "8", "column 5 has the name of another, and is called d_2", []string{"d_2"}, ""},
		{texts, "", "", []string{"b", "nosuch"}, sqlerr.Unknown},
		{parquet, "5 'x'", "", []string{"c", "B"}, ""},
		{parquet, "5", "column A is left out: it is nested", []string{"A", "B"}, ""},
		{parquet, "", "", []string{"A"}, sqlerr.Unsupported},
		{parquet, "", "", []string{""}, sqlerr.Unknown},
	} {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: test.path, Table: "t", Dialect: importer.Dialect{Columns: test.columns}})
		if sqlerr.CodeOf(err) != test.code || strings.Join(r.Notes, "; ") != test.notes {
			t.Errorf("%s %q: %q, %v", test.path, test.columns, r.Notes, err)
		}
		if err == nil && !slices.Equal(contents(t, db, "t", r.Columns), []string{test.want}) {
			t.Errorf("%s %q: %q, want %s", test.path, test.columns, contents(t, db, "t", r.Columns), test.want)
		}
	}
}

// TestHints: what is refused says what to type.
func TestHints(t *testing.T) {
	tests := []struct {
		name, text, hint string
		dialect          importer.Dialect
	}{
		{"padded title", "Admissions,,\n,,\nward,age,days\nx,1,2\n", "--skip 2 ", importer.Dialect{}},
		{"title", "Admissions\n\nward;age\nx;1\ny;2\n", "--skip 2 ", importer.Dialect{}},
		{"title above decimal commas", "Gebühren\n\nStadt;Betrag\nUlm;1,5\nBonn;22,75\n", "--skip 2 ", importer.Dialect{}},
		{"title with a separator", "A, B\nward;age\nx;1\n", "--skip N ", importer.Dialect{}},
		{"padded above", ",,\na,b,c\n1,2,3\n", "--skip 1 ", importer.Dialect{}},
		{"names behind #", "#a,b\n1,2\n", "--skip 0 ", importer.Dialect{}},
		{"another encoding", "a\nK\xf6ln\n", "--encoding windows-1252", importer.Dialect{}},
		{"not that encoding", "a\n\x81\n", "--encoding", importer.Dialect{Encoding: "shift_jis"}},
		{"bare quotes", "a\tb\n12\" pipe\t3\n", "--quote ''", importer.Dialect{}},
		{"open quotes", "a,b\n\"open,3\n", "--quote ''", importer.Dialect{}},
	}
	for _, test := range tests {
		_, err := imported(t, memory(t), importer.Options{Path: write(t, "x.csv", test.text), Table: "t", Dialect: test.dialect})
		if e, ok := err.(*sqlerr.Error); !ok || e.Code != sqlerr.Invalid || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%s: %v, want a hint of %q", test.name, err, test.hint)
		}
	}
	for text, d := range map[string]importer.Dialect{"#a,b\n1,2\n": {HasSkip: true}, "a\nx;1\ny;2\n": {HasSkip: true}, "a,,\n1,2,3\n": {HasSkip: true}} {
		if _, err := imported(t, memory(t), importer.Options{Path: write(t, "x.csv", text), Table: "t", Dialect: d}); err != nil {
			t.Errorf("%q as it stands: %v", text, err)
		}
	}
}

// TestDress imports numbers in the dress of many places, words for what is missing, and moments
// with hours from UTC: what becomes of them, and which switches are named.
func TestDress(t *testing.T) {
	numbers, commas := importer.Dialect{Numbers: true}, importer.Dialect{Numbers: true, Decimal: ','}
	tests := []struct {
		values  string // separated by |
		dialect importer.Dialect
		want    string
		notes   string
	}{
		{"1.250,00 €|12,50 €", importer.Dialect{}, "TEXT", "`v`: numbers but for signs of money, percent or thousands in 2 rows: --numbers --decimal ,"},
		{"4\u202f095,00\u00a0€|12,5\u00a0%|NSP|-7\u2009000\u00a0€", importer.Dialect{}, "TEXT", "`v`: numbers but for `NSP` in 1 row, signs of money, percent or thousands in 3 rows: --null NSP --numbers --decimal ,"},
		{"4\u202f095,00\u00a0€|12,5\u00a0%|NSP|-7\u2009000\u00a0€", importer.Dialect{Numbers: true, Decimal: ',', Nulls: []string{"NSP"}}, "REAL 4095.0 12.5 NULL -7000.0", ""},
		{"1.250,00 €|12,50 €", numbers, "TEXT", "`v`: numbers but for signs of money, percent or thousands in 2 rows: --numbers --decimal ,"},
		{"1.250,00 €|12,50 €|- 3 250,5 zł|7%|1’000,5 Kč", commas, "REAL 1250.0 12.5 -3250.5 7.0 1000.5", ""},
		{"1,25,000|₹12,34,567|Rs. 5|R$ 6|7円|SEK 8|9 NOK", numbers, "INTEGER 125000 1234567 5 6 7 8 9", ""},
		{"−5|+5|5-|(1,200)|-£3|5 250", numbers, "INTEGER -5 5 -5 -1200 -3 5250", ""},
		{"5-|0-|(0.00)|3", numbers, "REAL -5.0 0.0 0.0 3.0", ""},
		{"−5|+7|8", importer.Dialect{}, "TEXT", "`v`: numbers but for signs of money, percent or thousands in 2 rows: --numbers"},
		{"01234|02345|50667", importer.Dialect{}, "TEXT", ""}, // codes, whose zeros would be lost
		{"01234|02345|50667", numbers, "TEXT '01234' '02345' '50667'", ""},
		{"12345678901234567890|23456789012345678901|5", importer.Dialect{}, "TEXT", ""},
		{"1|—|#DIV/0!|2|k.A.|3", importer.Dialect{}, "TEXT", "`v`: numbers but for `#DIV/0!` in 1 row, `k.A.` in 1 row, `—` in 1 row: --null #DIV/0! --null k.A. --null —"},
		{"1|2|3|4|5|<5|7", importer.Dialect{}, "TEXT", "`v`: numbers but for other texts in 1 row, the first in line 7"},
		{"a1|b2|3", importer.Dialect{}, "TEXT", ""},
		{"2024-03-22 05:00:00+00:00|2024-12-31 23:30:00-01:00", importer.Dialect{}, "TEXT '2024-03-22 05:00:00' '2025-01-01 00:30:00'", "`v`: dates as Y-m-d, stored in UTC"},
		{"22.03.2024 05:00+0230|23.03.2024 0:15:00.5+02", importer.Dialect{}, "TEXT '2024-03-22 02:30:00' '2024-03-22 22:15:00.5'", "`v`: dates as d.m.Y, stored in UTC"},
		{"2024-03-22 05:00:00+02|x", importer.Dialect{Dates: []string{""}}, "TEXT '2024-03-22 05:00:00+02' 'x'", ""},
		{"Fri, 22 Mar 2024|Saturday 23 March 2024", importer.Dialect{}, "TEXT '2024-03-22' '2024-03-23'", "`v`: dates with names of months"},
		{"60 kg|72.5 kg|1,081kg", importer.Dialect{}, "TEXT", "`v`: numbers but for a unit in 3 rows: --numbers"},
		{"60 kg|72.5 kg|1,081kg", numbers, "REAL 60.0 72.5 1081.0", ""},
		{"1,75 m|12 m|1.000 m", importer.Dialect{}, "TEXT", "`v`: numbers but for a unit in 3 rows: --numbers --decimal ,"},
		{"36,6 °C|37 °C", commas, "REAL 36.6 37.0", ""},
		{"60 kg|132 lbs", importer.Dialect{}, "TEXT", "`v`: numbers but for a unit in 2 rows, which is not that of all"},
		{"60 kg|132 lbs", numbers, "TEXT '60 kg' '132 lbs'", "`v`: numbers but for a unit in 2 rows, which is not that of all"},
		{"1 day|2 days|3 Days", numbers, "INTEGER 1 2 3", ""},
		{"5 mW|7 MW", numbers, "TEXT '5 mW' '7 MW'", "`v`: numbers but for a unit in 2 rows, which is not that of all"},
		{"1 Tag|2 Tage|3 Tage", numbers, "INTEGER 1 2 3", ""},
		{"5 m|7 mm", numbers, "TEXT '5 m' '7 mm'", "`v`: numbers but for a unit in 2 rows, which is not that of all"},
		{"1st March 2024|22nd Apr 2024|1er mai 2024", importer.Dialect{}, "TEXT '2024-03-01' '2024-04-22' '2024-05-01'", "`v`: dates with names of months"},
		{"60 kg|132", numbers, "TEXT '60 kg' '132'", "`v`: numbers but for a unit in 1 row, which is not that of all"},
		{"1A|2B|3C|4D|5E", importer.Dialect{}, "TEXT", ""}, // codes
		{"01OKT2020|15MAI21", importer.Dialect{}, "TEXT '01OKT2020' '15MAI21'", "`v`: dates in more than one form"},
		{"01OKT2020|15MAI2021|3dez2021 10:15", importer.Dialect{}, "TEXT '2020-10-01 00:00:00' '2021-05-15 00:00:00' '2021-12-03 10:15:00'", "`v`: dates with names of months"},
		{"22-MAR-24|1-APR-24", importer.Dialect{}, "TEXT '22-MAR-24' '1-APR-24'", "`v`: dates with a year of two digits: --date d-b-y"},
	}
	for _, test := range tests {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: write(t, "x.csv", "v;w\n"+strings.ReplaceAll(test.values, "|", ";\n")+";\n"), Table: "t", Dialect: test.dialect})
		if err != nil {
			t.Errorf("%s: %v", test.values, err)
			continue
		}
		kept := r.Columns[:1]
		got := kept[0].Type
		if strings.Contains(test.want, " ") {
			got += " " + strings.Join(contents(t, db, "t", kept), " ")
		}
		if notes := strings.Join(r.Notes, "; "); got != test.want || notes != test.notes {
			t.Errorf("%s: %s, notes %q, want %s, %q", test.values, got, notes, test.want, test.notes)
		}
	}
}

// TestOtherKinds: what is no text with a line of names is refused with what to do, and what looks
// like it is taken.
func TestOtherKinds(t *testing.T) {
	tests := []struct{ text, want, hint string }{
		{"PK\x03\x04\x14\x00\x06", "is a workbook or an archive", "save its sheet as CSV"},
		{"\xd0\xcf\x11\xe0\xa1", "is a workbook or an archive", "save its sheet as CSV"},
		{"\x1f\x8b\x08\x00", "is compressed", "ends in .gz"},
		{"\xfd7zXZ\x00\x00", "compressed", "unpack it"},
		{"SQLite format 3\x00\x10", "is a database", "dpsql FILE"},
		{"\n<!DOCTYPE html>\n<html>", "web page", "as CSV"},
		{"<?xml version=\"1.0\"?>", "XML", "as CSV"},
		{"[{\"a\": 1}]", "JSON", "as CSV"},
		{"a\x00;\x00b\x00\n\x001\x00;\x002\x00\n\x00", "is in UTF-16 without its mark", "--encoding utf-16le"},
		{"\x00\x01\x02\x03,\x04", "bytes that no text has", "as CSV"},
		{"a b\n\"1\" \"x\"\n", "has a quote", "--separator"},
		{"<5,>5\n1,2\n", "", ""},
		{"{a},[b]\n1,2\n", "", ""},
		{"PK,b\n1,2\n", "", ""},
	}
	for _, test := range tests {
		_, err := imported(t, memory(t), importer.Options{Path: write(t, "x.csv", test.text), Table: "t"})
		e, refused := err.(*sqlerr.Error)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%q: %v", test.text, err)
		case test.want != "" && (!refused || !strings.Contains(e.Error(), test.want) || !strings.Contains(e.Hint, test.hint)):
			t.Errorf("%q: %v, want %s, %s", test.text, err, test.want, test.hint)
		}
	}
}
