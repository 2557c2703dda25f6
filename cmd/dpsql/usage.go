package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

const usage = `dpsql asks differentially private questions of an SQLite database.

usage: dpsql [flags] DB [SQL]     run SQL, or a script on standard input, or a shell on a terminal
       dpsql [flags] -f FILE DB   run a script
       dpsql audit [FLAGS]        try to refute the privacy that dpsql claims: see dpsql help audit
       dpsql help [audit] | version

Flags may stand before or after DB.

  -f FILE                        run the statements of FILE ("-" is standard input)
  -v NAME=VALUE                  the value of :NAME in the statements; may be repeated
  -explain                       say what each statement would do and cost, and all of them together; spend nothing
  -format FORMAT                 table, csv, json or markdown: table on a terminal, else csv
  -json, -csv, -markdown         the same, shorter
  -role ROLE                     curator (default); or analyst, who may only ask
  -readonly                      refuse every write to the file
  -version                       print the version
  -help                          print this text

The exit status is 0, 1 when a statement failed (a script stops there), 2 for a wrong usage.
A database named like a sub-command is written with its folder: dpsql ./help
Rows may also be in PostgreSQL: CREATE SOURCE name USING POSTGRES WITH (dsn_env = 'VARIABLE') says which
environment variable has the connection string.

In the shell, in scripts and on standard input:

`

// usageText returns what help prints.
func usageText() string { return usage + commandHelp() }

// version returns the version of the build, as far as it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "(devel)"
	}
	return info.Main.Version
}

func versionText() string {
	return fmt.Sprintf("dpsql %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
