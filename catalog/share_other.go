//go:build !unix

package catalog

import (
	"errors"
	"os"
)

// share shares nothing: Recent is Version here.
func share(*os.File, bool) (sharedNumber, error) { return sharedNumber{}, errors.ErrUnsupported }

func (sharedNumber) close() {}
