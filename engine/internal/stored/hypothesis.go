package stored

import (
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"encoding/json"
	"sync"
)

// HypothesisPayload is the payload of a release built by SMW: what its
// hypothesis learned, and for which queries it promises something.
type HypothesisPayload struct {
	Version  int             `json:"version"`
	Params   MechanismParams `json:"params"`
	Prior    []byte          `json:"state,omitempty"`
	Class    *Class          `json:"class"`
	Complete bool            `json:"complete"` // a whole pass over the class fired nothing
	Steps    []Step          `json:"steps"`
}

type Step struct {
	Query string `json:"query"`
	Noisy int64  `json:"noisy"`
}

// HypothesisAbout describe a release built by SMW in the catalog, for people.
type HypothesisAbout struct {
	Class    string `json:"class"`
	Updates  int64  `json:"updates"`
	Complete bool   `json:"complete"`
}

// Hypothesis is such a release in memory.
type Hypothesis struct {
	mu        sync.Mutex // a smw.Hypothesis is not safe for concurrent use
	Learned   *smw.Hypothesis
	Published HypothesisPayload
}

func DecodeHypothesis(u *query.Universe, payload []byte) (*Hypothesis, error) {
	h := &Hypothesis{}
	p := &h.Published
	if err := json.Unmarshal(payload, p); err != nil || p.Version != 1 || p.Class == nil || p.Params.Check() != nil {
		return nil, sqlerr.New(sqlerr.Corrupt, "a release built by SMW cannot be read")
	}
	prior, err := DecodePrior(u, p.Params.Prior, p.Prior)
	if err != nil {
		return nil, err
	}
	h.Learned = smw.NewHypothesis(p.Params.Params, u, prior)
	for _, s := range p.Steps {
		q, err := query.Parse(u, s.Query)
		if err != nil {
			return nil, err
		}
		if err := h.Learned.Update(q, s.Noisy); err != nil {
			return nil, err
		}
	}
	return h, p.Class.restore(u)
}

// restore parses the workload of a class that was read from a payload.
func (c *Class) restore(u *query.Universe) error {
	c.universe = u
	if c.Free >= 0 {
		return nil
	}
	var queries []query.Query
	for _, text := range c.Workload {
		q, err := query.Parse(u, text)
		if err != nil {
			return err
		}
		queries = append(queries, q)
	}
	*c = *Workload(u, queries)
	return nil
}

// Estimate evaluates the hypothesis.
func (h *Hypothesis) Estimate(q query.Query) (int64, error) {
	asked, err := h.Published.Params.Scaled(q)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return asked.Count(h.Learned.Count(asked.Query)), nil
}

// Margin is T + x for all queries of the class at once, when a whole pass over
// it fired nothing; outside the class nothing is promised.
func (h *Hypothesis) Margin(q query.Query, confidence float64) (float64, bool, error) {
	if !h.Published.Complete || !h.Published.Class.Contains(q) {
		return 0, false, nil
	}
	p := h.Published.Params
	asked := smw.Scaled{Factor: p.Factor(q)}
	return float64(asked.Margin(p.Threshold + p.SimultaneousBound(1-confidence))), true, nil
}
