// Package kind has the kinds of releases, and the form in which mechanisms and answers are kept. A kind of
// release is a line of kinds: nothing else asks which one a release is.
package kind

import (
	"dpsql/internal/released"
)

// A Kind is a way to make a release.
type Kind interface {
	released.Opener
}

// kinds are all kinds.
var kinds = []Kind{released.Projections{}, released.Marginals{}, released.Hypotheses{}}

// Of returns the kind of a name. A name that is not known is damage, which shows when the first kind does
// not read the payload.
func Of(name string) Kind {
	for _, k := range kinds {
		if k.Name() == name {
			return k
		}
	}
	return kinds[0]
}
