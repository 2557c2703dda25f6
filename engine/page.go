package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/page"
	"dpsql/page/publish"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// errOnePage refuses to write several releases, or a card, into a file of another format.
var errOnePage = sqlerr.New(sqlerr.Invalid, "several releases, and WITH, are for a page").WithHint("name a file that ends in .html")

// pageOptions are the options of a page, as its card has them.
var pageOptions = []string{"title", "about", "cite", "doi", "publisher", "contact", "licence", "examples", "public"}

// isPage reports whether a statement writes a page.
func isPage(st *syntax.Export) bool { return strings.EqualFold(filepath.Ext(st.Path), ".html") }

// exportPage writes releases as one page.
func (s *Session) exportPage(ctx context.Context, d *declare.Statement, st *syntax.Export) error {
	o := kind.NewOptions(st.Options, pageOptions...)
	card := page.Card{Title: text(o, "title"), About: text(o, "about"), Cite: text(o, "cite"), DOI: text(o, "doi"), Publisher: text(o, "publisher"),
		Contact: text(o, "contact"), Licence: text(o, "licence"), Version: Version(), Made: s.db.now().UTC().Format(time.DateOnly)}
	name, publics := o.File("examples"), o.Publics("public")
	if err := o.Done(); err != nil {
		return err
	}
	v, err := d.Exports(ctx)
	if err != nil {
		return err
	}
	var payloads [][]byte
	if card.Picture, payloads, err = s.pictured(ctx, v, st.Releases, publics); err != nil {
		return err
	}
	desk, err := page.Open(card.Picture, payloads) // a page that cannot be read is not written
	if err != nil {
		return sqlerr.Locate(err, st.Releases[0].Position)
	}
	defer desk.Close()
	if card.Title == "" {
		card.Title = st.Releases[0].Text
	}
	if card.Examples, err = examples(ctx, d, desk, card.Picture, name); err != nil {
		return sqlerr.Locate(err, o.Find("examples").Position)
	}
	err = s.db.store.Export(ctx, s.path(st.Path), func(w io.Writer) error {
		digest, err := publish.Write(w, card, payloads)
		if err != nil {
			return err
		}
		return s.noteExport(ctx, v, st, card.Tables, digest) // before the file has its name
	})
	return sqlerr.Locate(err, st.PathPosition)
}

// noteExport writes lines of cost 0 into the ledger, if the file has one and can be written.
func (s *Session) noteExport(ctx context.Context, v *view.View, st *syntax.Export, tables []page.Table, digest string) error {
	if s.db.store.ReadOnly() {
		return nil
	}
	names, accounts := make([]string, len(st.Releases)), make(map[int64]bool)
	for i, r := range st.Releases {
		names[i] = r.Text
	}
	return s.db.store.Write(ctx, func(tx *catalog.Tx) error {
		for _, t := range tables {
			account := v.Private(t.Name).Account
			if _, ok := v.Accounts[account]; !ok || accounts[account] {
				continue
			}
			accounts[account] = true
			if err := tx.NoteExport(account, strings.Join(names, ", "), digest); err != nil {
				return err
			}
		}
		return nil
	})
}

// ExportLine returns the line of the ledger that says that a page of a digest was exported; 0 for none.
func (s *Session) ExportLine(ctx context.Context, digest string) (int64, error) {
	n, err := catalog.Get(ctx, s.db.store, func(tx *catalog.Tx) (int64, error) { return tx.ExportOf(digest) })
	if err != nil {
		return 0, public(ctx, err)
	}
	return n, nil
}

// text returns an option that is a text, or "" if it is not given.
func text(o *kind.Options, name string) string {
	option := o.Find(name)
	if option == nil {
		return ""
	}
	if option.Kind != syntax.String {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%s must be a text in quotes", name), option.Position)
	}
	return option.Value
}

// Version returns the version of dpsql in the program, or (devel).
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "dpsql" && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// pictured returns what a page has of releases and public tables, and their payloads. Of a table it has the columns that they cover.
func (s *Session) pictured(ctx context.Context, v *view.View, names, publics []syntax.Name) (p page.Picture, payloads [][]byte, err error) {
	var releases []*catalog.Release
	covered := make(map[int64][]int)
	var tables []*view.Table
	for _, name := range names {
		found, t, err := declare.ForPage(v, name)
		if err != nil {
			return p, nil, err
		}
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
			if t.HasPeriods() {
				covered[t.ID] = []int{t.PeriodColumn}
			}
		}
		for _, r := range found {
			if slices.Contains(releases, r) { // a part that was named itself
				continue
			}
			releases, covered[t.ID] = append(releases, r), append(covered[t.ID], places(t, r)...)
		}
	}
	for _, t := range tables {
		slices.Sort(covered[t.ID])
		covered[t.ID] = slices.Compact(covered[t.ID])
		public, err := publicTable(v, t, covered[t.ID], s.db.now())
		if err != nil {
			return p, nil, err
		}
		p.Tables = append(p.Tables, public)
	}
	err = s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		for _, r := range releases {
			payload, err := tx.ReleasePayload(r)
			if err != nil {
				return err
			}
			payloads, p.Releases = append(payloads, payload), append(p.Releases, publicRelease(v, r, covered[r.TableID]))
		}
		return nil
	})
	if err == nil {
		err = s.withPublics(ctx, v, publics, &p, &payloads)
	}
	return p, payloads, err
}

// maxPublic bounds the bytes of all public tables of a page, before they are packed.
const maxPublic = 16 << 20

// withPublics adds public tables to a page.
func (s *Session) withPublics(ctx context.Context, v *view.View, names []syntax.Name, p *page.Picture, payloads *[][]byte) error {
	size := 0
	for _, name := range names {
		if t := v.Private(name.Text); t != nil {
			return sqlerr.New(sqlerr.Invalid, "%s is private", t.Name).WithHint("a page has releases of it; public names public tables").At(name.Position)
		}
		i := slices.IndexFunc(v.Publics, func(p string) bool { return query.SameName(p, name.Text) })
		if i < 0 {
			return sqlerr.New(sqlerr.Unknown, "there is no public table %s", name.Text).WithHint("SHOW TABLES lists them").At(name.Position)
		}
		public, payload, err := s.publicRows(ctx, v.Publics[i])
		if err != nil {
			return sqlerr.Locate(err, name.Position)
		}
		if size += len(payload); size > maxPublic {
			return sqlerr.New(sqlerr.Unsupported, "the public tables of a page have more than %d MiB with %s", maxPublic>>20, public.Name).
				WithHint("make a public view of the rows that matter").At(name.Position)
		}
		for j := range p.Tables {
			lists(&p.Tables[j], v, public.Name)
		}
		p.Publics, *payloads = append(p.Publics, public), append(*payloads, payload)
	}
	return nil
}

// lists notes the columns of a table whose keys a public table lists.
func lists(t *page.Table, v *view.View, public string) {
	of := v.Private(t.Name)
	for column, names := range of.Lists {
		i := slices.IndexFunc(t.Columns, func(c page.Column) bool { return c.Name == of.Columns[column].Name })
		if i >= 0 && slices.Contains(names, public) {
			if t.Lists == nil {
				t.Lists = make(map[int][]string)
			}
			t.Lists[i] = append(t.Lists[i], public)
		}
	}
}

// publicRows returns a public table as a page has it.
func (s *Session) publicRows(ctx context.Context, name string) (p page.Public, payload []byte, err error) {
	columns, rows, err := schemas.Copy(ctx, s.db.store, name)
	if err != nil {
		return p, nil, err
	}
	steps, err := catalog.Get(ctx, s.db.store, func(tx *catalog.Tx) ([]catalog.PublicColumn, error) { return tx.PublicColumns(name) })
	if err != nil {
		return p, nil, err
	}
	p.Name, p.Rows = name, len(rows)
	for _, c := range columns {
		column := page.PublicColumn{Column: around.Column(c)}
		if i := slices.IndexFunc(steps, func(s catalog.PublicColumn) bool { return query.SameName(s.Name, c.Name) }); i >= 0 {
			column.Steps = page.StepsOf(steps[i].Steps)
		}
		p.Columns = append(p.Columns, column)
	}
	payload, err = page.Rows(rows)
	return p, payload, err
}

// places returns the places of the columns that a release covers.
func places(t *view.Table, r *catalog.Release) []int {
	if r.Columns != nil {
		return r.Columns
	}
	all := make([]int, len(t.Columns))
	for i := range all {
		all[i] = i
	}
	return all
}

// publicTable returns a table as a page has it, with some of its columns.
func publicTable(v *view.View, t *view.Table, columns []int, now time.Time) (page.Table, error) {
	public := page.Table{Name: t.Name, Unit: t.Unit, MaxRows: t.MaxRows}
	if t.HasPeriods() {
		public.Each = t.EachPeriod()
		public.Periods = &page.Periods{Column: slices.Index(columns, t.PeriodColumn), By: t.Partition.By, Begun: t.Partition.Begun(now)}
		for _, text := range t.Partition.Texts {
			public.Periods.Texts = append(public.Periods.Texts, query.Exact(text))
		}
	}
	if a, ok := v.Accounts[t.Account]; ok {
		public.Epsilon, public.Delta = a.Epsilon, a.Delta
	}
	for _, i := range columns {
		c := t.Columns[i]
		stored, err := c.Stored()
		if err != nil {
			return public, err
		}
		shown := c.DomainText()
		if !c.Domain.Finite() {
			shown = strings.TrimSpace("any text or NULL " + shown)
		}
		public.Columns = append(public.Columns, page.Column{StoredColumn: stored, Shown: shown})
	}
	return public, nil
}

// publicRelease returns a release as a page has it, over some columns of its table.
func publicRelease(v *view.View, r *catalog.Release, columns []int) page.Release {
	t := v.TableByID(r.TableID)
	out := page.Release{Name: r.Name, Table: t.Name, Using: r.Using, MaxSupport: r.MaxSupport, About: r.Params,
		Method: kind.Of(r.Using).Describe(r.Params).Whole, Epsilon: r.Epsilon.String(), Delta: r.Delta.String(), Created: r.CreatedAt.Format(time.RFC3339)}
	out.Rows = "as of " + released.AsOfText(r.CreatedAt)
	if over := places(t, r); len(over) < len(columns) {
		for _, i := range over {
			out.Columns = append(out.Columns, slices.Index(columns, i))
		}
	}
	if t.HasPeriods() {
		out.Over, out.Rows = &r.Span, "of "+t.Partition.Text(r.Span)+", "+out.Rows
		if t.Partition.Clocked() && !t.Partition.Closed(r.Span.Last, r.CreatedAt) {
			out.AsOf, out.Rows = out.Created, out.Rows+", before the end"
		}
		for _, m := range v.Templates {
			if m.ID == r.Template {
				out.Part = m.Name
			}
		}
	}
	return out
}

// maxExamples bounds the statements that a page offers.
const maxExamples = 50

// examples returns the statements of a file, which the page must answer; without a file, counts by each column that has few values.
func examples(ctx context.Context, d *declare.Statement, desk *page.Desk, p page.Picture, file string) (all []string, err error) {
	if file == "" {
		for _, t := range p.Tables {
			for _, c := range t.Declared() {
				name := syntax.WriteName(c.Name)
				text := "SELECT " + name + ", COUNT(*) AS n FROM " + syntax.WriteName(t.Name) + " GROUP BY " + name
				if column, ok := c.Column(); ok && column.Domain.Finite() && column.Domain.Size() <= maxExamples && len(all) < 3 {
					if _, err := desk.Ask(ctx, text); err == nil {
						all = append(all, text)
					}
				}
			}
		}
		return all, nil
	}
	err = d.EachStatement("examples", file, func(in syntax.Input) error {
		if all = append(all, strings.TrimSuffix(strings.TrimSpace(in.Text), ";")); len(all) > maxExamples {
			return sqlerr.New(sqlerr.Invalid, "the file has more than %d examples", maxExamples)
		}
		_, err := desk.Ask(ctx, in.Text)
		return declare.InFile(err, file, in)
	})
	return all, err
}

// Published holds the releases and public tables of a page to those of the file. Errors: Unknown or Invalid for a release that is another one.
func (s *Session) Published(ctx context.Context, c page.Card, payloads [][]byte) error {
	v, err := s.current(ctx)
	if err != nil {
		return public(ctx, err)
	}
	names := make([]syntax.Name, len(c.Releases))
	for i, r := range c.Releases {
		names[i].Text = r.Name
	}
	publics := make([]syntax.Name, len(c.Publics))
	for i, p := range c.Publics {
		publics[i].Text = p.Name
	}
	own, stored, err := s.pictured(ctx, v, names, publics)
	if err != nil {
		return public(ctx, err)
	}
	for i, r := range c.Releases {
		if !bytes.Equal(stored[i], payloads[i]) || !alike(own.Releases[i], r) {
			return sqlerr.New(sqlerr.Invalid, "the release %s of the page is another one", r.Name)
		}
	}
	for i, p := range c.Publics {
		if n := len(c.Releases) + i; !bytes.Equal(stored[n], payloads[n]) || !alike(own.Publics[i], p) {
			return sqlerr.New(sqlerr.Invalid, "the public table %s of the page is another one", p.Name)
		}
	}
	if len(own.Tables) != len(c.Tables) {
		return sqlerr.New(sqlerr.Invalid, "the page has other tables")
	}
	for i := range own.Tables { // a budget may have changed since
		own.Tables[i].Epsilon, own.Tables[i].Delta = c.Tables[i].Epsilon, c.Tables[i].Delta
		if was, is := c.Tables[i].Periods, own.Tables[i].Periods; was != nil && is != nil { // others have begun since
			is.Begun, is.Texts = was.Begun, is.Texts[:min(len(is.Texts), len(was.Texts))]
		}
	}
	if !alike(own.Tables, c.Tables) {
		return sqlerr.New(sqlerr.Invalid, "the tables of the page are declared otherwise")
	}
	return nil
}

// alike compares what is written of two values.
func alike(a, b any) bool {
	x, failed := json.Marshal(a)
	y, err := json.Marshal(b)
	return failed == nil && err == nil && bytes.Equal(x, y)
}
