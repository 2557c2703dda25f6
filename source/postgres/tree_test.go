package postgres

import (
	"strings"
	"testing"
)

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
// refused unless it is one of which all calls, operators and types are asked for:
// of a server that vouches for nothing, nothing that calls is accepted.
func FuzzViews(f *testing.F) {
	f.Add(`({QUERY :commandType 1 :limitCount <> :rtable ({RANGETBLENTRY :rtekind 0 :relid 16384 :tablesample <>})})`)
	f.Add(`{SUBLINK :subLinkType 4 :subselect {QUERY :hasAggs true}} {OPEXPR :opno 528 :opfuncid 65 :args ({CONST :constisnull false :constlen 4 :constbyval true :constvalue 4 [ 2 0 0 0 0 0 0 0 ]})}`)
	f.Add(`({TARGETENTRY :expr {MINMAXEXPR :minmaxtype 25 :minmaxcollid 0 :inputcollid 0 :args ({VAR :vartype 25 :varcollid 950} {COLLATEEXPR :arg <> :collOid 100})} :ressortgroupref 1})`)
	f.Add(`({SETOPERATIONSTMT :colTypes (o 25) :colCollations (o 100 0) :groupClauses ({SORTGROUPCLAUSE :eqop 98 :sortop 0})} {ARRAYEXPR :array_typeid 1007 :element_typeid 23 :multidims false} {COERCEVIAIO :arg {SUBLINK :subLinkType 4 :subselect {QUERY :targetList ({TARGETENTRY :expr <>})}} :resulttype 25})`)
	f.Add(`({QUERY :hasSubLinks true :rtable ({RANGETBLENTRY :rtekind 0 :relid 1} {RANGETBLENTRY :rtekind 6 :ctename c :ctelevelsup 0 :self_reference false}) :cteList ({COMMONTABLEEXPR :ctename c :cterecursive false :ctequery {QUERY :jointree {FROMEXPR :fromlist <>}}}) :jointree {FROMEXPR :fromlist ({JOINEXPR :jointype 0 :larg {RANGETBLREF :rtindex 1} :rarg {RANGETBLREF :rtindex 2} :quals {OPEXPR :opno 98 :args ({VAR :varno 1 :varattno 1 :varlevelsup 0} {VAR :varno 2 :varattno 1 :varlevelsup 0})}}) :quals {SUBLINK :subLinkType 2 :testexpr <> :subselect {QUERY :jointree {FROMEXPR}}}} :targetList ({TARGETENTRY :resno 1 :expr {VAR :varno 1 :varattno 1 :varlevelsup 0}})})`)
	f.Add(`({QUERY :setOperations {SETOPERATIONSTMT :larg {RANGETBLREF :rtindex 1}} :rtable ({RANGETBLENTRY :rtekind 1 :lateral false :subquery {QUERY :targetList ({TARGETENTRY :resno 1 :expr {CONST}}) :jointree {FROMEXPR :fromlist ({RANGETBLREF :rtindex 1})} :rtable ({RANGETBLENTRY :rtekind 2 :joinaliasvars ({COALESCEEXPR :args ({VAR :varno 1 :varattno 1 :varlevelsup 0})})})}})})`)
	f.Fuzz(func(t *testing.T, text string) {
		var v view
		v.look(text)
		nothing := v.refused + v.refusedFor(catalog{})
		everything := catalog{map[string]string{}, map[string]string{}, map[string]typ{}, map[string]bool{}}
		for _, c := range v.calls {
			everything.functions[c.number], everything.operators[c.number], everything.collations[c.collation] = "int4div(integer,integer)", "texteq(text,text)", true
			for _, number := range c.types {
				everything.types[number] = typ{"text", true}
			}
		}
		v.refusedFor(everything)
		var w view
		w.reach("1", 'v', []byte(text))
		o := originsOf(w, everything)
		if _, below, _ := o.relation(nil, "1"); below != nil {
			o.rowByRow(below)
			o.unitByUnit(below, "1")
		}
		root, ok := readTree(text)
		if !ok && v.refused == "" {
			t.Errorf("%q is accepted", text)
		}
		each(root, func(n *tree) {
			calls := strings.HasSuffix(n.kind, "OPEXPR") || n.kind == "FUNCEXPR" || n.kind == "AGGREF" || n.kind == "SORTGROUPCLAUSE" || n.kind == "RELABELTYPE" || n.kind == "COERCEVIAIO" || strings.HasPrefix(n.kind, "ARRAY") || strings.HasPrefix(n.kind, "MINMAX")
			if (calls || !plain.has(n.kind)) && ok && nothing == "" {
				t.Errorf("%q is accepted without a look at %s", text, n.kind)
			}
		})
	})
}
