package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/internal/scram"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// principal is who a session acts for.
type principal struct {
	role Role
	id   int64  // of the user, 0 for none
	name string // of the user
	err  error  // why nothing may be asked; nil if it may
}

// NewUserSession returns a session of a user, with the database's settings. It has the role of
// an analyst, sees the public tables and the private tables that were granted to her, and buys
// from her quotas. It is bound to the user who has the name now: if she is dropped, its next
// statement is refused, whoever has the name then. A session of a name that no user has
// refuses every statement. The caller must have made sure who asks.
func (db *DB) NewUserSession(user string) *Session {
	s := &Session{db: db, settings: db.settings, by: principal{role: Analyst, name: user}}
	u, err := db.user(context.Background(), user)
	switch {
	case err != nil:
		s.by.err = err
	case u == nil:
		s.by.err = sqlerr.New(sqlerr.Forbidden, "there is no user %s", syntax.Excerpt(user, 40))
	default:
		s.by.id, s.by.name = u.ID, u.Name
	}
	s.begin()
	return s
}

// Again returns a session of whom s is of, with the database's settings. It may be called while s is used.
func (s *Session) Again() *Session {
	other := &Session{db: s.db, settings: s.db.settings, by: s.by}
	other.begin()
	return other
}

// HasVerifier reports whether the session's user is still there, with the password that a verifier is of. It costs
// no look into the file while nothing was committed to it. It may be called while s is used.
func (s *Session) HasVerifier(ctx context.Context, verifier string) (bool, error) {
	v, err := s.current(ctx)
	switch {
	case sqlerr.CodeOf(err) == sqlerr.Forbidden:
		return false, nil
	case err != nil:
		return false, public(ctx, err)
	}
	return v.User != nil && v.User.Verifier == verifier, nil
}

// Verifier returns the verifier of a user's password, in PostgreSQL's text form. If there is
// no such user, known is false, and the verifier is one that no password fits: the same at
// each call, as that of a user is. A verifier is a secret of the server: no statement shows
// it. The error is a *sqlerr.Error.
func (db *DB) Verifier(ctx context.Context, user string) (verifier string, known bool, err error) {
	var secret []byte
	var all []catalog.User
	err = db.store.Read(ctx, func(tx *catalog.Tx) (err error) {
		if secret, err = tx.Secret(); err == nil {
			all, err = tx.Users()
		}
		return err
	})
	if err == nil && secret == nil {
		secret, err = db.newSecret(ctx, len(all) > 0)
	}
	if err != nil {
		return "", false, public(ctx, err)
	}
	mock := scram.Mock(secret, query.FoldName(user)) // one for Ana and ANA, as a user's is
	for i := range all {
		if query.SameName(all[i].Name, user) {
			return all[i].Verifier, true, nil
		}
	}
	return mock, false, nil
}

// newSecret returns the secret of mock verifiers of a file that has none. It is kept in the file once there
// are users: theirs are the same after a restart, and so must those of nobody be. A file that cannot be
// written has one for each process.
func (db *DB) newSecret(ctx context.Context, keep bool) (secret []byte, err error) {
	if keep {
		err = db.store.Write(ctx, func(tx *catalog.Tx) error {
			if secret, err = tx.Secret(); err != nil || secret != nil { // another process was quicker
				return err
			}
			secret = scram.Secret()
			return tx.AddSecret(secret)
		})
		if sqlerr.CodeOf(err) != sqlerr.ReadOnly {
			return secret, err
		}
	}
	return db.strangers(), nil
}

// user returns the user of that name, or nil.
func (db *DB) user(ctx context.Context, name string) (*catalog.User, error) {
	return catalog.Get(ctx, db.store, func(tx *catalog.Tx) (*catalog.User, error) { return tx.User(name) })
}

// Masked returns a statement as it may be shown and kept: without what may be a password.
func Masked(text string) string { return syntax.Masked(text) }

// Fingerprint returns the SHA-256 of a statement, for logs. Nothing that may be a password is in it: a hash could
// be tried.
func Fingerprint(text string) string {
	if at := passwordMark.FindStringIndex(text); at != nil {
		text = text[:at[1]]
	}
	sum := sha256.Sum256([]byte(Masked(text)))
	return hex.EncodeToString(sum[:])
}

// passwordMark finds where a password may follow, in a statement that cannot be read as well.
var passwordMark = regexp.MustCompile(`(?i)password|(?:create|alter)\s+(?:user|role)`)

// current returns the public catalog as it is now, as far as the session may see it. Callers
// must not change it.
func (s *Session) current(ctx context.Context) (*view.View, error) {
	if s.by.err != nil {
		return nil, s.by.err
	}
	return s.db.answers.Current(ctx, s.by.id)
}

// curatorOnly refuses an analyst. Callers check before they look up any name.
func (s *Session) curatorOnly(what string) error {
	switch {
	case s.by.err != nil:
		return s.by.err
	case s.by.role == Curator:
		return nil
	case s.by.id != 0:
		return sqlerr.New(sqlerr.Forbidden, "the user %s may not %s", s.by.name, what).
			WithHint("the curator does so, on the file")
	}
	return sqlerr.New(sqlerr.Forbidden, "the analyst role may not %s", what).
		WithHint("open the database as curator")
}

// showUsers lists the users, or what was granted.
func (s *Session) showUsers(ctx context.Context, st *syntax.Show) (*Result, error) {
	var users []catalog.User
	var grants []catalog.Grant
	var tables []catalog.Table
	err := s.db.store.Read(ctx, func(tx *catalog.Tx) (err error) {
		if users, err = tx.Users(); err != nil {
			return err
		}
		if grants, err = tx.Grants(); err != nil {
			return err
		}
		tables, err = tx.Tables()
		return err
	})
	if err != nil {
		return nil, err
	}
	if st.What == syntax.Users {
		return listUsers(users, grants), nil
	}
	if name := st.For.Text; name != "" {
		users = slices.DeleteFunc(users, func(u catalog.User) bool { return !query.SameName(u.Name, name) })
		if len(users) == 0 {
			return nil, sqlerr.New(sqlerr.Unknown, "there is no user %s", name).WithHint("SHOW USERS lists the users").At(st.For.Position)
		}
	}
	return listGrants(users, grants, tables), nil
}

func listUsers(users []catalog.User, grants []catalog.Grant) *Result {
	r := &Result{Columns: released.ListColumns(syntax.Users)}
	for _, u := range users {
		tables := int64(0)
		for _, g := range grants {
			if g.UserID == u.ID {
				tables++
			}
		}
		r.Rows = append(r.Rows, []any{u.Name, tables, u.CreatedAt.Format(time.RFC3339)})
	}
	return r
}

// listGrants lists grants by user and table.
func listGrants(users []catalog.User, grants []catalog.Grant, tables []catalog.Table) *Result {
	r := &Result{Columns: released.ListColumns(syntax.Grants), Brief: &Result{Columns: released.Texts("user", "table", "rho", "charge", "left")}}
	for _, u := range users {
		for _, t := range tables {
			i := slices.IndexFunc(grants, func(g catalog.Grant) bool { return g.UserID == u.ID && g.TableID == t.ID })
			if i < 0 {
				continue
			}
			g := &grants[i]
			r.Rows = append(r.Rows, []any{u.Name, t.Name, amountText(g.Quota.Rho), amountText(g.Quota.Charge), g.Spent.String(), g.Left().String(), g.GrantedAt.Format(time.RFC3339)})
			r.Brief.Rows = append(r.Brief.Rows, []any{u.Name, t.Name, amountText(g.Quota.Rho), amountText(g.Quota.Charge), g.Left().String()})
		}
	}
	return r
}

// mostPurchases is how many purchases are listed: the last ones.
const mostPurchases = 500

// Purchases lists what the session's user bought, the last first: when, about which table or by which mechanism, what, and
// for how much. Others' purchases are the curator's to see. Nobody has any but a user.
func (s *Session) Purchases(ctx context.Context) (*Result, error) {
	r := &Result{Columns: released.Listed("at", "TEXT", "object", "TEXT", "action", "TEXT", "rho", "DECIMAL")}
	if s.by.err != nil || s.by.id == 0 {
		return r, s.by.err
	}
	bought := regexp.MustCompile(`^(\d+ direct answers|direct answer|run \d+ of \d+)$`) // no other line that has a name in it
	err := s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		u, err := tx.User(s.by.name)
		if err != nil || u == nil || u.ID != s.by.id {
			return err
		}
		entries, err := tx.Ledger()
		for _, e := range slices.Backward(entries) {
			action, buyer, _ := strings.Cut(e.Action, " for ")
			if bought.MatchString(action) && buyer == u.Name && !e.At.Before(u.CreatedAt) && len(r.Rows) < mostPurchases {
				r.Rows = append(r.Rows, []any{e.At.Format(time.RFC3339), e.Object, action, amountText(e.Amount.Rho)})
			}
		}
		return err
	})
	if err != nil {
		return nil, public(ctx, err)
	}
	return r, nil
}

// userNames returns the names of all users, to a curator.
func (s *Session) userNames(ctx context.Context) (names []string, err error) {
	if s.by.role != Curator {
		return nil, nil
	}
	users, err := catalog.Get(ctx, s.db.store, (*catalog.Tx).Users)
	for _, u := range users {
		names = append(names, u.Name)
	}
	return names, err
}
