//go:build !unix

package pgtest

import (
	"fmt"
	"os/exec"
)

// owner is the user that a server runs as.
type owner struct{}

func serverOwner() (owner, error) {
	return owner{}, fmt.Errorf("%w: there are no Unix sockets here", ErrMissing)
}

func (owner) apply(*exec.Cmd) {}

func (owner) give(string) error { return nil }

func (owner) mkdir() (string, error) { return "", ErrMissing }
