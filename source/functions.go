package source

import (
	"fmt"
	"strings"

	"dpsql/sqlerr"
)

// safe are SQL functions that give a value for every argument. A view may call
// no other: a function that fails on one row, as json_extract does on text that
// is no JSON, would turn an answer into an error, and the error would tell of
// that row without noise. Random functions are left out too: a row must count
// the same each time. That a date function does not read 'now' is for the
// curator to see to.
var safe = map[string]bool{
	"char": true, "coalesce": true, "ifnull": true, "iif": true, "instr": true, "length": true,
	"lower": true, "ltrim": true, "max": true, "min": true, "nullif": true, "octet_length": true,
	"round": true, "rtrim": true, "sign": true, "substr": true, "substring": true, "trim": true, "typeof": true,
	"unicode": true, "upper": true,
	"avg": true, "count": true, "total": true, // over the rows of a unit; sum can overflow
	"date": true, "datetime": true, "julianday": true, "strftime": true, "time": true, "unixepoch": true,
}

// cannotFail refuses an instruction of a source's program that calls a function
// other than the safe ones. p4 names it with its number of arguments.
func cannotFail(opcode string, p4 any, source string) error {
	switch opcode {
	case "Function", "PureFunc", "AggStep", "AggStep1", "AggInverse", "AggFinal", "AggValue":
	default:
		return nil
	}
	name, _, _ := strings.Cut(fmt.Sprint(p4), "(")
	if safe[strings.ToLower(name)] {
		return nil
	}
	return errUnsafe(source, name)
}

func errUnsafe(source, name string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s calls the function %s, which can fail on a row or vary between calls", source, name).
		WithHint("write it with what cannot fail, such as CASE, substr and lower, or leave it out of the view")
}
