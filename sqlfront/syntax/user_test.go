package syntax_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

func TestUserStatements(t *testing.T) {
	for text, want := range map[string]syntax.Statement{
		"CREATE USER ana PASSWORD 's3''cret'":                                    &syntax.CreateUser{Name: syntax.Name{"ana", 13}, Password: "s3'cret", PasswordFrom: 26},
		`create user if not exists "Eva M" with encrypted password 'x-x-x-x-x';`: &syntax.CreateUser{Name: syntax.Name{"Eva M", 27}, IfNotExists: true, Password: "x-x-x-x-x", PasswordFrom: 59},
		"ALTER USER IF EXISTS ana PASSWORD 'x-x-x-x-x'":                          &syntax.CreateUser{Alter: true, IfExists: true, Name: syntax.Name{"ana", 22}, Password: "x-x-x-x-x", PasswordFrom: 35},
		"DROP USER IF EXISTS ana":                                                &syntax.Drop{Kind: syntax.User, Name: syntax.Name{"ana", 21}, IfExists: true},
		"GRANT SELECT ON visits TO ana":                                          &syntax.Grant{Tables: []syntax.Name{{"visits", 17}}, Users: []syntax.Name{{"ana", 27}}},
		"GRANT SELECT ON TABLE a, b TO ana, bob WITH (rho = 1, charge = 2)":      &syntax.Grant{Tables: []syntax.Name{{"a", 23}, {"b", 26}}, Users: []syntax.Name{{"ana", 31}, {"bob", 36}}, Options: []syntax.Option{{Name: syntax.Name{"rho", 46}, Value: "1", Kind: syntax.Number, Position: 52}, {Name: syntax.Name{"charge", 55}, Value: "2", Kind: syntax.Number, Position: 64}}},
		"REVOKE SELECT ON visits FROM ana":                                       &syntax.Grant{Revoke: true, Tables: []syntax.Name{{"visits", 18}}, Users: []syntax.Name{{"ana", 30}}},
		"SHOW USERS":                                                             &syntax.Show{What: syntax.Users},
		"SHOW GRANTS FOR ana FULL":                                               &syntax.Show{What: syntax.Grants, For: syntax.Name{"ana", 17}, Full: true},
		"SHOW BUDGET FOR visits FULL":                                            &syntax.Show{What: syntax.Budget, For: syntax.Name{"visits", 17}, Full: true},
		"SHOW GRANTS":                                                            &syntax.Show{What: syntax.Grants},
	} {
		got, err := syntax.Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v (%v)", text, got, err)
		}
	}
}

func TestUserStatementsRefused(t *testing.T) {
	for text, want := range map[string]struct {
		code sqlerr.Code
		says string // the message or the hint
	}{
		"GRANT INSERT ON visits TO ana":                      {sqlerr.Unsupported, "GRANT SELECT ON"},
		"GRANT ALL ON visits TO ana":                         {sqlerr.Unsupported, "GRANT SELECT ON"},
		"GRANT SELECT (age) ON visits TO ana":                {sqlerr.Unsupported, "single columns"},
		"GRANT SELECT ON ALL TABLES IN SCHEMA public TO ana": {sqlerr.Unsupported, "SHOW TABLES"},
		"GRANT SELECT ON visits TO PUBLIC":                   {sqlerr.Unsupported, "SHOW USERS"},
		"GRANT SELECT ON visits TO ana WITH GRANT OPTION":    {sqlerr.Unsupported, "only the curator"},
		"GRANT SELECT ON visits, Visits TO ana":              {sqlerr.Invalid, "listed twice"},
		"GRANT SELECT ON visits FROM ana":                    {sqlerr.Malformed, "expected TO"},
		"REVOKE SELECT ON visits TO ana":                     {sqlerr.Malformed, "expected FROM"},
		"REVOKE SELECT ON visits FROM ana CASCADE":           {sqlerr.Malformed, "CASCADE"},
		"REVOKE SELECT ON visits FROM ana WITH (rho = 1)":    {sqlerr.Malformed, "WITH"},
		"CREATE ROLE ana":                                    {sqlerr.Unsupported, "CREATE USER name PASSWORD"},
		"ALTER ROLE ana PASSWORD 'x-x-x-x-x'":                {sqlerr.Unsupported, "ALTER USER name PASSWORD"},
		"DROP ROLE ana":                                      {sqlerr.Unsupported, "DROP USER"},
		"CREATE USER ana":                                    {sqlerr.Malformed, "expected PASSWORD"},
		"CREATE USER select PASSWORD 'x-x-x-x-x'":            {sqlerr.Malformed, "expected the name"},
		"CREATE USER ana PASSWORD ?":                         {sqlerr.Unsupported, "parameter"},
		"SHOW GRANTS FOR":                                    {sqlerr.Malformed, "the name of a user"},
		"DROP USER":                                          {sqlerr.Malformed, "the name of a user"},
	} {
		_, err := syntax.Parse(text)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code != want.code || !strings.Contains(e.Message+" "+e.Hint, want.says) {
			t.Errorf("%s: got %v (%+v)", text, err, e)
		}
	}
}

// No error quotes a password, wherever it stands.
func TestPasswordsAreNotQuoted(t *testing.T) {
	const secret = "hunter22"
	for _, text := range []string{
		"CREATE USER ana 'hunter22'", "CREATE USER 'hunter22'", `CREATE USER "" PASSWORD 'hunter22'`, "CREATE USER ana PASSWORD hunter22", `CREATE USER ana PASSWORD "hunter22"`,
		"CREATE USER ana PASSWORD 'x-x-x-x-x' hunter22", "CREATE USER ana PASSWORD 'x-x-x-x-x''hunter22' hunter22", "ALTER USER ana hunter22", "ALTER USER ana SET PASSWORD 'hunter22'",
		"ALTER USER ana PASSWORD 'hunter22", "CREATE USER ana PASSWORD 0xhunter22", "CREATE USER ana PASSWORD 123hunter22", "CREATE USER ana PASSWORD 1_hunter22", "CREATE USER ana IDENTIFIED BY 'hunter22'",
		"create /* x */ user ana password 5hunter22", "; -- a\nCREATE -- b\n USER ana PASSWORD $1hunter22", "ALTER ROLE ana PASSWORD 7hunter22", "CREATE USER ana PASSWORD #hunter22", "CREATE USER ana PASSWORD ?9hunter22",
		"EXPLAIN CREATE USER ana PASSWORD 'hunter22'", "CREATE USER ana PASSWORD 'hunter22'; SELECT 'hunter22'", "CREATE USER ana hunter22 PASSWORD 'x-x-x-x-x'", "CREATE USER IF NOT hunter22 PASSWORD 'x-x-x-x-x'",
	} {
		_, err := syntax.Parse(text)
		var e *sqlerr.Error
		if !errors.As(err, &e) || strings.Contains(e.Message+e.Hint, secret) {
			t.Errorf("%s: %v", text, e)
		}
		if _, err := syntax.Parameters(text); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: its parameters: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"create\n user ana password 'x'":              "create user …",
		"/* c */ ALTER USER ana PASSWORD 'x-x-x-x-x'": "ALTER USER …",
		"CREATE USERS":           "CREATE USERS",
		"SELECT password FROM t": "SELECT password FROM t",
		"DROP USER ana":          "DROP USER ana",
	} {
		if got := syntax.Masked(text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}
