package server

import (
	"cmp"
	"math"
	"slices"
)

// seats are the places of connections, by their owners: the networks of their addresses before the
// login, and their users after it. Whoever has most makes room.
type seats struct {
	most  int
	older bool // the oldest connection of those that have said least makes room, and not the newest
	all   int
	of    map[string][]*conn // the oldest first
}

// take gives a connection a place, and returns one that has to leave if there are too many now:
// of the owner who has most. The newest of its owner may be c itself.
func (p *seats) take(owner string, c *conn) (out *conn) {
	if p.of == nil {
		p.of = make(map[string][]*conn)
	}
	p.of[owner] = append(p.of[owner], c)
	if p.all++; p.all <= p.most {
		return nil
	}
	fullest := owner
	for other, held := range p.of {
		if more := len(held) - len(p.of[fullest]); more > 0 || more == 0 && p.older && fullest == owner {
			fullest = other
		}
	}
	held := p.of[fullest]
	if out = held[len(held)-1]; p.older {
		steps := func(o *conn) int32 {
			if o == c {
				return math.MaxInt32
			}
			return o.steps.Load()
		}
		out = slices.MinFunc(held, func(a, b *conn) int { return cmp.Compare(steps(a), steps(b)) })
	}
	p.leave(fullest, out)
	return out
}

// leave gives the place of a connection back, if it has one.
func (p *seats) leave(owner string, c *conn) {
	i := slices.Index(p.of[owner], c)
	if i < 0 {
		return
	}
	p.all--
	if p.of[owner] = slices.Delete(p.of[owner], i, i+1); len(p.of[owner]) == 0 {
		delete(p.of, owner)
	}
}
