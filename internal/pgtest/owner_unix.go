//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// owner is the user that a server runs as; PostgreSQL refuses to run as root.
type owner struct {
	credential *syscall.Credential // nil to run as this process's user
}

// serverOwner returns the user "postgres" or "nobody" if this process runs as root.
func serverOwner() (owner, error) {
	if os.Getuid() != 0 {
		return owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			return owner{}, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			return owner{}, fmt.Errorf("user %s: %w", name, err)
		}
		return owner{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return owner{}, fmt.Errorf("%w: it does not run as root, and there is no user postgres or nobody", ErrMissing)
}

// apply makes a command run as the owner. It gets a process group of its own, so that a
// Ctrl-C in the terminal does not reach the watching shell first.
func (o owner) apply(run *exec.Cmd) {
	run.SysProcAttr = &syscall.SysProcAttr{Credential: o.credential, Setpgid: true}
	run.Env = append(os.Environ(), "LC_ALL=C")
}

// give makes the owner own a file.
func (o owner) give(name string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(name, int(o.credential.Uid), int(o.credential.Gid))
}

// longest bounds the length of a temporary folder's name, so that the names of sockets
// in it fit into the 104 bytes that every system allows.
const longest = 60

// mkdir makes a temporary folder that belongs to the owner.
func (o owner) mkdir() (string, error) {
	parent := os.TempDir()
	if len(parent) > longest {
		parent = "/tmp"
	}
	folder, err := os.MkdirTemp(parent, "pgtest")
	if err != nil {
		return "", err
	}
	return folder, o.give(folder)
}
