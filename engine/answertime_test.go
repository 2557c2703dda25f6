package engine_test

import (
	"testing"

	"dpsql/sqlerr"
)

// The answer time is an option of a table. DESCRIBE and SHOW TABLES have it where it is not the
// default.
func TestAnswerTimeOption(t *testing.T) {
	s := clinic(t)
	limits := func() (shown any) {
		r := must(t, s, `SHOW TABLES`)
		return r.Rows[0][len(r.Columns)-1]
	}
	for _, c := range []struct {
		text string
		want any
	}{{`5`, `answer_time = '5 ms'`}, {`'2 s'`, `answer_time = '2 s'`}, {`' 1500 ms '`, `answer_time = '1500 ms'`}, {`3600000`, `answer_time = '3600 s'`},
		{`'250ms'`, nil}} {
		must(t, s, `ALTER PRIVATE TABLE admissions SET (answer_time = `+c.text+`)`)
		if got := limits(); got != c.want {
			t.Errorf("after answer_time = %s: %v, want %v", c.text, got, c.want)
		}
	}
	for _, text := range []string{`0`, `-1`, `0.5`, `3600001`, `'3601 s'`, `'5'`, `'5 m'`, `ms`, `none`, `''`, `99999999999999999999`, `'s'`} {
		_, err := s.Exec(t.Context(), `ALTER PRIVATE TABLE admissions SET (answer_time = `+text+`)`, nil)
		if e, ok := err.(*sqlerr.Error); !ok || e.Code != sqlerr.Invalid && e.Code != sqlerr.Malformed || limits() != nil {
			t.Errorf("answer_time = %s: %v, %v", text, err, limits())
		}
	}
}
