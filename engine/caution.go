package engine

import (
	"fmt"
	"slices"

	"dpsql/accounting"
	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
)

// cautiousShare is the share of what is left of an interactive account beyond
// which a statement is announced before it is paid for: one in so many.
const cautiousShare = 10

// caution is what to say before a statement buys answers for more than a tenth
// of what is left of the interactive account, "" where it does not. It follows
// from the statement's price and the account alone, so it is public.
func (st *statement) caution() string {
	cost, ok := total(st.purchases())
	left := st.view.Accounts[st.table.Account].Left().Rho
	if !ok || cost.Rho <= left/cautiousShare || left <= 0 {
		return ""
	}
	return fmt.Sprintf("this takes %s of what is left for direct answers: ρ = %s of %s", share(cost.Rho, left),
		view.Short(cost.Rho.Float()), view.Short(left.Float()))
}

// share writes a part of a whole in percent.
func share(part, whole accounting.Rho) string {
	return fmt.Sprintf("%.0f %%", 100*part.Float()/whole.Float())
}

// SetConfirm sets a function that is asked before a statement buys direct
// answers for more than a tenth of what is left, with a warning that says so.
// Where it returns false the statement is cancelled, and nothing is charged or
// drawn. It is called on the goroutine that runs the statement. Nil asks
// nobody: the warning is then one of the result's.
func (s *Session) SetConfirm(confirm func(warning string) bool) { s.confirm = confirm }

// agreed has the caller confirm what the statement takes, or warns of it.
func (s *Session) agreed(st *statement) error {
	warning := st.caution()
	switch {
	case warning == "":
	case s.confirm == nil:
		b := *st.bound
		b.Warnings = append(slices.Clone(b.Warnings), warning)
		st.bound = &b
	case !s.confirm(warning):
		return sqlerr.New(sqlerr.Cancelled, "the statement was not carried out")
	}
	return nil
}
