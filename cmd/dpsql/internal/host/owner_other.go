//go:build !unix

package host

import "io/fs"

func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }

// Owner returns the user whom the file of that name belongs to, if the system knows one.
func Owner(string) (uid int, known bool) { return 0, false }
