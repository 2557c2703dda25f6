package types

import (
	"testing"

	"dpsql/query"
)

// TestCommon holds the type of values that are of one of two types, in both orders, and what a client is
// told of it.
func TestCommon(t *testing.T) {
	const text, date, moment, whole, real = query.SQLText, query.SQLDate, query.SQLTimestamp, query.SQLInt8, query.SQLFloat8
	d := &Dialect{Mixed: Unknown}
	for _, c := range []struct{ a, b, want, shown Type }{
		{date, date, date, date}, {date, moment, moment, moment}, {date, Null, date, date}, {date, text, TimeOrText, text},
		{moment, text, TimeOrText, text}, {TimeOrText, date, TimeOrText, text}, {TimeOrText, text, TimeOrText, text}, {TimeOrText, Null, TimeOrText, text},
		{date, whole, Unknown, text}, {TimeOrText, whole, Unknown, text}, {text, whole, Unknown, text}, {date, Unknown, Unknown, text},
		{whole, real, real, real}, {whole, Null, whole, whole}, {Null, Null, Null, text}, {text, text, text, text},
	} {
		for _, got := range []Type{d.Common(c.a, c.b), d.Common(c.b, c.a)} {
			if got != c.want || Shown(got) != c.shown || MayBeTime(got) != (got == date || got == moment || got == TimeOrText) {
				t.Errorf("%q and %q are %q, shown as %q, may be a time: %v", c.a, c.b, got, Shown(got), MayBeTime(got))
			}
		}
	}
}
