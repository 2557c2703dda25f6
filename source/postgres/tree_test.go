package postgres

import "testing"

func TestTrees(t *testing.T) {
	n, ok := readTree(`({QUERY :a 1 :b <> :name :c :list (1 {X :y "a\ b" :z z} (b 8 9)) :constvalue 4 [ 2 0 ]})`)
	if !ok {
		t.Fatal("the text is not understood")
	}
	root := n.([]any)[0].(*tree)
	if root.kind != "QUERY" || root.atom("a") != "1" || root.has("b") || !root.has("a") || root.atom("name") != ":c" || len(root.fields["constvalue"]) != 2 {
		t.Errorf("%v", root)
	}
	if x := root.list("list")[1].(*tree); x.kind != "X" || x.atom("y") != `"a\ b"` || x.atom("z") != "z" || root.node("list") != nil {
		t.Errorf("%v", x)
	}
	for _, bad := range []string{"", "{", "(", "({X :a 1}", "{X :a 1 :a 2}", "{X a}", ")", "{X :a 1} 2", `{X :a (}`} {
		if _, ok := readTree(bad); ok {
			t.Errorf("%q is understood", bad)
		}
	}
}

// FuzzViews looks at any text as a definition, which must not panic, and is
// refused unless it is one.
func FuzzViews(f *testing.F) {
	f.Add(`({QUERY :commandType 1 :limitCount <> :rtable ({RANGETBLENTRY :rtekind 0 :relid 16384 :tablesample <>})})`)
	f.Add(`{SUBLINK :subLinkType 4 :subselect {QUERY :hasAggs true}} {OPEXPR :opfuncid 65 :args ({CONST :constisnull false :constlen 4 :constbyval true :constvalue 4 [ 2 0 0 0 0 0 0 0 ]})}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v view
		v.look(text)
		for _, c := range v.calls {
			c.safe("int4div(integer,integer)")
		}
		if _, ok := readTree(text); !ok && v.refused == "" {
			t.Errorf("%q is accepted", text)
		}
	})
}
