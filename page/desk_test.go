package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"dpsql/page"
	"dpsql/sqlerr"
)

// picture is a table without releases.
const picture = `{"tables":[{"name":"visits","columns":[
	{"name":"sex","type":"TEXT","domain":{"values":["F","M"]}},{"name":"age","type":"INTEGER","domain":{"range":[0,120]}}]}]}`

// read reads a picture.
func read(t *testing.T, text string) (p page.Picture) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// codeOf returns the code of an error, "" for none.
func codeOf(t *testing.T, err error) sqlerr.Code {
	t.Helper()
	var e *sqlerr.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e == nil {
		return ""
	}
	return e.Code
}

func TestAsk(t *testing.T) {
	for text, want := range map[string]sqlerr.Code{
		`SET confidence = 0.9`:                        "",
		`SET confidence = 2`:                          sqlerr.Invalid,
		`SET accuracy = 5`:                            "",
		`SET accuracy = default`:                      "",
		`SHOW TABLES`:                                 "",
		`SHOW RELEASES FULL`:                          "",
		`SHOW SETTINGS`:                               "",
		`DESCRIBE visits`:                             "",
		`DESCRIBE stays`:                              sqlerr.Unknown,
		`SHOW BUDGET`:                                 sqlerr.Unsupported,
		`SHOW LEDGER`:                                 sqlerr.Unsupported,
		`EXPORT RELEASE r TO 'x.db'`:                  sqlerr.Unsupported,
		`SELECT COUNT(*) FROM visits`:                 sqlerr.Uncovered,
		`SELECT COUNT(*) FROM stays`:                  sqlerr.Unknown,
		`SELECT COUNT(*) FROM visits WHERE age = 200`: "",
		`SELECT MEDIAN(age) FROM visits`:              sqlerr.Uncovered,
		`SELECT 1`:                                    "",
		`SELECT COUNT(*)`:                             "",
		`EXPLAIN SELECT COUNT(*) FROM visits`:         "",
		`SELEC COUNT(*) FROM visits`:                  sqlerr.Malformed,
		`SELECT n FROM (SELECT COUNT(*) AS n FROM visits WHERE sex = 'F')`: sqlerr.Uncovered,
	} {
		d, err := page.Open(read(t, picture), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r, err := d.Ask(t.Context(), text)
		if got := codeOf(t, err); got != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err == nil && r == nil {
			t.Errorf("%s: no result", text)
		}
	}
}

func TestOpen(t *testing.T) {
	for what, c := range map[string]struct {
		picture  string
		payloads [][]byte
		want     sqlerr.Code
	}{
		"no release":         {picture, nil, ""},
		"a payload too many": {picture, [][]byte{nil}, sqlerr.Corrupt},
		"no such table":      {`{"releases":[{"name":"r","table":"visits","using":"projection"}]}`, [][]byte{nil}, sqlerr.Corrupt},
		"another kind":       {picture[:len(picture)-1] + `,"releases":[{"name":"r","table":"visits","using":"sketch"}]}`, [][]byte{nil}, sqlerr.Unsupported},
		"a damaged payload":  {picture[:len(picture)-1] + `,"releases":[{"name":"r","table":"visits","using":"marginals"}]}`, [][]byte{{1, 2, 3}}, sqlerr.Corrupt},
		"a damaged domain":   {`{"tables":[{"name":"t","columns":[{"name":"a","type":"DATE","domain":{"range":[1,2]}}]}]}`, nil, sqlerr.Corrupt},
	} {
		d, err := page.Open(read(t, c.picture), c.payloads)
		if got := codeOf(t, err); got != c.want {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if d != nil {
			d.Close()
		}
	}
}

// TestSurroundings asks for what SQLite computes: that of the program, or of a page (see web/build).
func TestSurroundings(t *testing.T) {
	const none = `(SELECT COUNT(*) AS n FROM visits WHERE age = 200), (SELECT 'F' AS sex UNION ALL SELECT 'M')`
	for text, want := range map[string]string{
		`SELECT n + 1 AS more FROM (SELECT COUNT(*) AS n FROM visits WHERE age = 200)`:                                              `[[1]] [[{1 1}]]`,
		`SELECT sex, n, SUM(n) OVER (ORDER BY sex) FROM ` + none:                                                                    `[[F 0 0] [M 0 0]] [[<nil> {0 0} <nil>] [<nil> {0 0} <nil>]]`,
		`SELECT "sex" || '?' AS "it's ""x"" ?", n / 2.0 FROM ` + none + ` ORDER BY 1 DESC LIMIT 1`:                                  `[[M? 0]] [[<nil> {0 0}]]`,
		`WITH a AS (SELECT 9007199254740993 AS n, 0.1 AS x, 2.0 AS y, 'it''s' AS s, NULL AS z) SELECT n + 1, x * 3, y, s, z FROM a`: `[[9007199254740994 0.30000000000000004 2 it's <nil>]] []`,
		`SELECT typeof(2.0), typeof(5000000000), 7 / 2, 7 / 2.0, round(2.5), 'a' || 1`:                                              `[[real integer 3 3.5 3 a1]] []`,
		`SELECT sqrt(2), floor(2.5), upper('a'), substr('abc', 2), coalesce(NULL, 1), log(100), ln(1), power(2, 10)`:                `[[1.4142135623730951 2 A bc 1 2 0 1024]] []`,
		`SELECT strftime('%Y-%m', '2024-02-29'), date('2024-01-31', '+1 month'), julianday('2024-01-01')`:                           `[[2024-02 2024-03-02 2.4603105e+06]] []`,
		`SELECT 9223372036854775807 + 1`:       `[[9.223372036854776e+18]] []`,
		`SELECT "nosuch" FROM ` + none:         `unknown: no such column: nosuch`,
		`SELECT nosuch`:                        `unknown: no such column: nosuch`,
		`SELECT random()`:                      `unsupported: the function random in a statement about public tables is outside the dialect`,
		`SELECT n FROM (VALUES (1), (2)) AS a`: `unknown: no such column: n`,
		`SELECT abs(-9223372036854775807 - 1)`: `invalid: integer overflow`,
		`SELECT COUNT(*) FROM visits WHERE sex IN (SELECT upper('x')) AND upper(sex) = 'F'`: `[[0]] [[{0 0}]]`,
	} {
		d, err := page.Open(read(t, picture), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r, err := d.Ask(t.Context(), text)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(r.Rows, " ")
			if r.Answer != nil {
				got += fmt.Sprint(r.Answer.Intervals)
			} else {
				got += "[]"
			}
		}
		if got != want {
			t.Errorf("%s\n%s\nwant\n%s", text, got, want)
		}
	}
}
