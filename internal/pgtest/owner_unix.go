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
	credential *syscall.Credential // nil: as this process
}

// serverOwner returns the user "postgres" or "nobody" where we are root.
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

// apply makes a command run as the owner, in a process group of its own, so
// that a Ctrl-C in the terminal does not take the watching shell first.
func (o owner) apply(run *exec.Cmd) {
	run.SysProcAttr = &syscall.SysProcAttr{Credential: o.credential, Setpgid: true}
	run.Env = append(os.Environ(), "LC_ALL=C")
}

// give makes the owner that of a file.
func (o owner) give(name string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(name, int(o.credential.Uid), int(o.credential.Gid))
}

// longest is what a temporary folder's name may have, so that the names of
// sockets in it fit into the 104 bytes that all systems have for them.
const longest = 60

// mkdir makes a temporary folder that is the owner's.
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
