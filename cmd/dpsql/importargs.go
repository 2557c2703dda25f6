package main

import (
	"strings"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// parseImport reads the arguments of .import: switches with one dash or two,
// anywhere, and a file and a table.
func parseImport(args []string) (engine.Import, error) {
	var im engine.Import
	var words []string
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			words = append(words, arg)
			continue
		}
		switch name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"); name {
		case "append":
			im.Append = true
		case "if-missing":
			im.IfMissing = true
		case "csv":
			im.Comma = ','
		case "tsv":
			im.Comma = '\t'
		default:
			return im, sqlerr.New(sqlerr.Invalid, ".import has no switch %s", arg).
				WithHint("the switches are --csv, --tsv, --append and --if-missing")
		}
	}
	if len(words) != 2 {
		return im, sqlerr.New(sqlerr.Invalid, ".import takes a file and a table").
			WithHint(".import [--csv|--tsv] [--append] [--if-missing] FILE TABLE")
	}
	im.Path, im.Table = words[0], words[1]
	return im, nil
}
