package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xwb1989/sqlparser"
)

// shape writes a tree with marks around each operation, so that equal texts are equal trees.
// An operator that the grammar lacks is written as one that it has in this place.
func shape(n sqlparser.SQLNode) string {
	buf := sqlparser.NewTrackedBuffer(func(buf *sqlparser.TrackedBuffer, n sqlparser.SQLNode) {
		switch e := n.(type) {
		case *sqlparser.ComparisonExpr:
			if known := grammatical[e.Operator]; known != "" {
				changed := *e
				changed.Operator, n = known, &changed
			}
		case *sqlparser.FuncExpr: // FILTER is marked by a qualifier
			n = &sqlparser.FuncExpr{Name: e.Name, Distinct: e.Distinct, Exprs: e.Exprs}
		}
		switch n.(type) {
		case *sqlparser.BinaryExpr, *sqlparser.UnaryExpr, *sqlparser.ComparisonExpr, *sqlparser.AndExpr, *sqlparser.OrExpr,
			*sqlparser.NotExpr, *sqlparser.IsExpr, *sqlparser.RangeCond, *sqlparser.CollateExpr:
			buf.WriteString("‹")
			n.Format(buf)
			buf.WriteString("›")
		default:
			n.Format(buf)
		}
	})
	buf.Myprintf("%v", n)
	return buf.String()
}

// grammatical are operators of the grammar that stand for those that it lacks.
var grammatical = map[string]string{
	OperatorIs: sqlparser.NullSafeEqualStr, OperatorIsNot: sqlparser.NullSafeEqualStr,
	OperatorGlob: sqlparser.RegexpStr, OperatorNotGlob: sqlparser.NotRegexpStr,
}

// TestGrammarReadsCores: the grammar of github.com/xwb1989/sqlparser, which defines the restricted
// dialect, reads the text of each SELECT that is lowered as the same tree.
func TestGrammarReadsCores(t *testing.T) {
	read := 0
	for _, world := range []string{"visits", "clinic", "admissions"} {
		data, err := os.ReadFile(filepath.Join("../../testdata/statements", world+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for record := range strings.SplitSeq(string(data), "\n================\n") {
			text, _, _ := strings.Cut(record, "\n--> ")
			r, err := Read(text)
			if err != nil || r.Why != nil || r.Query == nil || r.Query.With != nil {
				continue
			}
			q, tokens := r.Query, r.Tokens
			l := &lowering{all: tokens, Tokens: &Tokens{tokens: tokens, subs: make(map[string]*Select), nodes: make(map[sqlparser.Expr]Expr)}}
			want := shape(l.selected(q.Body.(*Block), q))
			again, err := sqlparser.Parse(strings.NewReplacer("‹", "", "›", "").Replace(want))
			if err != nil {
				t.Errorf("%s\n%s: %v", text, want, err)
			} else if got := shape(again); got != want {
				t.Errorf("%s\nis lowered to\n%s\nand read back as\n%s", text, want, got)
			}
			read++
		}
	}
	if read < 1000 {
		t.Errorf("%d SELECTs", read)
	}
}
