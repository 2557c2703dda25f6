package engine

import "context"

// buildSteps reports how far a build is: the parts that its rows are read in,
// and then two steps, the noise and storing the release. How many parts there
// are is the table's public definition; nothing is reported of rows or cells.
type buildSteps struct {
	report func(done, all int64) // nil where nobody looks
	parts  int64
}

type stepsKey struct{}

// within returns a context under which the parts that are read are reported.
func (b *buildSteps) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, stepsKey{}, b)
}

// partsRead returns what is to be called with the parts read; nil where nobody
// looks.
func partsRead(ctx context.Context) func(done, all int) {
	if b, ok := ctx.Value(stepsKey{}).(*buildSteps); ok {
		return b.read
	}
	return nil
}

func (b *buildSteps) read(done, all int) {
	b.parts = int64(all)
	if b.report != nil {
		b.report(int64(done), b.parts+2)
	}
}

// done reports that all was read, and of the two steps behind that how many
// have begun.
func (b *buildSteps) done(begun int64) {
	if b.report != nil {
		b.report(b.parts+begun-1, b.parts+2)
	}
}
