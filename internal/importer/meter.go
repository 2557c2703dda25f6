package importer

// passes is how often a text file is read: once for the types and once for the rows.
const passes = 2

// meter counts the bytes read from a file, in all passes.
type meter struct {
	report     func(done, all int64)
	done, size int64
}

// Write counts bytes that were read.
func (m *meter) Write(p []byte) (int, error) {
	m.add(int64(len(p)))
	return len(p), nil
}

func (m *meter) add(n int64) {
	m.done += n
	if m.report != nil {
		m.report(m.done, m.size)
	}
}
