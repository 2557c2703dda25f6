package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// User is an analyst whom a server lets in. The id of a dropped user is never used
// again, so a later user of the same name is another one.
type User struct {
	ID        int64
	Name      string
	Verifier  string // of the password, in PostgreSQL's text form; it is a secret
	CreatedAt time.Time

	dropped string // when, or ""
}

func scanUser(row record) (u User, err error) {
	var at string
	var digest []byte
	if err = row.Scan(&u.ID, &u.Name, &u.Verifier, &at, &u.dropped, &digest); err != nil {
		return u, err
	}
	if u.CreatedAt, err = parseTime(at); err != nil {
		return u, err
	}
	return u, checkDigest("user "+u.Name, u.encoding(), digest)
}

func (u *User) encoding() ledger.Encoding {
	return ledger.Encode("user").Numbers(u.ID).Texts(u.Name, u.Verifier, formatTime(u.CreatedAt), u.dropped)
}

// Users lists the users by name.
func (tx *Tx) Users() ([]User, error) {
	if tx.version < usersVersion {
		return nil, nil
	}
	all, err := list(tx, scanUser, `SELECT id, name, verifier, created_at, COALESCE(dropped_at, ''), digest FROM dpsql_users NOT INDEXED ORDER BY CAST(name AS TEXT), id`)
	if err != nil {
		return nil, err
	}
	if err := checkComplete(tx, rollUsers, all, func(u *User) string { return key(u.ID) }); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(u User) bool { return u.dropped != "" }), nil
}

// User returns the user of that name, nil when there is none.
func (tx *Tx) User(name string) (*User, error) {
	all, err := tx.Users()
	return pick(all, func(u *User) bool { return query.SameName(u.Name, name) }), err
}

// AddUser stores a user and sets u.ID and u.CreatedAt. Errors: Invalid when the name is
// taken or no role of PostgreSQL can have it.
func (tx *Tx) AddUser(u *User) error {
	existing, err := tx.User(u.Name)
	switch {
	case err != nil:
		return err
	case existing != nil:
		return sqlerr.New(sqlerr.Invalid, "the user %s exists", existing.Name).WithHint("ALTER USER %s PASSWORD '…' sets another password", existing.Name)
	}
	if err := checkUserName(u.Name); err != nil {
		return err
	}
	created := tx.stamp()
	id, err := tx.insert(`INSERT INTO dpsql_users (name, verifier, created_at) VALUES (?, ?, ?)`, u.Name, u.Verifier, formatTime(created))
	if err != nil {
		return err
	}
	u.ID, u.CreatedAt = id, created
	if err := tx.seal("dpsql_users", id, u.encoding()); err != nil {
		return err
	}
	return tx.addToRoll(rollUsers, key(id))
}

// Secret returns the secret by which a server makes verifiers for names that no user has, nil if none
// was stored.
func (tx *Tx) Secret() (secret []byte, err error) {
	if tx.version < secretsVersion {
		return nil, nil
	}
	found, err := find(tx, func(row record) (b []byte, err error) {
		err = row.Scan(&b)
		return b, err
	}, `SELECT secret FROM dpsql_secrets`)
	if found == nil {
		return nil, err
	}
	return *found, nil
}

// AddSecret stores the secret. It is an error if there is one.
func (tx *Tx) AddSecret(secret []byte) error {
	_, err := tx.insert(`INSERT INTO dpsql_secrets (id, secret) VALUES (1, ?)`, secret)
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
	if _, err := tx.exec(`UPDATE dpsql_users SET verifier = ? WHERE id = ?`, verifier, u.ID); err != nil {
		return err
	}
	u.Verifier = verifier
	return tx.seal("dpsql_users", u.ID, u.encoding())
}

// DropUser removes a user, and revokes what was granted to her. What she spent stays on
// record.
func (tx *Tx) DropUser(u *User) error {
	if err := tx.revokeAll(func(g *Grant) bool { return g.UserID == u.ID }); err != nil {
		return err
	}
	u.dropped = formatTime(tx.stamp())
	if _, err := tx.exec(`UPDATE dpsql_users SET dropped_at = ? WHERE id = ?`, u.dropped, u.ID); err != nil {
		return err
	}
	return tx.seal("dpsql_users", u.ID, u.encoding())
}

// Quota is what a user may take through a private table. It binds beside the cap and the
// limits of the account that the table charges. The zero value lets nothing be bought.
type Quota struct {
	Rho    accounting.Rho // in all, for ever
	Charge accounting.Rho // with one statement, counted as Limits.MaxCharge is; 0 is no limit
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
	ID              int64
	UserID, TableID int64
	Quota           Quota
	Spent           accounting.Rho // by the user through the table, runs of mechanisms included
	Stored          int64          // bytes that her direct answers about the table take in the file, at most
	GrantedAt       time.Time

	revoked string // when, or ""
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

func scanGrant(row record) (g Grant, err error) {
	var at string
	var digest []byte
	if err = row.Scan(&g.ID, &g.UserID, &g.TableID, &g.Quota.Rho, &g.Quota.Charge, &g.Spent, &g.Stored, &at, &g.revoked, &digest); err != nil {
		return g, err
	}
	if g.GrantedAt, err = parseTime(at); err != nil {
		return g, err
	}
	return g, checkDigest(fmt.Sprint("grant ", g.ID), g.encoding(), digest)
}

func (g *Grant) encoding() ledger.Encoding {
	e := ledger.Encode("grant").Numbers(g.ID, g.UserID, g.TableID, int64(g.Quota.Rho), int64(g.Quota.Charge), int64(g.Spent)).
		Texts(formatTime(g.GrantedAt), g.revoked)
	if g.Stored > 0 { // else as before bytesVersion
		e = e.Numbers(g.Stored)
	}
	return e
}

// allGrants lists the grants, revoked ones included, oldest first.
func (tx *Tx) allGrants() ([]Grant, error) {
	if tx.version < usersVersion {
		return nil, nil
	}
	all, err := list(tx, scanGrant, `SELECT id, user_id, table_id, rho, charge, spent, `+tx.since(bytesVersion, "stored", "0")+`, granted_at, COALESCE(revoked_at, ''), digest FROM dpsql_grants NOT INDEXED ORDER BY id`)
	if err != nil {
		return nil, err
	}
	return all, checkComplete(tx, rollGrants, all, func(g *Grant) string { return key(g.ID) })
}

// Grants lists the grants that hold, oldest first.
func (tx *Tx) Grants() ([]Grant, error) {
	all, err := tx.allGrants()
	return slices.DeleteFunc(all, func(g Grant) bool { return g.revoked != "" }), err
}

// keepGrant writes a grant that exists.
func (tx *Tx) keepGrant(g *Grant) error {
	var revoked any
	if g.revoked != "" {
		revoked = g.revoked
	}
	_, err := tx.exec(`UPDATE dpsql_grants SET rho = ?, charge = ?, spent = ?, stored = ?, granted_at = ?, revoked_at = ? WHERE id = ?`,
		g.Quota.Rho, g.Quota.Charge, g.Spent, g.Stored, formatTime(g.GrantedAt), revoked, g.ID)
	if err != nil {
		return err
	}
	return tx.seal("dpsql_grants", g.ID, g.encoding())
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
		g = &Grant{UserID: u.ID, TableID: t.ID, Quota: q, GrantedAt: tx.stamp()}
		g.ID, err = tx.insert(`INSERT INTO dpsql_grants (user_id, table_id, rho, charge, spent, granted_at) VALUES (?, ?, ?, ?, 0, ?)`,
			u.ID, t.ID, q.Rho, q.Charge, formatTime(g.GrantedAt))
		if err == nil {
			err = tx.addToRoll(rollGrants, key(g.ID))
		}
		if err == nil {
			err = tx.seal("dpsql_grants", g.ID, g.encoding())
		}
	case g.revoked == "" && g.Quota == q:
		return nil
	default:
		g.Quota, g.revoked, g.GrantedAt = q, "", tx.stamp()
		err = tx.keepGrant(g)
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
	g.revoked = formatTime(tx.stamp())
	if err := tx.keepGrant(g); err != nil {
		return err
	}
	return tx.noteGrant(t, "revoked from "+u.Name)
}

// revokeAll revokes grants.
func (tx *Tx) revokeAll(which func(*Grant) bool) error {
	all, err := tx.Grants()
	if err != nil {
		return err
	}
	for i := range all {
		if g := &all[i]; which(g) {
			g.revoked = formatTime(tx.stamp())
			if err := tx.keepGrant(g); err != nil {
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
	g := pick(grants, func(g *Grant) bool { return g.UserID == by.User && g.TableID == p.Table && g.revoked == "" })
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
	return u.Name, tx.keepGrant(g)
}
