package around_test

import (
	"context"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// bindable is the private table of these tests as the front end has it.
type bindable struct{ u *query.Universe }

func (bindable) Name() string                { return "visits" }
func (b bindable) Universe() *query.Universe { return b.u }
func (bindable) Public(name string) (*sqlfront.PublicRows, error) {
	for _, t := range []*around.Table{towns, risks} {
		if query.SameName(t.Name, name) {
			p := &sqlfront.PublicRows{Rows: t.Rows}
			for _, c := range t.Columns {
				p.Columns = append(p.Columns, c.Name)
			}
			return p, nil
		}
	}
	return nil, nil
}

// TestCoresBind: the front end takes the cores.
func TestCoresBind(t *testing.T) {
	t.Parallel()
	s, err := syntax.Parse(`CREATE PRIVATE TABLE visits (year INTEGER BETWEEN 2020 AND 2022, sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 99,
		town TEXT IN ('Ash', 'Elm', 'Oak'), days INTEGER BETWEEN 0 AND 20) FROM rows`)
	if err != nil {
		t.Fatal(err)
	}
	var columns []query.Column
	for _, c := range s.(*syntax.CreatePrivate).Columns {
		columns = append(columns, query.Column{Name: c.Name.Text, Domain: c.Domain})
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	db := database(t)
	for _, c := range cuttable {
		s, err := around.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		cores, _, err := s.Cut(private)
		if err != nil {
			t.Fatal(err)
		}
		if cores, err = db.Resolve(context.Background(), cores, source(0), nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, core := range cores {
			lowersAsRead(t, &core)
			sel, err := core.Select()
			if err == nil {
				_, err = sqlfront.Bind(sel, bindable{u}, nil)
			}
			if err != nil && !strings.Contains(core.Text, "MAX(") && !strings.Contains(core.Text, "MIN(") {
				t.Errorf("%s\n%s\n%v", c.text, core.Text, err)
			}
		}
	}
}
