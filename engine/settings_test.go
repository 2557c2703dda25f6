package engine_test

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// badSettings are values that SET refuses, by setting.
var badSettings = map[string][]string{
	"mechanism":  {`''`},
	"accuracy":   {`0`, `-1`, `-0.0`, `inf`, `nan`, `1e999`, `'fifty'`, `''`, `on`},
	"confidence": {`0`, `1`, `95`, `-0.5`, `nan`, `1e-999`, `0.99999999999999999999`, `default`, `'high'`, `''`},
	"clamp":      {`maybe`, `2`, `-1`, `0.5`, `''`},
	"unverified": {`maybe`, `2`, `-1`, `0.5`, `''`},
	"margins":    {`exact`, `on`, `1`, `''`},
	"colour":     {`on`, `0.5`},
}

// A refused SET changes nothing: neither the settings, nor an answer's description of
// itself, nor the promise of SHOW BUDGET.
func TestRefusedSetChangesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range engine.SettingNames {
		if len(badSettings[name]) == 0 {
			t.Errorf("no value of %s is tried", name)
		}
	}
	s := clinic(t)
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 60`)
	must(t, s, `SET confidence = 0.9`)
	must(t, s, `SET clamp = on`)
	must(t, s, `SET unverified = off`)
	const ask = `SELECT COUNT(*) FROM admissions WHERE age < 50`
	must(t, s, ask)
	before, listed, budget, answer := s.Settings(), must(t, s, `SHOW SETTINGS`).Rows, must(t, s, `SHOW BUDGET`).Rows, must(t, s, ask)
	for name, values := range badSettings {
		for _, value := range values {
			text := `SET ` + name + ` = ` + value
			_, err := s.Exec(t.Context(), text, nil)
			if code := sqlerr.CodeOf(err); code != sqlerr.Invalid && !(name == "colour" && code == sqlerr.Unknown) {
				t.Errorf("%s: %v", text, err)
			}
			if s.Set(name, strings.Trim(value, "'")) == nil {
				t.Errorf("Session.Set accepts %s", text)
			}
			if s.Settings() != before || !reflect.DeepEqual(must(t, s, `SHOW SETTINGS`).Rows, listed) {
				t.Fatalf("after %s: %+v, before %+v", text, s.Settings(), before)
			}
			if got := must(t, s, `SHOW BUDGET`).Rows; !reflect.DeepEqual(got, budget) {
				t.Fatalf("after %s: SHOW BUDGET is %v, before %v", text, got, budget)
			}
			if got := must(t, s, ask); !reflect.DeepEqual(got.Rows, answer.Rows) || !reflect.DeepEqual(got.Answer, answer.Answer) {
				t.Fatalf("after %s: %v %+v, before %v %+v", text, got.Rows, got.Answer, answer.Rows, answer.Answer)
			}
		}
	}
}

// A database cannot be opened with settings that SET would refuse.
func TestOpenRefusesSettings(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*engine.Settings){
		func(s *engine.Settings) { s.Mechanism = "" },
		func(s *engine.Settings) { s.Accuracy = -1 }, func(s *engine.Settings) { s.Accuracy = math.Inf(1) }, func(s *engine.Settings) { s.Accuracy = math.NaN() },
		func(s *engine.Settings) { s.Confidence = 0 }, func(s *engine.Settings) { s.Confidence = 1 }, func(s *engine.Settings) { s.Confidence = math.NaN() },
	} {
		settings := engine.DefaultSettings()
		change(&settings)
		db, err := engine.Open(filepath.Join(t.TempDir(), "a.db"), engine.Options{Settings: &settings})
		if sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%+v: %v", settings, err)
		}
		if err == nil {
			db.Close()
		}
	}
}

// The analyst role gets no times and no progress for any statement, since the time of a
// statement can depend on private rows.
func TestAnalystsSeeNoTimes(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4)`)
	analyst := asAnalyst(t, s)
	for _, who := range []*engine.Session{s, analyst} {
		steps, times := 0, 0
		who.SetProgress(func(done, all int64) { steps++ })
		all := []string{
			`SHOW TABLES`, `SHOW LEDGER`, `DESCRIBE admissions`, `SET accuracy = 60`,
			`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age < 7`,
			`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND diagnosis = 'E10'`,
			`EXPLAIN SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
			`SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
			`SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
			`SELECT diagnosis, COUNT(*), AVG(age) FROM admissions WHERE zip = '15211' GROUP BY diagnosis`,
			`SELECT COUNT(*) FROM admissions WHERE age = 999`,
		}
		for _, text := range all {
			if must(t, who, text).Elapsed != 0 {
				times++
			}
		}
		if who == analyst && (steps != 0 || times != 0) {
			t.Errorf("the analyst role is told %d times and %d steps", times, steps)
		}
		if who == s && (steps == 0 || times != len(all)) {
			t.Errorf("a curator is told %d times of %d, and %d steps", times, len(all), steps)
		}
	}
}

// TestSettingsOfOneStatement checks that WITH and comments set what one statement needs and
// no more, that an error in a rewritten statement is placed in what was written, and that
// arguments keep their places.
func TestSettingsOfOneStatement(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE r ON admissions (age) USING PROJECTION WITH (epsilon = 0.1)`)
	before := s.Settings()
	for _, text := range []string{
		`SELECT COUNT(*) FROM admissions WITH CONFIDENCE 0.5, MECHANISM auto`,
		`/*+ confidence(0.5) */ SELECT COUNT(*) FROM admissions`,
		`SELECT /*+ confidence = 0.5 */ COUNT(*) FROM public.admissions`,
		`EXPLAIN SELECT COUNT(*) FROM admissions WITH CONFIDENCE 0.5`,
	} {
		r := must(t, s, text)
		if r.Answer != nil && r.Answer.Confidence != 0.5 {
			t.Errorf("%s: confidence %v", text, r.Answer.Confidence)
		}
		if s.Settings() != before {
			t.Errorf("%s changed the settings of the session", text)
		}
	}
	for _, c := range []struct {
		text string // ‸ marks the position
		code sqlerr.Code
	}{
		{`SELECT COUNT(*) FROM admissions WITH ‸ACURACY 5`, sqlerr.Unknown},
		{`SELECT COUNT(*) FROM admissions WITH ‸CONFIDENCE 2`, sqlerr.Invalid},
		{`/*+ ‸confidence(2) */ SELECT COUNT(*) FROM admissions`, sqlerr.Invalid},
		{`SELECT COUNT(*)::float, ‸nosuch FROM admissions`, sqlerr.Unknown},
		{`SELECT COUNT(*)::float FROM ‸nosuch`, sqlerr.Unknown},
		{`SELECT COUNT(*)::float FROM admissions WHERE ‸WHERE`, sqlerr.Malformed},
		{`SELECT 'ä'::text, DATE_TRUNC('day', ‸nosuch)`, sqlerr.Unknown},
	} {
		position := len([]rune(c.text[:strings.Index(c.text, "‸")])) + 1
		e := refused(t, s, c.code, strings.Replace(c.text, "‸", "", 1))
		if e.Position != position {
			t.Errorf("%s: %v at %d, want %d", c.text, e, e.Position, position)
		}
	}
	r, err := s.Exec(t.Context(), `SELECT TOP 1 ?::int + ?2 AS a, :n AS b, DATE_TRUNC('quarter', ?) AS c`,
		[]query.Value{query.Int(1), query.Int(2), query.Text("n"), query.Text("2024-05-17")})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Rows); got != "[[3 n 2024-04-01]]" {
		t.Errorf("arguments: %s", got)
	}
}
