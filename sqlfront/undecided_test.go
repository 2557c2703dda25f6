package sqlfront_test

import (
	"errors"
	"testing"

	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// undecided is the sample with joinable tables, and columns without a known domain.
type undecided struct {
	joinable
	columns map[string]bool
}

func (u undecided) Undecided(column int) bool {
	return u.columns[u.Universe().Columns()[column].Name]
}

// Bind says which column without a known domain a statement names first,
// wherever it does, and says it of no other statement.
func TestUndecidedColumnsAreReported(t *testing.T) {
	j := newJoinable(t)
	name := func(column string) string { return `"` + column + `"` }
	columns := j.Universe().Columns()
	for i, c := range columns {
		table, others := undecided{j, map[string]bool{c.Name: true}}, columns[(i+1)%len(columns)].Name
		for text, named := range map[string]bool{
			`SELECT COUNT(*) FROM ` + j.Name():                                                                                 false,
			`SELECT COUNT(*) AS ` + name(c.Name) + ` FROM ` + j.Name():                                                         false,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(others) + ` IS NULL`:                                         false,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(c.Name) + ` IS NULL`:                                         true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(c.Name) + ` = 1`:                                             true,
			`SELECT ` + name(c.Name) + `, COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(c.Name) + ` IN ('1') GROUP BY 1`:       true,
			`SELECT COUNT(*) FROM (SELECT ` + name(c.Name) + ` AS other FROM ` + j.Name() + `)`:                                true,
			`SELECT COUNT(*) FROM (SELECT * FROM ` + j.Name() + `) WHERE ` + name(c.Name) + ` IS NULL`:                         true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` JOIN codes ON ` + j.Name() + `.` + name(c.Name) + ` = codes.code`:           true,
			`SELECT kind, COUNT(*) FROM ` + j.Name() + ` AS p JOIN codes ON codes.code = p.` + name(c.Name) + ` GROUP BY kind`: true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE CASE WHEN ` + name(c.Name) + ` IS NULL THEN 1 ELSE 0 END = 1`:         true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(others) + ` IS NULL OR NOT ` + name(c.Name) + ` IS NOT NULL`: true,
		} {
			statement, err := syntax.Parse(text)
			if err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			_, err = sqlfront.Bind(statement.(*syntax.Select), table, nil)
			var e *sqlfront.UndecidedError
			if got := errors.As(err, &e); got != named || named && (e.Column != i || !query.SameName(e.Name, c.Name)) {
				t.Errorf("%s undecided: %s\n%v", c.Name, text, err)
			}
		}
	}
}
