//go:build !unix

package catalog

import "os"

// writable looks at the permission bits; where they say too much, the engine
// refuses the write itself.
func writable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o200 != 0
}
