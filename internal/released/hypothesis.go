package released

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"dpsql/internal/sealed"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
)

// The priors of mechanisms.
const (
	PriorOfClasses = "classes"
	PriorOfRelease = "release" // the table that a release fitted
	UniformPrior   = "uniform"
)

// MechanismParams are the parameters of a mechanism in the catalog.
type MechanismParams struct {
	smw.Params
	Prior  string `json:"prior"`            // classes, release or uniform
	Guards string `json:"guards,omitempty"` // the name of the release, as it was when the mechanism was created
}

// PriorText says for people what the mechanism starts from.
func (p MechanismParams) PriorText() string {
	if p.Prior == PriorOfRelease {
		return p.Prior + " " + p.Guards
	}
	return p.Prior
}

// DecodePrior returns the prior in a mechanism's state, or nil for the uniform prior.
func DecodePrior(u *query.Universe, prior string, state []byte) (smw.Prior, error) {
	switch prior {
	case PriorOfClasses:
		return smw.DecodeClasses(u, state)
	case PriorOfRelease:
		return smw.DecodeFitted(u, state)
	case UniformPrior:
		return nil, nil
	}
	return nil, sqlerr.New(sqlerr.Corrupt, "a stored prior is of no known kind")
}

// Hypotheses opens releases built by SMW.
type Hypotheses struct{}

func (Hypotheses) Name() string { return "smw" }

func (Hypotheses) Open(u *query.Universe, _ string, _ json.RawMessage, payload []byte) (Answers, error) {
	h, err := DecodeHypothesis(u, payload)
	return learned{Hypothesis: h}, err
}

func (k Hypotheses) Describe(about json.RawMessage) Description {
	return described(k, about, func(p HypothesisAbout) Description {
		agreed := "complete"
		if p.Unfitted {
			return Description{Whole: fmt.Sprintf("smw, %s, not finished yet", p.Class), Brief: "smw, not finished yet"}
		}
		if !p.Complete {
			agreed = "incomplete"
		}
		return Description{Whole: fmt.Sprintf("smw, %s, %d updates, %s", p.Class, p.Updates, agreed), Brief: fmt.Sprintf("smw, %d updates, %s", p.Updates, agreed)}
	})
}

func (Hypotheses) Cover(q query.Query, columns []int, maxSupport uint64) Coverage {
	return Cover(q, columns, maxSupport)
}

func (Hypotheses) AnswersUnfinished() bool { return false }

// Adds: errors of hypotheses are not independent, and queries outside their classes have no margin.
func (Hypotheses) Adds() bool { return false }

// HypothesisPayload is the payload of a release built by SMW: what its hypothesis learned,
// and the queries that it promises margins for. While it is unfinished, Runs of its runs have begun,
// and the statement that Built names goes on with it.
type HypothesisPayload struct {
	Built    string          `json:"built,omitempty"`
	Runs     int64           `json:"runs,omitempty"`
	Params   MechanismParams `json:"params"`
	Prior    []byte          `json:"state,omitempty"`
	Class    *Class          `json:"class"`
	Complete bool            `json:"complete"` // the last pass over the class fired nothing
	Steps    []Step          `json:"steps"`
}

type Step struct {
	Query string `json:"query"`
	Noisy int64  `json:"noisy"`
}

// HypothesisAbout describes a release built by SMW in the catalog, for people.
type HypothesisAbout struct {
	Class    string `json:"class"`
	Updates  int64  `json:"updates"`
	Complete bool   `json:"complete"`
	Unfitted bool   `json:"unfitted,omitempty"` // runs are yet to be made
}

// Hypothesis is a release built by SMW in memory.
type Hypothesis struct {
	mu        sync.Mutex // a smw.Hypothesis is not safe for concurrent use
	Learned   *smw.Hypothesis
	Published HypothesisPayload
}

// hypothesisVersion is the version of payloads of releases built by SMW, which are JSON.
const hypothesisVersion = 1

// Seal returns the payload as bytes.
func (p *HypothesisPayload) Seal() ([]byte, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return sealed.End(append(sealed.Begin(sealed.Hypothesis, hypothesisVersion, len(body)), body...)), nil
}

// Open reads what Seal returned. Errors: Corrupt, Unsupported.
func (p *HypothesisPayload) Open(payload []byte) error {
	body, err := sealed.Open(sealed.Hypothesis, hypothesisVersion, payload)
	if err != nil {
		return err
	}
	if json.Unmarshal(body, p) != nil || p.Class == nil || p.Params.Check() != nil {
		return sqlerr.New(sqlerr.Corrupt, "a release built by SMW cannot be read")
	}
	return nil
}

func DecodeHypothesis(u *query.Universe, payload []byte) (*Hypothesis, error) {
	h := &Hypothesis{}
	p := &h.Published
	err := p.Open(payload)
	if err != nil {
		return nil, err
	}
	if h.Learned, err = p.Learn(u); err != nil {
		return nil, err
	}
	return h, p.Class.restore(u)
}

// Learn returns the hypothesis that has learned the steps.
func (p *HypothesisPayload) Learn(u *query.Universe) (*smw.Hypothesis, error) {
	prior, err := DecodePrior(u, p.Params.Prior, p.Prior)
	if err != nil {
		return nil, err
	}
	h := smw.NewHypothesis(p.Params.Params, u, prior)
	for _, s := range p.Steps {
		q, err := query.Parse(u, s.Query)
		if err != nil {
			return nil, err
		}
		if err := h.Update(q, s.Noisy); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// restore parses the workload of a class from a payload.
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

// Estimate returns the hypothesis's answer to a query.
func (h *Hypothesis) Estimate(q query.Query) (int64, error) {
	asked, err := h.Published.Params.Scaled(q)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return asked.Count(h.Learned.Count(asked.Query)), nil
}

// Margin returns T + x for every query of the class, if a whole pass over it fired
// nothing. The margin holds for all of them at once. Other queries have none.
func (h *Hypothesis) Margin(q query.Query, confidence float64) (float64, bool, error) {
	if !h.Published.Complete || !h.Published.Class.Contains(q) {
		return 0, false, nil
	}
	p := h.Published.Params
	asked := smw.Scaled{Factor: p.Factor(q)}
	return float64(asked.Margin(p.Threshold + p.SimultaneousBound(1-confidence))), true, nil
}

// learned adapts a release built by SMW. Its margins are known in advance.
type learned struct {
	plain
	*Hypothesis
}

func (l learned) Over(_ context.Context, q query.Query, _ func() []int, _ bool) (Answers, query.Query, error) {
	return l, q, nil
}

func (l learned) Evaluate(_ context.Context, q query.Query, confidence float64) (e Estimate, err error) {
	if e.Value, err = l.Estimate(q); err != nil {
		return e, err
	}
	margin, known, err := l.Margin(q, confidence)
	e.Error, e.Verified = post.Within(margin), known
	return e, err
}

func (l learned) Predict(q query.Query, confidence float64) (float64, bool, error) {
	return l.Margin(q, confidence)
}
