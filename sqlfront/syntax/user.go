package syntax

import (
	"regexp"
	"strings"

	"dpsql/sqlerr"
)

// CreateUser is CREATE USER … PASSWORD '…', or ALTER USER … PASSWORD '…'.
type CreateUser struct {
	Alter        bool
	Name         Name
	IfNotExists  bool   // of CREATE
	IfExists     bool   // of ALTER
	Password     string // or a verifier; it is a secret
	PasswordFrom int
}

// Grant is GRANT SELECT ON table, … TO user, … WITH (…), or REVOKE SELECT ON table, … FROM user, ….
type Grant struct {
	Revoke  bool
	Tables  []Name // at least one; names differ
	Users   []Name // at least one; names differ
	Options []Option
}

func (*CreateUser) statement() {}
func (*Grant) statement()      {}

const gap = `(?:[\s;]|--[^\n]*(?:\n|$)|/\*.*?\*/)`

// passwordStatement matches a statement that has the place of a password, however it goes on.
var passwordStatement = regexp.MustCompile(`(?is)^` + gap + `*((?:create|alter)` + gap + `+(?:user|role)\b)`)

// Masked returns a statement as it may be shown and kept: its first words alone if it may
// hold a password.
func Masked(text string) string {
	if m := passwordStatement.FindStringSubmatch(text); m != nil {
		return strings.Join(strings.Fields(m[1]), " ") + " …"
	}
	return text
}

// masked returns the error of lexing a text. It quotes nothing if the text may hold a
// password.
func masked(text string, err error) error {
	e, ok := err.(*sqlerr.Error)
	if !ok || Masked(text) == text {
		return err
	}
	return sqlerr.New(sqlerr.Malformed, "the text of the statement cannot be read").
		WithHint("the password stands in single quotes, and a quote inside it is doubled: ''").At(e.Position)
}

const passwordHint = "%s USER name PASSWORD '…', with the password in single quotes"

// user parses what follows CREATE USER and ALTER USER. Its errors quote nothing that
// follows the name, which may be a password.
func (p *parser) user(alter bool) (Statement, error) {
	s, verb := &CreateUser{Alter: alter}, "CREATE"
	if alter {
		verb, s.IfExists = "ALTER", p.accept("IF", "EXISTS")
	} else {
		s.IfNotExists = p.accept("IF", "NOT", "EXISTS")
	}
	t := p.peek()
	if !t.isName() || t.Value == "" {
		return nil, t.Malformed("expected the name of a user").WithHint(passwordHint, verb)
	}
	var err error
	if s.Name, err = p.name("the name of a user"); err != nil {
		return nil, err
	}
	p.accept("WITH")
	p.accept("ENCRYPTED")
	if t := p.peek(); !p.accept("PASSWORD") {
		return nil, t.Malformed("expected PASSWORD after the name of the user").WithHint(passwordHint, verb)
	}
	t = p.next()
	if t.Kind != KindString {
		return nil, t.Malformed("expected the password in single quotes").WithHint(passwordHint, verb)
	}
	s.Password, s.PasswordFrom = t.Value, t.Position
	if t := p.peek(); t.Kind != KindEnd {
		return nil, t.Malformed("unexpected text after the password").WithHint(passwordHint, verb)
	}
	return s, nil
}

const (
	grantHint  = "GRANT SELECT ON table TO user WITH (rho = …, charge = …)"
	revokeHint = "REVOKE SELECT ON table FROM user"
)

// grant parses what follows GRANT and REVOKE.
func (p *parser) grant(revoke bool) (Statement, error) {
	s, verb, to, hint := &Grant{Revoke: revoke}, "GRANT", "TO", grantHint
	if revoke {
		verb, to, hint = "REVOKE", "FROM", revokeHint
	}
	switch t := p.peek(); {
	case p.accept("SELECT"):
	case t.Kind == KindWord:
		return nil, t.Unsupported(verb+" "+Excerpt(t.Upper, 40)).WithHint("%s is all that can be granted", hint)
	default:
		return nil, p.unexpected("SELECT")
	}
	if t := p.peek(); t.Matches("(") {
		return nil, t.Unsupported(verb + " of single columns").WithHint("declare a private table of these columns, and grant that")
	}
	if err := p.expect("ON"); err != nil {
		return nil, err
	}
	if t := p.peek(); t.Matches("ALL") {
		return nil, t.Unsupported(verb + " on all tables").WithHint("list the private tables: SHOW TABLES has them")
	}
	p.accept("TABLE")
	var err error
	if s.Tables, err = p.list("a private table"); err != nil {
		return nil, err
	}
	if err := p.expect(to); err != nil {
		return nil, err
	}
	if t := p.peek(); t.Matches("PUBLIC") {
		return nil, t.Unsupported(verb + " … " + to + " PUBLIC").WithHint("list the users: SHOW USERS has them; public tables are open to all of them")
	}
	if s.Users, err = p.list("the name of a user"); err != nil {
		return nil, err
	}
	if t := p.peek(); t.Matches("WITH") && !revoke {
		if p.after(1).Matches("GRANT") {
			return nil, t.Unsupported("WITH GRANT OPTION").WithHint("only the curator grants")
		}
		s.Options, err = p.withOptions()
	}
	return s, err
}
