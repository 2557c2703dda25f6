package page

import (
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// maxDeep bounds how deep the tree of a statement may be: the stack of a browser's Worker, about 1 MB, holds twice that.
const maxDeep = 600

// tooDeep refuses a statement whose tree may be too deep. Each token may make it deeper by one. But what is behind a comma or
// a word of closes begins anew, and what is between two of AND, OR and JOIN stands beside each other.
func tooDeep(tokens []syntax.Token) error {
	levels := make([]level, 1)
	for _, t := range tokens {
		l, word := &levels[len(levels)-1], ""
		if t.Kind == syntax.KindWord {
			word = t.Upper
		}
		switch {
		case t.Matches("("), word == "CASE":
			l.run++
			levels = append(levels, level{})
			continue
		case (t.Matches(")") || word == "END") && len(levels) > 1:
			inner := l.deep() + 1
			levels = levels[:len(levels)-1]
			l = &levels[len(levels)-1]
			l.inner = max(l.inner, inner)
		case word == "UNION", word == "INTERSECT", word == "EXCEPT":
			*l = level{united: l.united + 1}
		case word == "AND", word == "OR", word == "JOIN":
			*l = level{l.united, l.joined + 1, max(l.most, l.run+l.inner), 0, 0}
		case t.Matches(","), closes[word]:
			*l = level{united: l.united}
		default:
			l.run++
		}
		if l.deep() > maxDeep {
			return sqlerr.New(sqlerr.Unsupported, "operators this deep in each other are outside what a page answers: the stack of a browser is small").
				WithHint("write x IN (…) for x = … OR x = …; about %d operators can follow each other", maxDeep/2).At(t.Position)
		}
	}
	return nil
}

var closes = map[string]bool{"SELECT": true, "WHERE": true, "HAVING": true, "WHEN": true, "THEN": true, "ELSE": true}

// level is what stands between two parentheses, or CASE and END.
type level struct {
	united int // SELECTs that are combined
	joined int // AND, OR and JOIN since the last comma
	most   int // the deepest part before the last of them
	run    int // tokens since
	inner  int // the deepest parentheses among these
}

func (l *level) deep() int { return l.united + l.joined + max(l.most, l.run+l.inner) }
