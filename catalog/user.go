package catalog

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dpsql/accounting"
	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// User is an analyst whom a server lets in. The id of a dropped user is never used
// again, so a later user of the same name is another one.
type User struct {
	ID        int64     `json:"-"`
	Name      string    `json:"-"`
	Verifier  string    `json:"verifier"` // of the password, in PostgreSQL's text form; it is a secret
	CreatedAt time.Time `json:"created_at"`
}

func userFrom(o *object, u *User) (User, error) {
	u.ID, u.Name = o.id, o.name
	return *u, nil
}

// Users lists the users by name.
func (tx *Tx) Users() ([]User, error) { return all(tx, kindUser, userFrom) }

// User returns the user of that name, nil when there is none.
func (tx *Tx) User(name string) (*User, error) { return one(tx, kindUser, named(name), userFrom) }

// AddUser stores a user and sets u.ID and u.CreatedAt. Errors: Invalid when the name is
// taken or no role of PostgreSQL can have it.
func (tx *Tx) AddUser(u *User) error {
	existing, err := tx.User(u.Name)
	switch {
	case err != nil:
		return err
	case existing != nil:
		return sqlerr.New(sqlerr.Exists, "the user %s exists", existing.Name).Of(sqlerr.Thing).WithHint("ALTER USER %s PASSWORD '…' sets another password", existing.Name)
	}
	if err := checkUserName(u.Name); err != nil {
		return err
	}
	u.CreatedAt = tx.stamp()
	u.ID, err = tx.create(kindUser, u.Name, 0, u)
	return err
}

// storedSecret is the body of the secret of a server.
type storedSecret struct {
	Secret []byte `json:"secret"`
}

// Secret returns the secret by which a server makes verifiers for names that no user has, nil if none
// was stored.
func (tx *Tx) Secret() ([]byte, error) {
	found, err := one(tx, kindSecret, func(*object) bool { return true }, secretFrom)
	if found == nil {
		return nil, err
	}
	return *found, nil
}

func secretFrom(_ *object, s *storedSecret) ([]byte, error) {
	if len(s.Secret) == 0 {
		return nil, corrupt("the secret of a server is empty")
	}
	return s.Secret, nil
}

// AddSecret stores the secret. It is an error if there is one.
func (tx *Tx) AddSecret(secret []byte) error {
	found, err := tx.Secret()
	switch {
	case err != nil:
		return err
	case found != nil:
		return sqlerr.New(sqlerr.Internal, "the catalog has a secret already")
	}
	_, err = tx.create(kindSecret, "", 0, &storedSecret{secret})
	return err
}

// maxUserName is the largest length in bytes of the name of a role of PostgreSQL. Its
// clients cut longer ones.
const maxUserName = 63

func checkUserName(name string) error {
	fold := query.FoldName(name)
	switch {
	case name == "" || len(name) > maxUserName:
		return sqlerr.New(sqlerr.Invalid, "the name of a user has 1 to %d bytes", maxUserName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return sqlerr.New(sqlerr.Invalid, "the name of a user has a character that cannot be shown")
	case fold == "public" || fold == "none" || strings.HasPrefix(fold, "pg_"):
		return sqlerr.New(sqlerr.Invalid, "a user cannot be called %s, as roles of PostgreSQL's own are", name)
	case fold == string(Curator) || fold == "dpsql": // who is logged in over a socket, and whom tools are shown as owner
		return sqlerr.New(sqlerr.Invalid, "a user cannot be called %s, as the curator is", name)
	}
	return nil
}

// SetVerifier sets the verifier of a user's password.
func (tx *Tx) SetVerifier(u *User, verifier string) error {
	u.Verifier = verifier
	return tx.replace(kindUser, u.ID, u)
}

// DropUser removes a user, and revokes what was granted to her. What she spent stays on
// record.
func (tx *Tx) DropUser(u *User) error {
	if err := tx.revokeAll(func(g *Grant) bool { return g.UserID == u.ID }); err != nil {
		return err
	}
	return tx.drop(kindUser, u.ID)
}

// Quota is what a user may take through a private table. It binds beside the cap and the
// limits of the account that the table charges. The zero value lets nothing be bought.
type Quota struct {
	Rho    accounting.Rho `json:"rho"`    // in all, for ever
	Charge accounting.Rho `json:"charge"` // with one statement, counted as Limits.MaxCharge is; 0 is no limit
}

// String returns the quota as the options of a GRANT, "" if it is none.
func (q Quota) String() string {
	switch {
	case q.Rho == 0:
		return ""
	case q.Charge == 0:
		return "rho = " + q.Rho.String()
	}
	return "rho = " + q.Rho.String() + ", charge = " + q.Charge.String()
}

// MaxStored bounds the bytes that a user's direct answers take in the file, about all tables and for ever:
// about 200,000 numbers, or 780 of the largest distributions. They are never dropped.
const MaxStored = 64 << 20

// Grant lets a user ask a private table. There is one record for a user and a table, for
// ever: a table that is granted again goes on with what was spent.
type Grant struct {
	ID        int64          `json:"-"`
	UserID    int64          `json:"user"`
	TableID   int64          `json:"-"`
	Quota     Quota          `json:"quota"`
	Spent     accounting.Rho `json:"spent"`  // by the user through the table, runs of mechanisms included
	Stored    int64          `json:"stored"` // bytes that her direct answers about the table take in the file, at most
	GrantedAt time.Time      `json:"granted_at"`
	RevokedAt *time.Time     `json:"revoked_at,omitempty"` // nil while it holds
}

// Left returns what is left of the quota.
func (g *Grant) Left() accounting.Rho { return max(0, g.Quota.Rho-g.Spent) }

// Check refuses a purchase that the grant does not allow, with code forbidden or budget.
// It depends on nothing private.
func (g *Grant) Check(by Buyer, cost accounting.Rho) error {
	if g.Quota.Rho == 0 {
		return sqlerr.New(sqlerr.Forbidden, "nothing may be bought about this table: the grant has no quota").
			WithHint("releases, stored answers and runs of mechanisms that have begun stay free; the curator gives a quota: GRANT … WITH (rho = …)")
	}
	if cost > g.Left() {
		return sqlerr.New(sqlerr.Budget, "it takes ρ = %s, and the quota for this table has ρ = %s left",
			shortDecimal(int64(cost), 15, true), shortDecimal(int64(g.Left()), 15, false)).WithHint("what is stored and released stays free")
	}
	return checkCharge(g.Quota.Charge, "charge", by, cost)
}

func grantFrom(o *object, g *Grant) (Grant, error) {
	g.ID, g.TableID = o.id, o.parent
	return *g, nil
}

// allGrants lists the grants, revoked ones included, oldest first.
func (tx *Tx) allGrants() ([]Grant, error) { return all(tx, kindGrant, grantFrom) }

// Grants lists the grants that hold, oldest first.
func (tx *Tx) Grants() ([]Grant, error) {
	found, err := tx.allGrants()
	return slices.DeleteFunc(found, func(g Grant) bool { return g.RevokedAt != nil }), err
}

// Grant lets a user ask a table, with this quota in place of an earlier one. It writes a
// line of cost 0 into the ledger, which shows when the quota began to hold. Errors: Invalid
// for a quota on a table without a budget.
func (tx *Tx) Grant(u *User, t *Table, q Quota) error {
	if q != (Quota{}) && t.Account == 0 {
		return sqlerr.New(sqlerr.Invalid, "%s has no budget: it was exported with a release", t.Name).WithHint("GRANT without WITH lets its release be asked")
	}
	if q.Rho < 0 || q.Charge < 0 {
		return sqlerr.New(sqlerr.Internal, "a quota is negative")
	}
	all, err := tx.allGrants()
	if err != nil {
		return err
	}
	g := pick(all, func(g *Grant) bool { return g.UserID == u.ID && g.TableID == t.ID })
	switch {
	case g == nil:
		_, err = tx.create(kindGrant, "", t.ID, &Grant{UserID: u.ID, Quota: q, GrantedAt: tx.stamp()})
	case g.RevokedAt == nil && g.Quota == q:
		return nil
	default:
		g.Quota, g.RevokedAt, g.GrantedAt = q, nil, tx.stamp()
		err = tx.replace(kindGrant, g.ID, g)
	}
	if err != nil {
		return err
	}
	action := "granted to " + u.Name
	if q != (Quota{}) {
		action += ": " + q.String()
	}
	return tx.noteGrant(t, action)
}

// noteGrant writes a line of cost 0 into the ledger of a table's account, if it has one.
func (tx *Tx) noteGrant(t *Table, action string) error {
	if t.Account == 0 {
		return nil
	}
	return tx.append(Entry{Account: t.Account, Kind: KindInteractive, Action: action, Object: t.Name, Over: period.All})
}

// Revoke takes a table from a user. What she spent stays on record. Errors: Unknown when it
// was not granted.
func (tx *Tx) Revoke(u *User, t *Table) error {
	all, err := tx.Grants()
	if err != nil {
		return err
	}
	g := pick(all, func(g *Grant) bool { return g.UserID == u.ID && g.TableID == t.ID })
	if g == nil {
		return sqlerr.New(sqlerr.Unknown, "%s is not granted to %s", t.Name, u.Name).WithHint("SHOW GRANTS lists who may ask what")
	}
	if err := tx.revoke(g); err != nil {
		return err
	}
	return tx.noteGrant(t, "revoked from "+u.Name)
}

func (tx *Tx) revoke(g *Grant) error {
	now := tx.stamp()
	g.RevokedAt = &now
	return tx.replace(kindGrant, g.ID, g)
}

// revokeAll revokes grants.
func (tx *Tx) revokeAll(which func(*Grant) bool) error {
	all, err := tx.Grants()
	if err != nil {
		return err
	}
	for i := range all {
		if g := &all[i]; which(g) {
			if err := tx.revoke(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeQuota takes a payment from the quota of the user who buys, and returns her name.
// Errors: those of Grant.Check; Forbidden when the user was dropped or the table revoked.
func (tx *Tx) takeQuota(by Buyer, p Payment) (user string, err error) {
	users, err := tx.Users()
	if err != nil {
		return "", err
	}
	grants, err := tx.allGrants()
	if err != nil {
		return "", err
	}
	left := int64(MaxStored)
	for _, g := range grants {
		if g.UserID == by.User {
			left -= g.Stored
		}
	}
	u := pick(users, func(u *User) bool { return u.ID == by.User })
	g := pick(grants, func(g *Grant) bool { return g.UserID == by.User && g.TableID == p.Table && g.RevokedAt == nil })
	if u == nil || g == nil {
		return "", sqlerr.New(sqlerr.Forbidden, "the table was revoked meanwhile")
	}
	if err := g.Check(by, p.Cost()); err != nil {
		return "", err
	}
	if p.Bytes > left {
		return "", sqlerr.New(sqlerr.Budget, "the answers would be stored in %d bytes, and of %d that may be stored for a user %d are left", p.Bytes, MaxStored, max(0, left)).
			WithHint("ask for fewer groups, or ask a release; what is stored goes on answering at no cost")
	}
	g.Spent += p.Cost()
	g.Stored += p.Bytes
	return u.Name, tx.replace(kindGrant, g.ID, g)
}
