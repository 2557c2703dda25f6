package engine

// buildSteps reports how far a build is: the parts that its rows are read in,
// and then two steps, the noise and storing the release. How many parts there
// are is the table's public definition; nothing is reported of rows or cells.
type buildSteps struct {
	report func(done, all int64) // nil where nobody looks
	parts  int64
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
