package syntax

import (
	"math/big"

	"dpsql/query"
	"dpsql/sqlerr"
)

// publicColumn parses name type, and behind REAL its steps.
func (p *parser) publicColumn() (PublicColumnDef, error) {
	name, err := p.name("a column")
	if err != nil {
		return PublicColumnDef{}, err
	}
	c := PublicColumnDef{Name: name}
	if !p.accept("REAL") {
		if c.Type, err = p.columnType(); err == nil && (p.peek().Is("BETWEEN") || p.peek().Is("IN")) {
			err = p.peek().Unsupported("a domain of a public column").WithHint("the table has its values; only REAL columns are declared with bounds and a step")
		}
		return c, err
	}
	steps, err := p.steps(name)
	c.Steps = &steps
	return c, err
}

// steps parses BETWEEN lo AND hi STEP step [OR NULL].
func (p *parser) steps(column Name) (query.Steps, error) {
	start := p.peek().Position
	var numbers [3]*big.Rat
	for i, word := range []string{"BETWEEN", "AND", "STEP"} {
		if !p.accept(word) {
			if t := p.peek(); t.Is(",") || t.Is(")") {
				return query.Steps{}, sqlerr.New(sqlerr.Invalid, "column %s is REAL and has no %s", column.Text, word).
					WithHint("write REAL BETWEEN lowest AND highest STEP step, as in REAL BETWEEN 0 AND 1 STEP 0.001").At(t.Position)
			}
			return query.Steps{}, p.unexpected(word)
		}
		var err error
		if numbers[i], err = p.decimal(); err != nil {
			return query.Steps{}, err
		}
	}
	s, err := query.NewSteps(numbers[0], numbers[1], numbers[2], p.accept("OR", "NULL"))
	return s, domainError(&ColumnDef{Name: column}, err, start)
}

// decimal parses a number, exactly as it is written.
func (p *parser) decimal() (*big.Rat, error) {
	t := p.peek()
	sign := ""
	if t.Is("-") || t.Is("+") {
		sign = p.next().Text
	}
	u := p.peek()
	if u.Kind != KindInteger && u.Kind != KindDecimal {
		return nil, p.unexpected("a number")
	}
	if len(u.Text) > maxExponent {
		return nil, u.Unsupported("a number of this many digits")
	}
	r, err := Rational(sign + u.Text)
	if err != nil {
		return nil, err.At(u.Position)
	}
	p.next()
	return r, nil
}
