package catalog

import (
	"slices"

	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// storedPeriods is the JSON form of an account's partition and retired periods.
type storedPeriods struct {
	Column  string        `json:"column"`
	By      string        `json:"by"`
	Stored  string        `json:"stored,omitempty"` // of a DATE and a TIMESTAMP: how rows hold it
	Step    int64         `json:"step,omitempty"`   // of a TIMESTAMP, in seconds
	Zone    string        `json:"zone,omitempty"`
	Texts   []query.Exact `json:"texts,omitempty"`
	Retired period.Ranges `json:"retired,omitempty"`
	Since   int64         `json:"since"`
}

func encodePeriods(a *Account) (*storedPeriods, error) {
	p := a.Partition
	if p == nil {
		return nil, nil
	}
	s := &storedPeriods{Column: p.Column, By: string(p.By), Zone: p.Zone, Retired: a.Retired, Since: a.Since}
	form := query.Form{}
	if p.Form.IsTime() {
		s.Stored = p.Form.Stored().String()
		form = query.DateForm(p.Form.Stored())
		if !p.Form.IsDate() {
			s.Step = p.Form.Step()
			form, _ = query.TimestampForm(p.Form.Stored(), s.Step)
		}
	}
	if p.Form != form {
		return nil, sqlerr.New(sqlerr.Internal, "the form of a period's column cannot be stored")
	}
	for _, text := range p.Texts {
		s.Texts = append(s.Texts, query.Exact(text))
	}
	return s, nil
}

// decode sets the fields of an account that encodePeriods stores.
func (s *storedPeriods) decode(a *Account) error {
	bad := corrupt("the periods of an account cannot be read")
	p := &period.Partition{Column: s.Column, By: period.Granularity(s.By), Zone: s.Zone}
	if s.Stored != "" {
		as, ok := query.StoredNamed(s.Stored)
		if !ok {
			return bad
		}
		p.Form = query.DateForm(as)
		if s.Step != 0 {
			var err error
			if p.Form, err = query.TimestampForm(as, s.Step); err != nil {
				return bad
			}
		}
	}
	for _, t := range s.Texts {
		p.Texts = append(p.Texts, string(t))
	}
	a.Partition, a.Retired, a.Since = p, s.Retired, s.Since
	return nil
}

// setPeriods stores the partition and the retired periods of an account, and writes a line of
// cost 0 that tells when they began to hold.
func (tx *Tx) setPeriods(a *Account, over period.Range, action, object string) error {
	if err := tx.storeAccount(a); err != nil {
		return err
	}
	return tx.append(Entry{Account: a.ID, Kind: KindReleases, Action: action, Object: object, Over: over})
}

// SetPartition gives an account the partition of its rows into periods, which it has for ever:
// from now on charges may be to some periods alone, and what was charged before counts in all
// of them. A partition that the account has already may bring more Texts, which are added after
// those that it has. The object is the table that is declared. SetPartition returns the
// account's partition. Errors: Invalid for another partition than the account has.
func (tx *Tx) SetPartition(account int64, object string, p period.Partition) (*period.Partition, error) {
	a, err := tx.Account(account)
	if err != nil {
		return nil, err
	}
	if a.Partition == nil {
		c, err := tx.head()
		if err != nil {
			return nil, err
		}
		a.Partition, a.Since = &p, c.Len()+1
		return &p, tx.setPeriods(a, period.All, "periods declared: "+p.String(), object)
	}
	if !a.Partition.Same(p) {
		return nil, sqlerr.New(sqlerr.Invalid, "the budget of these rows belongs to each %s for ever, and not to each %s", a.Partition, p).
			WithHint("declare the table with period = '%s', and the column and the time zone as they were", a.Partition)
	}
	more := false
	for _, text := range p.Texts {
		if !slices.Contains(a.Partition.Texts, text) {
			a.Partition.Texts, more = append(a.Partition.Texts, text), true
		}
	}
	if !more {
		return a.Partition, nil
	}
	return a.Partition, tx.setPeriods(a, period.All, "periods added: "+p.String(), object)
}

// Retire ends the readings of some periods' rows, for ever and through every table of the
// account. What was built from them goes on. Periods that are retired already are left out;
// without others it does nothing. Errors: Invalid for an account without periods.
func (tx *Tx) Retire(account int64, object string, over period.Range) error {
	a, err := tx.Account(account)
	if err != nil {
		return err
	}
	if a.Partition == nil {
		return sqlerr.New(sqlerr.Invalid, "the budget of %s does not belong to periods", object)
	}
	if (period.Ranges{over}).Within(a.Retired) {
		return nil
	}
	a.Retired = a.Retired.Union(period.Ranges{over})
	return tx.setPeriods(a, over, "retire", object)
}
