package importer

// What the tests reach behind the exported names. They are package importer_test.

const ParquetBatch = parquetBatch

var Integer, IsNumber = integer, isNumber

// TypeOf returns the type of a column that holds the fields.
func TypeOf(fields []string) string {
	var s seen
	for _, field := range fields {
		if field != "" {
			s.add(field)
		}
	}
	return s.with('.').typ()
}
