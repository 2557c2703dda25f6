package sqlfront

import (
	"reflect"
	"testing"

	"dpsql/query"
)

// TestPlainBindsAlike binds statements as plain ones and as any other: both say
// the same, and it is known which statements are plain.
func TestPlainBindsAlike(t *testing.T) {
	people, forty, null := newPeople(t), query.Int(40), query.Null()
	for _, c := range []struct {
		text         string
		plain, taken bool // is it plain, and is it bound as such
		args         []query.Value
	}{
		{"SELECT COUNT(*) FROM people", true, true, nil},
		{"select count ( * ) from people where age = 40;", true, true, nil},
		{"SELECT COUNT(*) AS n FROM people AS p WHERE sex = 'F' AND age BETWEEN 30 AND 34 AND zip = '1'", true, true, nil},
		{`SELECT COUNT(*) "how many" FROM main.people WHERE "age" < 40 AND age >= 7 AND age > 9 AND [age] <= 38`, true, true, nil},
		{"SELECT COUNT(*) FROM people WHERE zip IN ('1', '2') AND (sex = 'M') AND age IN (1, 2, 3, 80)", true, true, nil},
		{"SELECT COUNT(*) FROM people WHERE zip = 'a' AND zip IN ('a', 'b') AND zip = 5", true, true, nil},
		{"SELECT COUNT(*) FROM people WHERE age > -5 AND age < 4.5e1 AND age >= 9.5", true, true, nil},
		{"SELECT COUNT(*) FROM people WHERE age BETWEEN 50 AND 40", true, true, nil},
		{"SELECT COUNT(*) FROM people WHERE age = ?1 AND age <= ?1", true, true, []query.Value{forty}},
		{"SELECT COUNT(*) FROM people WHERE age IN (?, 3)", true, true, []query.Value{null}},
		{"SELECT COUNT(*) FROM people WHERE age = ?", true, false, []query.Value{null}},        // constant
		{"SELECT COUNT(*) FROM people WHERE age = ?", true, false, nil},                        // an argument is missing
		{"SELECT COUNT(*) FROM people WHERE age = 1000", true, false, nil},                     // a warning
		{"SELECT COUNT(*) FROM people WHERE age IN (1000, 1) AND sex = 'X'", true, false, nil}, // two
		{"SELECT COUNT(*) FROM people WHERE height = 1", true, false, nil},                     // no such column
		{"SELECT COUNT(*) FROM people WHERE age = 'old'", true, false, nil},                    // no number
		{"SELECT COUNT(*) FROM people WHERE zip < '2'", true, false, nil},                      // no order
		{"SELECT COUNT(*) FROM people WHERE zip IN ('1') AND zip < '2'", true, false, nil},
		{"SELECT COUNT(*) FROM (SELECT * FROM people WHERE age < 9) WHERE age > 3", true, false, nil},
		{"WITH p AS (SELECT * FROM people) SELECT COUNT(*) FROM p WHERE age = 3", true, false, nil},
		{`SELECT "count"(*) FROM people WHERE age = 3`, false, false, nil},
		{"SELECT COUNT(age) FROM people WHERE age = 3", false, false, nil},
		{"SELECT COUNT(*), COUNT(*) FROM people WHERE age = 3", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE people.age = 3", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE age = 3 OR age = 4", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE age BETWEEN married AND 4", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE age BETWEEN 4 AND married", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE age = NULL", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE age <> 4", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE age NOT IN (4)", false, false, nil},
		{"SELECT COUNT(*) FROM people WHERE age = 4 LIMIT 1", false, false, nil},
	} {
		parsed, err := Parse(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		sel := parsed.(*Select)
		if (sel.plain != nil) != c.plain {
			t.Errorf("%s is plain: %v", c.text, sel.plain != nil)
		}
		if c.taken {
			b := &binder{s: sel, g: sel.g, table: people, u: people.u, args: c.args, spent: new(effort)}
			if _, ok := b.bindPlain(sel.plain); !ok {
				t.Errorf("%s is not bound as plain", c.text)
			}
		}
		got, gotErr := sel.Bind(people, c.args)
		sel.plain = nil
		want, wantErr := sel.Bind(people, c.args)
		if !reflect.DeepEqual(gotErr, wantErr) {
			t.Errorf("%s: %v, and else %v", c.text, gotErr, wantErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s binds as\n%+v, and else\n%+v", c.text, got, want)
		}
	}
}
