package answer

import (
	"encoding/json"
	"strconv"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/mechanisms/smw"
)

// blockSpent reports whether the comparisons of the block are made.
func (l *live) blockSpent() bool {
	return l.record.Comparisons >= l.counted+ComparisonBlock(l.params.Params)
}

func (l *live) stored(r Request, of catalog.AnswerKind, asked smw.Scaled, value int64) catalog.Answer {
	return catalog.Answer{TableID: r.Table.ID, Query: catalog.SumOf(r.text()), Kind: of, Via: l.record.Name, MechanismID: l.record.ID,
		Estimate: asked.Count(value), Law: kind.ScaledLaw(l.law(of), asked)}
}

// law returns what the margin of a compared query follows from: the mechanism's
// parameters, or for an answer that was counted anew the law of its noise.
func (l *live) law(kind catalog.AnswerKind) json.RawMessage {
	if law, err := l.params.FiredLaw(); kind == catalog.AnswerFired && err == nil && law != nil {
		return json.RawMessage(strconv.Quote(law.String()))
	}
	return l.record.Params
}

// ComparisonBlock returns the number of comparisons that a process may make before it
// stores their number again. It is k/100, so all of them together cost about a hundred
// commits. A block is reserved by the commit that marks a mechanism as leased, and by each
// commit that stores the number. After a crash the reserved block counts as made. So the
// size is part of the file format: this version would miscount a file of a version with
// larger blocks.
func ComparisonBlock(p smw.Params) int64 { return max(1, p.Queries/100) }

// countCrash adds the comparisons that a crashed process may have made without storing
// them.
func countCrash(record *catalog.Mechanism) error {
	p, err := kind.ReadMechanism(record)
	if err != nil {
		return err
	}
	record.Comparisons += max(0, min(ComparisonBlock(p.Params), p.Queries-record.Comparisons))
	return nil
}

// close writes one mechanism's state at the end of a lease.
func (l *live) close(tx *catalog.Tx, answers []catalog.Answer) error {
	if !l.open || l.runDead {
		return nil
	}
	if current, err := tx.Mechanism(l.record.Name); err != nil || current == nil || current.ID != l.record.ID {
		return err // dropped meanwhile
	}
	for _, a := range answers {
		if err := tx.PutAnswer(&a); err != nil {
			return err
		}
	}
	l.record.Leased = false
	return tx.UpdateMechanism(&l.record)
}
