package engine

import (
	"cmp"
	"fmt"
	"strings"

	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
)

// uncovered says why no candidate answers, and what would.
func uncovered(candidates []candidate, r request) error {
	s := r.settings
	var why reasons
	var direct *candidate
	var limit *sqlerr.Error // of one that would answer if its next run could be paid for
	for i, c := range candidates {
		switch {
		case c.buys():
			direct = &candidates[i]
		case c.allowed(s.Mechanism) && c.starts > 0 && c.failure != nil:
			limit = cmp.Or(limit, c.failure)
			why.add(c.name, c.refusal)
		case c.allowed(s.Mechanism) && c.failure != nil && c.failure.Code != sqlerr.Uncovered:
			return c.failure
		case c.allowed(s.Mechanism):
			why.add(c.name, c.shortcoming())
		}
	}
	switch {
	case direct != nil && direct.allowed(s.Mechanism) && s.Accuracy > 0 && direct.failure != nil:
		return direct.failure
	case direct != nil && direct.allowed(s.Mechanism) && s.Accuracy > 0:
		return sqlerr.New(sqlerr.Budget, "%s", direct.refusal).WithHint("%s", direct.offer())
	case limit != nil:
		return limit
	case len(why.list) == 0 && namesOne(s.Mechanism):
		return sqlerr.New(sqlerr.Unknown, "%s has no release or mechanism %s", r.table.Name, s.Mechanism).
			WithHint("SET mechanism = auto")
	}
	e := sqlerr.New(sqlerr.Uncovered, "no release or mechanism covers this query%s%s", within(r.asked), why)
	switch {
	case r.table.Source == "":
		return e.WithHint("the file has no rows: SHOW RELEASES lists what it answers from")
	case direct != nil && s.Mechanism == "auto":
		return e.WithHint("%s", direct.offer())
	}
	return e.WithHint("SET mechanism = auto tries every way")
}

// namesOne reports whether a value of SET mechanism is a name.
func namesOne(mechanism string) bool {
	switch mechanism {
	case "auto", "smw", "projection", "direct":
		return false
	}
	return true
}

func within(accuracy float64) string {
	if accuracy == 0 {
		return ""
	}
	return " within ±" + view.Counts(accuracy)
}

// shortcoming says why the candidate does not answer.
func (c candidate) shortcoming() string {
	switch {
	case c.refusal != "":
		return c.refusal
	case !c.known:
		return "no error bar for this query"
	}
	return "±" + view.Counts(c.margin)
}

// reasons collects names by why they do not answer, in order of appearance.
type reasons struct{ list []reason }

type reason struct {
	text  string
	names []string
}

func (rs *reasons) add(name, text string) {
	for i := range rs.list {
		if rs.list[i].text == text {
			rs.list[i].names = append(rs.list[i].names, name)
			return
		}
	}
	rs.list = append(rs.list, reason{text, []string{name}})
}

// String follows the word "query" of a message.
func (rs reasons) String() string {
	const most = 4 // names of one reason
	if len(rs.list) == 0 {
		return ": the table has none"
	}
	parts := make([]string, len(rs.list))
	for i, r := range rs.list {
		names := strings.Join(r.names[:min(most, len(r.names))], ", ")
		if more := len(r.names) - most; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		parts[i] = fmt.Sprintf("%s (%s)", r.text, names)
	}
	return ": " + strings.Join(parts, "; ")
}
