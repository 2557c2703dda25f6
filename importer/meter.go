package importer

// passes is how often a file is read: for the types and for the rows.
const passes = 2

// meter counts the bytes that are read of a file, in all passes.
type meter struct {
	report     func(done, all int64)
	done, size int64
}

// Write counts what was read.
func (m *meter) Write(p []byte) (int, error) {
	m.done += int64(len(p))
	if m.report != nil {
		m.report(m.done, m.size)
	}
	return len(p), nil
}
