package sqlfront

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
		if c.Type, err = p.columnType(); err == nil && (p.peek().is("BETWEEN") || p.peek().is("IN")) {
			err = p.peek().unsupported("a domain of a public column").WithHint("the table has its values; only REAL columns are declared with bounds and a step")
		}
		return c, err
	}
	steps, err := p.steps(name)
	c.Steps = &steps
	return c, err
}

// steps parses BETWEEN lo AND hi STEP step [OR NULL].
func (p *parser) steps(column Name) (query.Steps, error) {
	start := p.peek().position
	var numbers [3]*big.Rat
	for i, word := range []string{"BETWEEN", "AND", "STEP"} {
		if !p.accept(word) {
			if t := p.peek(); t.is(",") || t.is(")") {
				return query.Steps{}, sqlerr.New(sqlerr.Invalid, "column %s is REAL and has no %s", column.Text, word).
					WithHint("write REAL BETWEEN lowest AND highest STEP step, as in REAL BETWEEN 0 AND 1 STEP 0.001").At(t.position)
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
	if t.is("-") || t.is("+") {
		sign = p.next().text
	}
	u := p.peek()
	if u.kind != kindInteger && u.kind != kindDecimal {
		return nil, p.unexpected("a number")
	}
	if len(u.text) > maxExponent {
		return nil, u.unsupported("a number of this many digits")
	}
	r, err := rational(sign + u.text)
	if err != nil {
		return nil, err.At(u.position)
	}
	p.next()
	return r, nil
}
