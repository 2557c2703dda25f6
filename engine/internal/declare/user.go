package declare

import (
	"context"
	"strings"
	"unicode/utf8"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/scram"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// CreateUser adds a user, or sets the password of one. The catalog keeps a verifier.
func (s *Statement) CreateUser(ctx context.Context, st *syntax.CreateUser) error {
	verifier, err := verifierOf(st.Password)
	if err != nil {
		return sqlerr.Locate(err, st.PasswordFrom)
	}
	return s.Store.Write(ctx, func(tx *catalog.Tx) error {
		u, err := tx.User(st.Name.Text)
		switch {
		case err != nil:
			return err
		case st.Alter && u == nil && st.IfExists, !st.Alter && u != nil && st.IfNotExists:
			return nil
		case st.Alter && u == nil:
			return noUser(st.Name)
		case st.Alter:
			return tx.SetVerifier(u, verifier)
		}
		return sqlerr.Locate(tx.AddUser(&catalog.User{Name: st.Name.Text, Verifier: verifier}), st.Name.Position)
	})
}

// verifierOf returns the verifier of a password, or the text itself if it is one, as
// PostgreSQL does. It refuses what only looks like one: nobody could log in with it.
func verifierOf(password string) (string, error) {
	switch {
	case scram.Valid(password):
		return password, nil
	case strings.HasPrefix(password, scram.Plain+"$"):
		return "", sqlerr.New(sqlerr.Invalid, "the password begins as a verifier and is none").
			WithHint("a verifier is %s$iterations:salt$StoredKey:ServerKey", scram.Plain)
	case len(password) == 35 && strings.HasPrefix(password, "md5"):
		return "", sqlerr.New(sqlerr.Unsupported, "MD5 is outside the dialect").
			WithHint("give the password itself, or a verifier %s$…", scram.Plain)
	}
	if utf8.RuneCountInString(password) < leastPassword {
		return "", sqlerr.New(sqlerr.Invalid, "the password has fewer than %d characters", leastPassword).
			WithHint("whoever has the file can try them all; several words are easy to keep in mind")
	}
	return scram.New(password)
}

// leastPassword is the least number of characters of a password.
const leastPassword = 8

func noUser(name syntax.Name) error {
	return sqlerr.New(sqlerr.Unknown, "there is no user %s", name.Text).WithHint("SHOW USERS lists the users").At(name.Position)
}

// Grant lets users ask tables with a quota, or takes tables from them: all or nothing.
func (s *Statement) Grant(ctx context.Context, st *syntax.Grant) error {
	quota, err := readQuota(st)
	if err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx *catalog.Tx) error {
		v, err := view.Read(tx)
		if err != nil {
			return err
		}
		for _, name := range st.Users {
			u, err := tx.User(name.Text)
			switch {
			case err != nil:
				return err
			case u == nil:
				return noUser(name)
			}
			for _, table := range st.Tables {
				t, err := v.Table(table.Text, table.Position)
				switch {
				case err != nil:
					return err
				case st.Revoke:
					err = tx.Revoke(u, &t.Table)
				default:
					err = tx.Grant(u, &t.Table, quota)
				}
				if err != nil {
					return sqlerr.Locate(err, table.Position)
				}
			}
		}
		return nil
	})
}

// readQuota reads the WITH clause of a GRANT.
func readQuota(st *syntax.Grant) (q catalog.Quota, err error) {
	o := kind.NewOptions(st.Options, "rho", "charge")
	amount := func(name string) (rho accounting.Rho) {
		if text, position := o.Number(name); text != "" {
			var err error
			rho, err = accounting.ParseRho(name, text)
			o.Fail(err, position)
		}
		return rho
	}
	q.Rho, q.Charge = amount("rho"), amount("charge")
	if given := o.Find("charge"); given != nil && q.Rho == 0 {
		o.Fail(sqlerr.New(sqlerr.Invalid, "charge has no meaning without rho").
			WithHint("rho is what may be taken in all, and charge the most of one statement: WITH (rho = 0.01, charge = 0.001)"), given.Name.Position)
	}
	return q, o.Done()
}

// dropUser removes a user.
func dropUser(tx *catalog.Tx, name string) error {
	u, err := tx.User(name)
	if err != nil {
		return err
	}
	if u == nil {
		return sqlerr.New(sqlerr.Unknown, "there is no user %s", name).WithHint("SHOW USERS lists the users")
	}
	return tx.DropUser(u)
}
