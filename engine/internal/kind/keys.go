package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
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

// takeKeys resolves the option keys. What has begun keeps those that it has.
func (p *marginalsPlan) takeKeys(ctx context.Context, r Request, from []syntax.Name) (err error) {
	if r.Begun == nil {
		p.keyed, err = publishedKeys(ctx, r, from)
		return err
	}
	if p.begun, err = marginals.Unmarshal(r.Table.Over(r.Columns), r.Begun.Payload); err != nil {
		return err
	}
	var same bool
	if p.keyed, same = storedKeys(r.Begun.Release, p.begun.Universe(), from); !same {
		return ErrBegunOtherwise
	}
	return nil
}

// ErrBegunOtherwise is returned when another statement began what a request goes on with.
var ErrBegunOtherwise = errors.New("begun by another statement")

// publishedKeys resolves the option keys. Each release that it names is over one column alone,
// which the table declares without domain, and each such column of the new release has one.
func publishedKeys(ctx context.Context, of Request, from []syntax.Name) (keyed, error) {
	t := of.Table
	k := keyed{universe: t.Over(of.Columns)}
	waiting := make(map[int]bool)
	for _, name := range from {
		r, place, err := publisher(name, of.View, t, of.Columns)
		if err == nil && (k.universe.Columns()[place].Domain.Finite() || waiting[place]) {
			err = sqlerr.New(sqlerr.Invalid, "two releases have keys of %s", k.universe.Columns()[place].Name)
		}
		if err != nil {
			return k, sqlerr.Locate(err, name.Position)
		}
		payload, err := of.Public.Payload(ctx, r)
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
		return nil, 0, sqlerr.New(sqlerr.Invalid, "%s has a part for each period, and keys are those of one", m.Name).WithHint("%s", v.HintPart(m, "keys = %s"))
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
	case len(own) != 1 || t.Columns[own[0]].Domain.Finite() || !Of(r.Using).Describe(r.Params).Keys:
		return nil, 0, sqlerr.New(sqlerr.Invalid, "release %s has no keys: it is not a sketch of one column that has no domain", r.Name).
			WithHint("%s", howToPublish(t, "column"))
	}
	if place, ok := among(own, columns, t); ok {
		return r, place[0], nil
	}
	return nil, 0, sqlerr.New(sqlerr.Invalid, "release %s has keys of %s, which is not among the columns", r.Name, t.Columns[own[0]].Name)
}

// maxKeys bounds the keys that a column can have as its domain.
const maxKeys = 1 << 20

// keysDomain returns the domain of the keys that a release published.
func keysDomain(u *query.Universe, r *catalog.Release, payload []byte) (d query.Domain, err error) {
	release, err := Of(r.Using).Open(u, r.Name, r.Params, payload)
	if err != nil {
		return d, err
	}
	key, names, ok := release.Keys()
	switch {
	case !ok:
		return d, sqlerr.New(sqlerr.Invalid, "release %s publishes no keys: it was built with heavy = none", r.Name).
			WithHint("build one with heavy = clip, clip = 1")
	case len(names) > maxKeys:
		return d, sqlerr.New(sqlerr.Unsupported, "release %s published %d keys, and %d are the most", r.Name, len(names), maxKeys)
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
