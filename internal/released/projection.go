package released

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"dpsql/internal/sealed"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
)

// Projections opens the releases that projection builds.
type Projections struct{}

func (Projections) Name() string { return "projection" }

func (Projections) Open(u *query.Universe, name string, about json.RawMessage, payload []byte) (Answers, error) {
	release, fit, err := DecodeProjection(u, payload)
	if err != nil {
		return nil, err
	}
	sketch := Sketch{Release: release}
	var p ReleaseAbout
	if json.Unmarshal(about, &p) == nil {
		sketch.Shape = p.Shape()
	} else if fit != nil {
		return nil, sqlerr.New(sqlerr.Corrupt, "what is stored about release %s cannot be read", name)
	}
	if fit != nil {
		return FittedCells{sketch, fit, p.Chooses}, nil
	}
	return sketch, nil
}

func (k Projections) Describe(about json.RawMessage) Description {
	d := described(k, about, func(p ReleaseAbout) Description {
		heavy := ""
		if p.Heavy != "" {
			heavy = ", heavy " + p.Heavy
		}
		return Description{Whole: fmt.Sprintf("projection, %s, %s noise from the %s sampler", p.Shape(), p.Law, p.Sampler),
			Brief: p.Transform + p.Answers() + heavy, Fitted: p.Fitted, Texts: p.Texts}
	})
	d.Keys = true
	return d
}

func (Projections) Cover(q query.Query, columns []int, maxSupport uint64) Coverage {
	return Cover(q, columns, maxSupport)
}

// AnswersUnfinished: the cells do.
func (Projections) AnswersUnfinished() bool { return true }

func (Projections) Adds() bool { return true }

// ReleaseAbout describes a release in the catalog, for people. Chooses also says how it answers.
type ReleaseAbout struct {
	Transform string `json:"transform"`
	Rows      uint64 `json:"rows"`
	Law       string `json:"law"`
	Sampler   string `json:"sampler"`
	Heavy     string `json:"heavy,omitempty"`
	Clip      int64  `json:"clip,omitempty"`
	Threshold int64  `json:"threshold,omitempty"`
	Published int    `json:"published,omitempty"` // heavy cells that the release names
	Texts     bool   `json:"texts,omitempty"`     // with their texts
	Fitted    bool   `json:"fitted,omitempty"`    // a table was fitted to the cells
	Unfitted  bool   `json:"unfitted,omitempty"`  // a table is yet to be fitted to them
	Chooses   bool   `json:"chooses,omitempty"`   // the table answers only where it is predicted to err less than the cells
}

// Shape summarises the choices made for a release.
func (p ReleaseAbout) Shape() string {
	text := fmt.Sprintf("%s, %d rows", p.Transform, p.Rows) + p.Answers()
	switch projection.Form(p.Heavy) {
	case projection.Clipped:
		text += fmt.Sprintf(", %d heavy cells published above clip %d", p.Published, p.Clip)
	case projection.Named:
		text += fmt.Sprintf(", %d heavy cells named", p.Published)
	}
	return text
}

// Answers says what answers queries besides the cells. It is "", or begins with a comma.
func (p ReleaseAbout) Answers() (text string) {
	switch {
	case p.Fitted && p.Chooses:
		text = ", fitted where better"
	case p.Fitted:
		text = ", fitted"
	}
	if p.Unfitted {
		text += ", not fitted yet"
	}
	return text
}

// joinVersion is the version of payloads that join an identity release and a fit to its cells: the
// length of the release in 64 bits, little-endian, the release, and the fit.
const joinVersion = 1

// JoinFit joins the payload of an identity release and a fit to its cells.
func JoinFit(release []byte, fit *marginals.Release) ([]byte, error) {
	fitted, err := fit.MarshalBinary()
	if err != nil {
		return nil, err
	}
	out := sealed.Begin(sealed.Joined, joinVersion, 8+len(release)+len(fitted))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(release)))
	return sealed.End(append(append(out, release...), fitted...)), nil
}

// DecodeProjection reads a projection release, and the fit to its cells if there is one.
func DecodeProjection(u *query.Universe, payload []byte) (*projection.Release, *marginals.Release, error) {
	if !sealed.Is(sealed.Joined, payload) {
		release, err := projection.Unmarshal(u, payload)
		return release, nil, err
	}
	rest, err := sealed.Open(sealed.Joined, joinVersion, payload)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) < 8 || binary.LittleEndian.Uint64(rest) > uint64(len(rest)-8) {
		return nil, nil, sealed.Damaged("it is cut short")
	}
	length := binary.LittleEndian.Uint64(rest)
	release, err := projection.Unmarshal(u, rest[8:8+length])
	if err != nil {
		return nil, nil, err
	}
	fit, err := marginals.Unmarshal(u, rest[8+length:])
	return release, fit, err
}

// Sketch adapts a projection release. It has a margin for every query and rounds it down.
// Estimates and counts are integers, so an error within a half-width is within its integer
// part.
type Sketch struct {
	plain
	*projection.Release
	Shape string
}

// Texts, Keys: those of the release.
func (s Sketch) Texts(column int) ([]query.Value, bool) { return s.Release.Texts(column) }

func (s Sketch) Keys() ([16]byte, []query.Element, bool) { return s.Release.Keys() }

// Independent holds for the cells of an identity release.
func (s Sketch) Independent() bool { return s.Params().Transform == projection.Identity }

func (s Sketch) Over(_ context.Context, q query.Query, _ func() []int, _ bool) (Answers, query.Query, error) {
	return s, q, nil
}

// cells is the release that a fit may be of.
func (s Sketch) cells() *projection.Release { return s.Release }

func (s Sketch) Add(ctx context.Context, all []Answers, queries []query.Query, confidence float64) (Estimate, error) {
	sketches := make([]*projection.Release, len(all))
	for i, a := range all {
		part, ok := a.(interface{ cells() *projection.Release })
		if !ok {
			return Estimate{}, errKinds()
		}
		sketches[i] = part.cells()
	}
	a, err := projection.Sum(ctx, sketches, queries, confidence)
	return Estimate{Value: a.Value, Error: post.Within(math.Floor(a.Margin)), Verified: true}, err
}

func (s Sketch) Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := s.Answer(ctx, q, confidence)
	return Estimate{Value: a.Value, Error: post.Within(math.Floor(a.Margin)), Verified: true}, err
}

func (s Sketch) Note() string { return s.Shape }

func (s Sketch) Predict(q query.Query, confidence float64) (float64, bool, error) {
	m, err := s.Release.Predict(q, confidence)
	return math.Floor(m), true, err
}

// FittedCells adapts an identity release whose cells have a fitted table. The table
// answers. The proven interval lies around the cells' own answer, which need not be near it.
type FittedCells struct {
	Sketch
	fit     *marginals.Release
	chooses bool // the table answers only where it is predicted to err less than the cells
}

func (f FittedCells) Shifts() bool { return true }

// Independent does not hold for what a table answers.
func (f FittedCells) Independent() bool { return false }

func (f FittedCells) Over(_ context.Context, q query.Query, _ func() []int, _ bool) (Answers, query.Query, error) {
	return f, q, nil
}

func (f FittedCells) Table(_ context.Context, rest []int) ([]float64, [][]int, error) {
	return f.fit.Fitted(rest), nil, nil
}

func (f FittedCells) Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	own, err := f.Sketch.Evaluate(ctx, q, confidence)
	if err != nil {
		return Estimate{}, err
	}
	if f.chooses {
		better, err := f.betterFitted(q)
		if err != nil || !better {
			return own, err
		}
	}
	a, err := f.fit.Answer(ctx, q, confidence)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Value: a.Value, Error: own.Error.Plus(float64(own.Value - a.Value)), Verified: true}
	e.Simulated = simulatedBy(f.fit, q, func(confidence float64) (Estimate, error) { return f.Evaluate(ctx, q, confidence) })
	return e, nil
}

// betterFitted compares the predicted errors of the two answers to a query: that of the
// simulations with the exact standard deviation of the sum of noise. Both are public, and
// neither is about the noise in the answer.
func (f FittedCells) betterFitted(q query.Query) (bool, error) {
	fit, err := f.fit.SimulatedError(q)
	return fit*fit < f.Params().Law.Variance()*q.SumSquares(), err
}

func (f FittedCells) unbiased(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	return f.Sketch.Evaluate(ctx, q, confidence)
}
