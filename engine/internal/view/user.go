package view

import (
	"context"
	"slices"
	"sync"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

// granted is what users may see of a View. It is read for the first of them, from the state
// of the file that the View is of or a later one.
type granted struct {
	mu     sync.Mutex
	read   bool
	users  []catalog.User
	grants []catalog.Grant
	views  map[int64]*View // by user
}

// of returns the view as a user has it: the private tables that were granted to her, with
// what is on them, and all public tables. It is made once and kept with v. Errors:
// Forbidden when there is no such user any more; those of Store.Read.
func (v *View) of(ctx context.Context, store *catalog.Store, user int64) (*View, error) {
	g := v.granted
	g.mu.Lock()
	defer g.mu.Unlock()
	if own := g.views[user]; own != nil {
		return own, nil
	}
	if !g.read {
		err := store.Read(ctx, func(tx *catalog.Tx) (err error) {
			if g.users, err = tx.Users(); err == nil {
				g.grants, err = tx.Grants()
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		g.read, g.views = true, make(map[int64]*View)
	}
	i := slices.IndexFunc(g.users, func(u catalog.User) bool { return u.ID == user })
	if i < 0 {
		return nil, sqlerr.New(sqlerr.Forbidden, "the user of this session was dropped")
	}
	own := v.restricted(&g.users[i], g.grants)
	g.views[user] = own
	return own, nil
}

// restricted returns the part of a view that grants let a user see.
func (v *View) restricted(u *catalog.User, grants []catalog.Grant) *View {
	own := &View{Publics: v.Publics, Accounts: make(map[int64]Account), User: u, whole: v}
	for _, t := range v.Tables {
		i := slices.IndexFunc(grants, func(g catalog.Grant) bool { return g.UserID == u.ID && g.TableID == t.ID })
		if i < 0 {
			continue
		}
		seen := *t
		seen.Grant = &grants[i]
		own.Tables = append(own.Tables, &seen)
		if a, ok := v.Accounts[t.Account]; ok {
			own.Accounts[t.Account] = a
		}
	}
	hidden := func(table int64) bool { return own.TableByID(table) == nil }
	own.Releases = slices.DeleteFunc(slices.Clone(v.Releases), func(r catalog.Release) bool { return hidden(r.TableID) })
	own.Templates = slices.DeleteFunc(slices.Clone(v.Templates), func(t catalog.Template) bool { return hidden(t.TableID) })
	own.Mechanisms = slices.DeleteFunc(slices.Clone(v.Mechanisms), func(m catalog.Mechanism) bool { return hidden(m.TableID) })
	return own
}
