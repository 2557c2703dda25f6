// Command dpsql asks differentially private questions of an SQLite database
// from a shell, a script or a command line. It parses its arguments, cuts
// scripts into statements, hands each to dpsql/engine and renders what comes
// back; of privacy it knows nothing.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], system()))
}
