package syntax_test

import (
	"reflect"
	"testing"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

func TestPeriodStatements(t *testing.T) {
	for _, c := range []struct {
		text string
		want syntax.Statement
	}{
		{"REFRESH RELEASE monthly;", &syntax.RefreshRelease{Name: syntax.Name{"monthly", 17}}},
		{"refresh release [a b] period '2026-10'", &syntax.RefreshRelease{Name: syntax.Name{"a b", 17}, Period: syntax.Period{"2026-10", 30}}},
		{"REFRESH RELEASE r PERIOD 'it''s' AGAIN", &syntax.RefreshRelease{Name: syntax.Name{"r", 17}, Period: syntax.Period{"it's", 26}, Again: true}},
		{"RETIRE PERIOD '2024-01' OF visits", &syntax.RetirePeriod{Period: syntax.Period{"2024-01", 15}, Table: syntax.Name{"visits", 28}}},
		{"DROP RELEASE r PERIOD '2024-Q1'", &syntax.Drop{Kind: syntax.Release, Name: syntax.Name{"r", 14}, Period: syntax.Period{"2024-Q1", 23}}},
		{"DROP RELEASE period", &syntax.Drop{Kind: syntax.Release, Name: syntax.Name{"period", 14}}},
		{"CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 1) EACH PERIOD", &syntax.CreateRelease{Name: syntax.Name{"r", 16}, Table: syntax.Name{"t", 21}, Using: syntax.Projection,
			Options: []syntax.Option{{Name: syntax.Name{"epsilon", 46}, Value: "1", Kind: syntax.Number, Position: 56}}, EachPeriod: true}},
	} {
		s, err := syntax.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if !reflect.DeepEqual(s, c.want) {
			t.Errorf("%s: %+v, want %+v", c.text, s, c.want)
		}
	}
}

func TestPeriodRefusals(t *testing.T) {
	m := sqlerr.Malformed
	checkRefusals(t, []refusal{
		{"REFRES‸H", m, "expected RELEASE", ""},
		{"REFRESH ‸monthly", m, "expected RELEASE", ""},
		{"REFRESH ‸MATERIALIZED VIEW v", sqlerr.Unsupported, "REFRESH MATERIALIZED VIEW", "REFRESH RELEASE"},
		{"REFRESH RELEAS‸E", m, "expected the name of a release", ""},
		{"REFRESH RELEASE r ‸AGAIN", m, "AGAIN replaces the part of one period", "PERIOD '2026-09' AGAIN"},
		{"REFRESH RELEASE r PERIO‸D", m, "the name of a period in single quotes", ""},
		{"REFRESH RELEASE r PERIOD ‸2026", m, "the name of a period in single quotes", ""},
		{"REFRESH RELEASE r PERIOD ‸''", m, "the name of a period in single quotes", ""},
		{"REFRESH RELEASE r PERIOD '2026-01' ‸'2026-02'", m, "unexpected", ""},
		{"RETIRE ‸'2024-01'", m, "expected PERIOD", ""},
		{"RETIRE PERIOD '2024-01‸'", m, "expected OF", ""},
		{"RETIRE PERIOD '2024-01' O‸F", m, "expected a private table", ""},
		{"RETIRE PERIOD '2024-01' OF t ‸AGAIN", m, "unexpected", ""},
		{"DROP RELEASE r PERIOD ‸x", m, "the name of a period in single quotes", ""},
		{"DROP MECHANISM m ‸PERIOD '2024-01'", m, "unexpected", ""},
		{"CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 1) ‸EACH", m, "unexpected EACH", ""},
		{"CREATE MECHANISM ‸r ON t USING SMW WITH (epsilon = 1) EACH PERIOD", sqlerr.Unsupported, "a mechanism for each period", "WITH (…, period ="},
	})
}
