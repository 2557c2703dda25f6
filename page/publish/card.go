package publish

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"dpsql/internal/answerjson"
	"dpsql/page"
)

// card writes the card as people read it, who may have no script. Every text in it is escaped.
func (p *printer) card(c page.Card) {
	p.text("<article id=\"card\">\n")
	p.head("What this is")
	p.line("Counts with noise: ε and δ bound what they tell of anybody. The page holds no rows. Whoever has it can ask it in SQL, and nothing that is asked leaves it.")
	p.pairs("publisher", c.Publisher, "contact", c.Contact, "licence", c.Licence, "written", c.Made+" by dpsql "+c.Version)
	for _, t := range c.Tables {
		p.table(c, t)
	}
	for _, t := range c.Publics {
		p.public(t)
	}
	p.head("How to read an answer")
	p.line("± is the margin at 95 %, or as SET confidence says: the true number is within it in 95 of 100 such answers, each by itself. A number without ± has no known margin. Noise makes small counts unsure, and some less than zero.")
	p.line("NULL stands for no value, and OTHER for all values that are not listed. Rows with values outside a column's are not counted.")
	p.head("What cannot be asked")
	p.line("Single rows, columns that no release covers, values outside those above, and rows that came after a release was built. What is not covered is refused, with the columns that there are.")
	p.head("Citation")
	p.line(c.Citation)
	p.text(`<pre tabindex="0">` + shown(bibTeX(c)) + "</pre>\n")
	p.pairs("digest", c.Digest)
	p.line("The digest is SHA-256 of the card and the releases: the page answers nothing if they were damaged. It is not signed. Who wants to know whether the page is its publisher's compares the digest, or runs: dpsql verify FILE DATABASE")
	p.text("</article>\n")
}

// table writes what is to be known of a table and its releases.
func (p *printer) table(c page.Card, t page.Table) {
	counted, protected, budget := "rows", "each row", ""
	if t.Unit != "" {
		counted, protected = fmt.Sprintf("rows, at most %d of each %s", t.MaxRows, t.Unit), "all rows of one "+t.Unit+" together"
	}
	if t.Epsilon != "" {
		budget = fmt.Sprintf("this table may spend at most ε = %s, δ = %s, here and elsewhere", t.Epsilon, t.Delta)
	}
	if t.Each != "" {
		protected, budget = protected+", for "+t.Each, strings.TrimPrefix(budget+", for "+t.Each, ", ")
	}
	p.head("Table " + t.Name)
	p.pairs("counted", counted, "protected", protected, "budget", budget)
	var columns, releases [][]string
	for _, column := range t.Declared() {
		columns = append(columns, []string{column.Name, column.Type, column.Shown})
	}
	for _, r := range c.Releases {
		if r.Table == t.Name {
			releases = append(releases, []string{r.Name, covered(t, r), r.Method, r.Epsilon, r.Delta, r.Created, r.Rows})
		}
	}
	p.grid([]string{"column", "type", "values"}, columns)
	p.grid([]string{"release", "columns", "mechanism and noise", "ε", "δ", "built", "rows"}, releases)
}

// public writes what is to be known of a public table.
func (p *printer) public(t page.Public) {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, c.Name)
	}
	p.head("Public table " + t.Name)
	p.pairs("rows", fmt.Sprint(t.Rows), "columns", strings.Join(columns, ", "), "protected", "nobody: its rows are no secret, and come as they are")
}

// covered names the columns of a release.
func covered(t page.Table, r page.Release) string {
	var names []string
	for _, c := range t.Declared() {
		if r.Columns == nil || slices.ContainsFunc(r.Columns, func(i int) bool { return t.Columns[i].Name == c.Name }) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// bibTeX returns the citation as an entry of BibTeX.
func bibTeX(c page.Card) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@misc{dpsql-%s,\n", c.Digest[:12])
	escape := strings.NewReplacer(`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `%`, `\%`, `&`, `\&`, `#`, `\#`, `$`, `\$`, `_`, `\_`)
	year, _, _ := strings.Cut(c.Made, "-")
	for _, f := range [][2]string{{"title", c.Title}, {"author", c.Publisher}, {"year", year}, {"doi", c.DOI},
		{"note", cmp.Or(c.Cite, "Differentially private release") + ". SHA-256 " + c.Digest}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "  %s = {%s},\n", f[0], escape.Replace(f[1]))
		}
	}
	return b.String() + "}"
}

// shown escapes a text. What people do not see, or what reorders what is around it, is spelled out.
func shown(text string) string { return html.EscapeString(string(answerjson.Spelled(text))) }

func (p *printer) head(text string) { p.text("<h2>" + shown(text) + "</h2>\n") }

func (p *printer) line(text string) { p.text("<p>" + shown(text) + "</p>\n") }

// pairs writes names with their texts, but for those that are empty.
func (p *printer) pairs(all ...string) {
	p.text("<dl>")
	for i := 0; i < len(all); i += 2 {
		if all[i+1] != "" {
			p.text("<dt>" + shown(all[i]) + "</dt><dd>" + shown(all[i+1]) + "</dd>")
		}
	}
	p.text("</dl>\n")
}

// grid writes a table.
func (p *printer) grid(heads []string, rows [][]string) {
	p.text(`<div class="wide"><table><thead>`)
	p.row(`th scope="col"`, "th", heads)
	p.text("</thead><tbody>")
	for _, row := range rows {
		p.row("td", "td", row)
	}
	p.text("</tbody></table></div>\n")
}

func (p *printer) row(open, end string, cells []string) {
	p.text("<tr>")
	for _, cell := range cells {
		p.text("<" + open + ">" + shown(cell) + "</" + end + ">")
	}
	p.text("</tr>\n")
}
