package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dpsql/engine"
	"dpsql/internal/answerjson"
	"dpsql/internal/complete"
	"dpsql/internal/scram"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// routes are the paths below /api/v1/.
func (s *Server) routes() map[string]*route {
	get, post := http.MethodGet, http.MethodPost
	return map[string]*route{
		"login":    {method: post, open: true, do: (*call).login},
		"logout":   {method: post, do: (*call).logout},
		"session":  {method: get, do: func(c *call) (any, error) { return c.who(""), nil }},
		"schema":   {method: get, do: (*call).schema},
		"complete": {method: post, do: (*call).complete},
		"plan":     {method: post, do: (*call).plan},
		"ask":      {method: post, do: (*call).ask},
		"budget":   {method: get, do: (*call).budget},
		"run":      {method: post, curator: true, do: (*call).run},
		"runs":     {method: get, curator: true, do: (*call).running},
		"watch":    {method: post, curator: true, do: (*call).watch},
		"cancel":   {method: post, curator: true, do: (*call).cancel},
		"import":   {method: post, curator: true, file: true, do: (*call).load},
		"draft":    {method: post, curator: true, do: (*call).draft},
		"check":    {method: post, curator: true, do: (*call).check},
		"advise":   {method: post, curator: true, do: (*call).advise},
		"export":   {method: post, curator: true, do: (*call).export},
	}
}

// column is a column of a result, or of a file.
type column struct {
	Name string `json:"name"`
	SQL  string `json:"sql,omitempty"` // the name as SQL has it, of a file's
	Type string `json:"type"`
}

func columnsOf(all []engine.Column) []column {
	out := make([]column, len(all))
	for i, c := range all {
		out[i] = column{Name: c.Name, Type: c.Type}
	}
	return out
}

// records returns the rows of a list as objects with its columns that are named, by another name where a colon says so.
func records(r *engine.Result, names ...string) []map[string]any {
	out := make([]map[string]any, len(r.Rows))
	for i, row := range r.Rows {
		out[i] = make(map[string]any, len(names))
		for _, name := range names {
			from, to, renamed := strings.Cut(name, ":")
			if !renamed {
				to = from
			}
			for j, c := range r.Columns {
				if c.Name == from {
					out[i][to] = row[j]
				}
			}
		}
	}
	return out
}

// shown is a column of a table, with its name as SQL has it, and its values if they are few.
type shown struct {
	Name     string   `json:"name"`
	SQL      string   `json:"sql"`
	Type     string   `json:"type"`
	Domain   string   `json:"domain"`
	Nullable bool     `json:"nullable"`
	Values   []string `json:"values"`
}

// schema returns the tables, releases and mechanisms that the session sees.
func (c *call) schema() (any, error) {
	s := c.engine()
	words, err := s.Vocabulary(c.ctx())
	if err != nil {
		return nil, err
	}
	shapes, err := s.Shapes(c.ctx())
	if err != nil {
		return nil, err
	}
	list, err := s.Exec(c.ctx(), "SHOW TABLES", nil)
	if err != nil {
		return nil, err
	}
	releases, err := s.Exec(c.ctx(), "SHOW RELEASES", nil)
	if err != nil {
		return nil, err
	}
	tables := records(list, "table:name", "kind", "unit", "rows", "margin:rows_margin", "limits")
	all := records(releases, "release:name", "table", "columns", "method", "epsilon", "delta", "created", "periods")
	for _, named := range slices.Concat(tables, all) {
		named["sql"] = syntax.WriteName(named["name"].(string))
	}
	for _, t := range tables {
		columns := []shown{}
		for _, shape := range shapes {
			if shape.Name != t["name"] || shape.Private != (t["kind"] == "private") {
				continue
			}
			for _, of := range shape.Columns {
				columns = append(columns, shown{of.Name, syntax.WriteName(of.Name), of.Declared, of.Domain, of.Nullable, valuesOf(&words, shape.Name, of.Name)})
			}
		}
		t["columns"] = columns
	}
	return map[string]any{"tables": tables, "releases": all, "mechanisms": nonNil(words.Mechanisms), "publics": nonNil(words.Publics)}, nil
}

func nonNil(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

func valuesOf(words *complete.Vocabulary, table, column string) []string {
	for _, t := range words.Tables {
		for _, c := range t.Columns {
			if t.Name == table && c.Name == column {
				return c.Values
			}
		}
	}
	return nil
}

func (c *call) complete() (any, error) {
	var body struct {
		SQL string
		At  int
	}
	if err := c.read(&body); err != nil {
		return nil, err
	}
	words, err := c.engine().Vocabulary(c.ctx())
	if err != nil {
		return nil, err
	}
	return words.At(body.SQL, body.At), nil
}

// question is a statement with what it is asked under.
type question struct {
	SQL      string
	Args     []any
	Settings map[string]any
	Buy      string
}

// prepare returns a session with the settings of a question, and its statement with its arguments.
func (c *call) prepare(q *question) (s *engine.Session, p *engine.Prepared, args []query.Value, err error) {
	s = c.engine()
	for name, v := range q.Settings {
		if err = s.Set(name, plainText(v)); err != nil {
			return nil, nil, nil, err
		}
	}
	if p, err = engine.Prepare(q.SQL); err != nil {
		return nil, nil, nil, err
	}
	given := make([]any, len(q.Args))
	for i, a := range q.Args {
		if given[i], err = argument(a); err != nil {
			return nil, nil, nil, err
		}
	}
	p, args, err = p.Fill(given)
	return s, p, args, err
}

// plainText returns a value of JSON as SET has it.
func plainText(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	case bool:
		if v {
			return "on"
		}
		return "off"
	}
	return ""
}

// argument returns a value of JSON as an argument, a list as a list of these.
func argument(v any) (any, error) {
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			v = n
		} else if v, err = x.Float64(); err != nil {
			return nil, sqlerr.New(sqlerr.Invalid, "an argument is a number that is too large")
		}
	case []any:
		list := make([]query.Value, len(x))
		for i, e := range x {
			one, err := argument(e)
			var ok bool
			if list[i], ok = one.(query.Value); err != nil || !ok {
				return nil, errors.Join(err, sqlerr.New(sqlerr.Invalid, "an element of a list is no value"))
			}
		}
		return list, nil
	}
	out, ok := query.Argument(v)
	if !ok {
		return nil, sqlerr.New(sqlerr.Invalid, "an argument is no number, text, boolean, null or list")
	}
	return out, nil
}

// price is what a statement would take, as text; null if that is not known, or nothing answers it.
type price struct {
	Rho   *string `json:"rho"`
	Left  *string `json:"left"`
	Words string  `json:"words"`
}

// candidate is a way to answer a statement, or one of its aggregates.
type candidate struct {
	Name    any    `json:"name"`
	Kind    any    `json:"kind"`
	Columns any    `json:"columns"`
	Margin  any    `json:"margin"` // a number, or a range as text
	Cost    any    `json:"cost"`   // ρ as text; null if there is none
	Refusal string `json:"refusal"`
	Note    string `json:"note"`
	Chosen  bool   `json:"chosen"`
	Core    int    `json:"core"`
}

// planned is the reply to plan.
type planned struct {
	Columns    []column    `json:"columns"`
	Candidates []candidate `json:"candidates"`
	Details    []string    `json:"details"`
	Price      price       `json:"price"`
	Warnings   []string    `json:"warnings"`
}

// plan explains a statement, and ends the plan of the session that is made. It is EXPLAIN: it charges nothing, buys
// no number of rows and reads no private row.
func (c *call) plan() (any, error) {
	var q question
	if err := c.read(&q); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(c.ctx())
	defer end()
	c.session.mu.Lock()
	if c.session.planning != nil {
		c.session.planning()
	}
	c.session.planning = end
	c.session.mu.Unlock()
	return c.explain(ctx, &q)
}

func (c *call) explain(ctx context.Context, q *question) (*planned, error) {
	s, p, args, err := c.prepare(q)
	if err != nil {
		return nil, err
	}
	out := &planned{Columns: []column{}, Candidates: []candidate{}, Details: []string{}, Warnings: []string{}}
	if !p.Query() {
		out.Price = priceOf(&engine.Price{Known: true})
		if len(p.Parameters()) > 0 { // it is read when it runs
			out.Price = price{Words: "price not known: write the arguments into the statement"}
		}
		return out, nil
	}
	explained, err := p.Explained()
	if err != nil {
		return nil, err
	}
	r, err := s.ExecPrepared(ctx, explained, args)
	if err != nil {
		return nil, err
	}
	columns, err := s.Columns(ctx, p, args)
	if err != nil {
		return nil, err
	}
	out.Columns, out.Price, out.Warnings = columnsOf(columns), priceOf(r.Price), append(out.Warnings, r.Warnings...)
	out.read(answerjson.Numbered(r))
	return out, nil
}

// read sorts the rows of EXPLAIN into ways to answer, and what else it says.
func (p *planned) read(rows [][]any) {
	core := 0
	for _, row := range rows {
		note, _ := row[6].(string)
		switch row[1] {
		case "private":
			core++
		case nil, "public":
			name, _ := row[0].(string)
			p.Details = append(p.Details, strings.TrimSpace(name+": "+note))
			if name == "(none)" {
				p.Price.Words = note
			}
			continue
		}
		if row[1] == "private" || row[0] == "first" {
			p.Details = append(p.Details, note)
			continue
		}
		way := candidate{Name: row[0], Kind: row[1], Columns: row[2], Margin: row[4], Cost: row[5], Note: note, Core: max(core, 1)}
		if cost, ok := row[5].(string); ok {
			way.Cost = strings.TrimPrefix(cost, "ρ ")
		}
		first, rest, _ := strings.Cut(note, "; ")
		if strings.HasPrefix(first, "chosen") {
			way.Chosen = true
		} else if why, refused := strings.CutPrefix(first, "not: "); refused {
			way.Refusal, way.Note = why, rest
		}
		p.Candidates = append(p.Candidates, way)
	}
}

// priceOf returns a price with words for people.
func priceOf(p *engine.Price) (out price) {
	switch {
	case p == nil:
		return price{Words: "nothing answers this as it stands"}
	case !p.Known:
		return price{Words: "price not known before the inner one"}
	}
	rho, left := p.Rho.String(), p.Left.String()
	out.Rho, out.Words = &rho, "free"
	if p.Rho > 0 {
		out.Left, out.Words = &left, "takes "+strconv.FormatFloat(100*p.Rho.Float()/p.Left.Float(), 'g', 2, 64)+" % of what is left, for good"
	}
	return out
}

// ask answers a statement, and takes at most what was agreed for it.
func (c *call) ask() (any, error) {
	var q question
	if err := c.read(&q); err != nil {
		return nil, err
	}
	s, p, args, err := c.prepare(&q)
	if err != nil {
		return nil, err
	}
	if q.Buy == "" {
		q.Buy = "0"
	}
	if err := s.SetMost(q.Buy); err != nil {
		return nil, err
	}
	r, err := s.ExecPrepared(c.ctx(), p, args)
	c.audit(q.SQL, r, err)
	if sqlerr.CodeOf(err) == sqlerr.Budget {
		return nil, c.dearer(&q, err)
	}
	if err != nil {
		return nil, err
	}
	return answerjson.Of(r), nil
}

// audit writes a statement to the log: who asked, a hash of the text, where the answer came from and its cost, never a value.
func (c *call) audit(sql string, r *engine.Result, err error) {
	how := new(engine.Answer)
	if err == nil && r.Answer != nil {
		how = r.Answer
	}
	c.log.Info("statement", "client", scram.Network(c.r.RemoteAddr), "user", c.session.user, "web", true, "sha256", engine.Fingerprint(sql),
		"outcome", cmp.Or(string(sqlerr.CodeOf(err)), "ok"), "via", how.Via, "epsilon", how.Cost.Epsilon, "rho", how.Cost.Rho)
}

// dearer returns the error of a statement that cannot be paid for, with its price if more was to be agreed.
func (c *call) dearer(q *question, err error) error {
	now, unexplained := c.explain(c.ctx(), q)
	agreed := new(big.Rat)
	agreed.SetString(q.Buy)
	if unexplained != nil || now.Price.Rho == nil {
		return err
	}
	price, ok := new(big.Rat).SetString(*now.Price.Rho)
	if !ok || price.Cmp(agreed) <= 0 {
		return err
	}
	f := failed(err)
	f.status, f.Failure.Error.Code, f.Price = http.StatusConflict, "price", &now.Price
	return f
}

// budget returns what is spent and left, and who spent it: for a user what she bought herself.
func (c *call) budget() (any, error) {
	s := c.engine()
	accounts, err := s.Exec(c.ctx(), "SHOW BUDGET", nil)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"accounts": records(accounts, "table", "account", "unit", "total", "spent", "left", "in words:words")}
	if c.session.curator {
		ledger, err := s.Exec(c.ctx(), "SHOW LEDGER", nil)
		if err != nil {
			return nil, err
		}
		lines := records(ledger, "seq", "at", "rows of:rows_of", "account", "action", "object", "epsilon", "delta", "rho", "periods")
		for _, line := range lines {
			line["who"] = nil
			if action, ok := line["action"].(string); ok && line["rho"] != nil {
				if _, user, bought := strings.Cut(action, " for "); bought {
					line["who"] = user
				}
			}
		}
		out["ledger"] = lines
		return out, nil
	}
	bought, err := s.Purchases(c.ctx())
	if err != nil {
		return nil, err
	}
	out["purchases"] = records(bought, "at", "object:table", "action", "rho")
	return out, nil
}
