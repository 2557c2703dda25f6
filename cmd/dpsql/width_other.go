//go:build !unix

package main

// terminalWidth returns how many characters fit on a line of standard output,
// 0 when that is unknown.
func terminalWidth() int { return 0 }
