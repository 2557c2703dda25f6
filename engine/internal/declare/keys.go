package declare

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// keyed is what a release of marginals is over. Columns that the table declares without domain
// have the keys that a release published. These were paid for with that release, so they are
// public input: no row is read for them. The new release keeps a copy.
type keyed struct {
	universe *query.Universe
	keys     []released.PublishedKeys
	unclear  string // in a rehearsal, why keys are not known yet; "" if they are
}

// publishedKeys resolves the option keys. Each release that it names is over one column alone,
// which the table declares without domain, and each such column of the new release has one.
func (s *Statement) publishedKeys(ctx context.Context, from []syntax.Name, v *view.View, t *view.Table, columns []int) (keyed, error) {
	k := keyed{universe: t.Over(columns)}
	waiting := make(map[int]bool)
	for _, name := range from {
		r, place, err := publisher(name, v, t, columns)
		if err == nil && (k.universe.Columns()[place].Domain.Finite() || waiting[place]) {
			err = sqlerr.New(sqlerr.Invalid, "two releases have keys of %s", k.universe.Columns()[place].Name)
		}
		if err != nil {
			return k, sqlerr.Locate(err, name.Position)
		}
		payload, err := s.payload(ctx, r)
		if err != nil {
			return k, err
		}
		if payload == nil {
			waiting[place] = true
			k.unclear = fmt.Sprintf("the keys of %s are published by %s, which is created before", k.universe.Columns()[place].Name, r.Name)
			continue
		}
		d, err := keysDomain(t.Over(r.Columns), r, payload)
		if err != nil {
			return k, sqlerr.Locate(err, name.Position)
		}
		k.universe = k.universe.With(place, d)
		k.keys = append(k.keys, released.PublishedKeys{Column: k.universe.Columns()[place].Name, Release: r.Name, Count: int(d.Size() - 2)})
	}
	for i, c := range k.universe.Columns() {
		if !c.Domain.Finite() && !waiting[i] {
			return k, sqlerr.New(sqlerr.Unsupported, "%s has no domain, and no release in keys has keys of it", c.Name).
				WithHint("%s", howToPublish(t, c.Name))
		}
	}
	return k, nil
}

// publisher returns a release that may have keys, and the place of its column among those of
// the new release. It decides from the view alone.
func publisher(name syntax.Name, v *view.View, t *view.Table, columns []int) (r *catalog.Release, place int, err error) {
	if m := v.Template(name.Text); m != nil {
		return nil, 0, sqlerr.New(sqlerr.Invalid, "%s has a part for each period, and keys are those of one", m.Name).WithHint("%s", hintPart(v, m, "keys = %s"))
	}
	if r = v.Release(name.Text); r == nil {
		return nil, 0, sqlerr.New(sqlerr.Unknown, "there is no release %s to take keys from", name.Text).WithHint("SHOW RELEASES lists the releases")
	}
	own := r.Columns
	if own == nil {
		own = view.AllColumns(t)
	}
	switch {
	case r.TableID != t.ID:
		return nil, 0, sqlerr.New(sqlerr.Invalid, "release %s is of the table %s", r.Name, r.Table)
	case len(own) != 1 || t.Columns[own[0]].Domain.Finite() || !kind.Of(r.Using).Describe(r.Params).Keys:
		return nil, 0, sqlerr.New(sqlerr.Invalid, "release %s has no keys: it is not a sketch of one column that has no domain", r.Name).
			WithHint("%s", howToPublish(t, "column"))
	}
	if place, ok := among(own, columns, t); ok {
		return r, place[0], nil
	}
	return nil, 0, sqlerr.New(sqlerr.Invalid, "release %s has keys of %s, which is not among the columns", r.Name, t.Columns[own[0]].Name)
}

// keysDomain returns the domain of the keys that a release published.
func keysDomain(u *query.Universe, r *catalog.Release, payload []byte) (d query.Domain, err error) {
	release, err := kind.Of(r.Using).Open(u, r.Name, r.Params, payload)
	if err != nil {
		return d, err
	}
	key, names, ok := release.Keys()
	switch {
	case !ok:
		return d, sqlerr.New(sqlerr.Invalid, "release %s publishes no keys: it was built with heavy = none, or by an earlier dpsql", r.Name).
			WithHint("build one with heavy = clip, clip = 1")
	case len(names) > maxListed:
		return d, sqlerr.New(sqlerr.Unsupported, "release %s published %d keys, and %d are the most", r.Name, len(names), maxListed)
	}
	if d, err = query.Published(key, names); err != nil { // there are none, or NULL alone
		return d, sqlerr.New(sqlerr.Invalid, "release %s found no text that enough rows have", r.Name).
			WithHint("build one with a larger epsilon or delta, and heavy = clip, clip = 1")
	}
	return d, nil
}

func howToPublish(t *view.Table, column string) string {
	return fmt.Sprintf("CREATE RELEASE k ON %s (%s) USING PROJECTION WITH (epsilon = 0.1, delta = 1e-9, heavy = clip, clip = 1) publishes keys, and keys = k takes them", t.Name, column)
}

// storedKeys returns what a stored release is over, if it has the keys that a statement names.
func storedKeys(r *catalog.Release, own *query.Universe, from []syntax.Name) (k keyed, same bool) {
	var about released.MarginalsAbout
	if json.Unmarshal(r.Params, &about) != nil || len(about.Keys) != len(from) {
		return k, false
	}
	for _, known := range about.Keys {
		if !slices.ContainsFunc(from, func(n syntax.Name) bool { return query.SameName(n.Text, known.Release) }) {
			return k, false
		}
	}
	return keyed{universe: own, keys: about.Keys}, true
}

// textsOf returns what reads the texts that the releases of a table publish.
func (s *Statement) textsOf(ctx context.Context, t *view.Table) schemas.Texts {
	return func(column int) ([]query.Value, []string, error) {
		v, err := s.view(ctx)
		if err != nil {
			return nil, nil, err
		}
		texts, from, err := kind.Texts(v.Releases, &t.Table, column, func(all []*catalog.Release) (opened []released.Answers, err error) {
			for _, r := range all {
				payload, err := s.payload(ctx, r)
				if err == nil && payload == nil {
					err = &view.UnreadError{Name: r.Name, Release: true}
				}
				if err != nil {
					return nil, err
				}
				of := t
				if whole := v.TableByID(t.ID); whole != nil && r.Span != t.Part { // over other periods than the statement
					if part, some := whole.Within(r.Span); some {
						of = part
					}
				}
				a, err := kind.Of(r.Using).Open(of.Over(r.Columns), r.Name, r.Params, payload)
				if err != nil {
					return nil, err
				}
				opened = append(opened, a)
			}
			return opened, nil
		})
		return texts, v.Names(from), err
	}
}

// payload returns the bytes of a release of the view. In a rehearsal they are nil for a release
// that the script creates.
func (s *Statement) payload(ctx context.Context, r *catalog.Release) (payload []byte, err error) {
	if s.Unknown != nil {
		return s.Unknown.Payload(ctx, r)
	}
	return catalog.Get(ctx, s.Store, func(tx *catalog.Tx) ([]byte, error) { return Payload(tx, r) })
}

// Payload returns the bytes of a release that was in the catalog before.
func Payload(tx *catalog.Tx, r *catalog.Release) ([]byte, error) {
	current, err := tx.Release(r.Name)
	if err != nil {
		return nil, err
	}
	if current == nil || current.ID != r.ID {
		return nil, sqlerr.New(sqlerr.Unknown, "release %s was dropped meanwhile", r.Name)
	}
	return tx.ReleasePayload(current)
}
