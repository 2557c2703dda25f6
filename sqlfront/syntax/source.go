package syntax

import (
	"regexp"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// createSource parses what follows CREATE SOURCE. How to reach the database is a
// secret that has no place in a statement, so nothing that could be one is ever
// quoted.
func (p *parser) createSource() (Statement, error) {
	if err := p.noSecrets(); err != nil {
		return nil, err
	}
	s := &CreateSource{IfNotExists: p.accept("IF", "NOT", "EXISTS")}
	var err error
	if s.Name, err = p.name("the name of a source"); err != nil {
		return nil, err
	}
	if err := p.expect("USING"); err != nil {
		return nil, err
	}
	switch t := p.peek(); {
	case p.accept("POSTGRES"), p.accept("POSTGRESQL"):
	case t.Kind == KindWord && !reserved[t.Upper]:
		return nil, sqlerr.New(sqlerr.Unsupported, "there is no kind of source %s", Excerpt(t.Text, 40)).
			WithHint("the kind is POSTGRES; tables of the SQLite file need no source").At(t.Position)
	default:
		return nil, p.unexpected("POSTGRES")
	}
	s.Options, err = p.with()
	return s, err
}

// variable is what the name of an environment variable looks like.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsVariable reports whether a text can be the name of an environment variable.
func IsVariable(name string) bool { return variable.MatchString(name) }

// noSecrets refuses what could be a connection string or a password: a text that
// does not stand where the name of a variable does, or is none, and a quoted name
// that needs its quotes.
func (p *parser) noSecrets() error {
	for i, t := range p.tokens[p.at:] {
		named := i >= 2 && p.after(i-2).Is("DSN_ENV") && p.after(i-1).Is("=")
		if t.Kind == KindString && !(named && IsVariable(t.Value)) || t.Kind == KindQuoted && !IsVariable(t.Value) ||
			t.Is("/") || strings.EqualFold(t.Text, "password") {
			return sqlerr.New(sqlerr.Invalid, "a connection string or password does not belong into a statement").
				WithHint("put it into an environment variable and name that: WITH (dsn_env = 'WAREHOUSE_DSN')").At(t.Position)
		}
	}
	return nil
}

// place parses where the rows of a private table are: a table or view of the
// file, with main in front of it or not; or source.table or source.schema.table,
// where the schema is public if it is not given.
func (p *parser) place() (in, table Name, err error) {
	var parts []Name
	var written []string // in double quotes where it was quoted
	for len(parts) == 0 || p.accept(".") {
		t := p.peek()
		n, err := p.name([]string{"the table or view with the rows", "a schema, table or view", "a table or view", "no fourth name"}[len(parts)])
		if err != nil {
			return Name{}, Name{}, err
		}
		if len(parts) == 3 {
			return Name{}, Name{}, sqlerr.New(sqlerr.Invalid, "a table has at most three names: source.schema.table").At(n.Position)
		}
		if parts = append(parts, n); t.Kind == KindQuoted {
			written = append(written, `"`+strings.ReplaceAll(n.Text, `"`, `""`)+`"`)
		} else {
			written = append(written, n.Text)
		}
	}
	switch {
	case len(parts) == 1:
		return Name{}, parts[0], nil
	case !query.SameName(parts[0].Text, "main") && len(parts) == 2:
		return parts[0], Name{"public." + written[1], parts[1].Position}, nil
	case !query.SameName(parts[0].Text, "main"):
		return parts[0], Name{written[1] + "." + written[2], parts[1].Position}, nil
	case len(parts) == 2:
		return Name{}, parts[1], nil
	}
	return Name{}, Name{}, sqlerr.New(sqlerr.Invalid, "main is the file itself and has no schemas").At(parts[1].Position)
}
