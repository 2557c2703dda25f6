package importer

// What the tests reach behind the exported names. They are package importer_test.

const ParquetBatch = parquetBatch

func Quoted(name string) string          { return quoted(name) }
func Integer(field string) (int64, bool) { return integer(field) }
func IsNumber(field string) bool         { return isNumber(field) }

// TypeOf returns the type of a column that holds the fields.
func TypeOf(fields []string) string {
	var s seen
	for _, field := range fields {
		s.add(field)
	}
	return s.typ()
}
