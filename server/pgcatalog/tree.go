package pgcatalog

// The tree of a statement. A node's position is that of the character that begins it, or of
// its operator.

// query is SELECT with what stands around it: WITH, ORDER BY, LIMIT.
type query struct {
	with      []commonTable
	recursive bool
	body      body
	order     []sortKey
	limit     node // nil for none
	offset    node
}

// commonTable is a query of WITH.
type commonTable struct {
	name     string
	columns  []string
	query    *query
	position int
}

// body is a *selection, a *combination, a values or a *query in parentheses.
type body interface{ aBody() }

// selection is one SELECT.
type selection struct {
	distinct   bool
	distinctOn []node
	items      []item
	from       []fromItem
	where      node
	group      []node
	having     node
	windows    map[string]*window
	position   int
}

// combination is left UNION right. The operator is union, intersect or except.
type combination struct {
	operator    string
	all         bool
	left, right body
	position    int
}

// values is VALUES (…), (…).
type values struct {
	rows     [][]node
	position int
}

func (*selection) aBody()   {}
func (*combination) aBody() {}
func (values) aBody()       {}
func (*query) aBody()       {}

// item is an expression of a select list. Its name is "" without AS.
type item struct {
	node node
	name string
}

// sortKey is an expression of ORDER BY.
type sortKey struct {
	node       node
	desc       bool
	nullsFirst bool
}

// fromItem is a named, derived, called or joined.
type fromItem interface{ aFromItem() }

// alias is what AS says of an item of FROM.
type alias struct {
	name    string
	columns []string
}

type named struct { // a table
	schema, name string
	alias        alias
	position     int
}

type derived struct { // a query in parentheses
	query    *query
	lateral  bool
	alias    alias
	position int
}

type called struct { // a function
	call       call
	ordinality bool
	alias      alias
}

type joined struct {
	kind        string // "inner", "left", "right", "full"
	left, right fromItem
	on          node // nil for none
	using       []string
	natural     bool
	position    int
}

func (named) aFromItem()   {}
func (derived) aFromItem() {}
func (called) aFromItem()  {}
func (*joined) aFromItem() {}

// node is an expression.
type node interface{ at() int }

type position int

func (p position) at() int { return int(p) }

type (
	// constant is a literal: nil, bool, int64, float64, or string for one whose type the
	// context tells.
	constant struct {
		position
		value any
	}
	argument struct { // $1
		position
		number int
	}
	column struct { // a.b.c
		position
		parts []string
	}
	star struct { // * and a.*
		position
		table string
	}
	call struct {
		position
		schema, name string
		args         []node
		star         bool // f(*)
		distinct     bool
		order        []sortKey
		filter       node
		over         *window
	}
	operation struct { // a unary one has no left
		position
		operator    string
		left, right node
	}
	logic struct { // AND, OR, NOT
		position
		operator string
		operands []node
	}
	cast struct {
		position
		node   node
		target typeName
	}
	caseOf struct {
		position
		operand    node // nil for CASE WHEN
		when, then []node
		otherwise  node
	}
	test struct { // IS [NOT] NULL, TRUE, FALSE, UNKNOWN
		position
		node node
		is   string
		not  bool
	}
	between struct {
		position
		node, low, high node
		not             bool
	}
	in struct { // one of list and query
		position
		node  node
		list  []node
		query *query
		not   bool
	}
	quantified struct { // node operator ANY|ALL (array or query)
		position
		node     node
		operator string
		all      bool
		array    node
		query    *query
	}
	subquery struct { // its kind is "scalar", "exists" or "array"
		position
		kind  string
		query *query
	}
	arrayOf struct { // ARRAY[…]
		position
		items []node
	}
	index struct { // a[i]
		position
		node, by node
	}
	field struct { // (a).b
		position
		node node
		name string // "*" for all
	}
	rowOf struct { // (a, b)
		position
		items []node
	}
	distinctFrom struct {
		position
		left, right node
		not         bool
	}
)

// window is OVER (…), or OVER name.
type window struct {
	name      string
	partition []node
	order     []sortKey
}

// typeName is a type as a cast writes it.
type typeName struct {
	schema, name string
	array        bool
	modifiers    []node
	position     int
}
