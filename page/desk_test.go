package page_test

import (
	"encoding/json"
	"errors"
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
		`SET accuracy = 5`:                            sqlerr.Unsupported,
		`SET accuracy = default`:                      "",
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
