package sqlfront

// globPattern reads a pattern of GLOB: * stands for any characters, ? for one,
// [a-z] for one of those named and [^a-z] for one of the others.
func globPattern(text string) pattern {
	var p pattern
	for in := []rune(text); len(in) > 0; {
		r := in[0]
		in = in[1:]
		switch r {
		case '*':
			p.elements = append(p.elements, element{any: true})
		case '?':
			p.elements = append(p.elements, element{match: anyOne})
		case '[':
			set, n := globSet(in)
			if n < 0 {
				return pattern{dead: true}
			}
			p.elements = append(p.elements, element{match: set})
			in = in[n:]
		default:
			p.elements = append(p.elements, oneOf(r))
		}
	}
	return p
}

// globSet reads a set up to its closing bracket, and returns its length, -1
// where the bracket is missing. A bracket that comes first is a member, and so
// is a hyphen that has no end on one side.
func globSet(in []rune) (func(rune) bool, int) {
	at, inverted := 0, false
	next := func() rune {
		if at == len(in) {
			return 0
		}
		at++
		return in[at-1]
	}
	var spans [][2]rune
	c := next()
	if c == '^' {
		inverted = true
		c = next()
	}
	if c == ']' {
		spans = append(spans, [2]rune{']', ']'})
		c = next()
	}
	for prior := rune(0); c != 0 && c != ']'; c = next() {
		if c == '-' && at < len(in) && in[at] != ']' && prior > 0 {
			spans = append(spans, [2]rune{prior, next()})
			prior = 0
			continue
		}
		spans = append(spans, [2]rune{c, c})
		prior = c
	}
	if c == 0 {
		return nil, -1
	}
	return func(r rune) bool {
		for _, s := range spans {
			if s[0] <= r && r <= s[1] {
				return !inverted
			}
		}
		return inverted
	}, at
}
