package engine

import (
	"context"

	"dpsql/query"
)

// Vocabulary holds the public names and values that statements can use, for
// completing what someone types.
type Vocabulary struct {
	Tables     []TableWords // private tables
	Sources    []string
	Publics    []string
	Releases   []string
	Mechanisms []string
}

// TableWords are the names of a private table and its columns.
type TableWords struct {
	Name    string
	Columns []ColumnWords
}

// ColumnWords are the name of a column and its declared values as SQL literals,
// none where there are more than mostWords.
type ColumnWords struct {
	Name   string
	Values []string
}

// mostWords is how many values of a column are worth listing.
const mostWords = 200

// Vocabulary reads the names from the public catalog.
func (s *Session) Vocabulary(ctx context.Context) (Vocabulary, error) {
	v, err := s.db.view(ctx)
	if err != nil {
		return Vocabulary{}, public(ctx, err)
	}
	out := Vocabulary{Publics: v.Publics}
	for _, s := range v.Sources {
		out.Sources = append(out.Sources, s.Name)
	}
	for _, t := range v.Tables {
		words := TableWords{Name: t.Name}
		for _, c := range t.Columns {
			words.Columns = append(words.Columns, ColumnWords{c.Name, literals(c.Domain)})
		}
		out.Tables = append(out.Tables, words)
	}
	for _, r := range v.Releases {
		out.Releases = append(out.Releases, r.Name)
	}
	for _, m := range v.Mechanisms {
		out.Mechanisms = append(out.Mechanisms, m.Name)
	}
	return out, nil
}

func literals(d query.Domain) []string {
	if !d.Finite() || d.Size() > mostWords {
		return nil
	}
	values := make([]string, d.Size())
	for i := range values {
		values[i] = d.Value(uint64(i)).String()
	}
	return values
}
