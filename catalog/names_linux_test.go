package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dpsql/catalog"
)

// mountedChild is a child process in a mount namespace of its own. It mounts the
// database on a file of another folder, and then the folder. It reports the outcome of
// a charge by each name.
func mountedChild(path string) {
	file, folder := os.Getenv("CATALOG_TEST_FILE"), os.Getenv("CATALOG_TEST_FOLDER")
	if err := errors.Join(syscall.Mount(path, file, "", syscall.MS_BIND, ""),
		syscall.Mount(filepath.Dir(path), folder, "", syscall.MS_BIND, "")); err != nil {
		fmt.Println("not mounted:", err)
		return
	}
	for _, name := range []string{file, filepath.Join(folder, filepath.Base(path))} {
		s, err := catalog.Open(context.Background(), name, catalog.Options{})
		if err == nil {
			err = charge(s, 1, catalog.KindReleases, epsilon(1, 0))
			s.Close()
		}
		fmt.Println(err)
	}
}

// TestMountedFile mounts a database alone into another folder, as containers do. The
// files beside the database are then missing in the other folder. They are there if
// the folder is mounted.
func TestMountedFile(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	declare(t, s, "raws")
	s.Close()
	file, folder := filepath.Join(t.TempDir(), "a b\\.db"), t.TempDir()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "CATALOG_TEST_ROLE=mounted", "CATALOG_TEST_PATH="+path, "CATALOG_TEST_FILE="+file, "CATALOG_TEST_FOLDER="+folder)
	root := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	groups := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, Unshareflags: syscall.CLONE_NEWNS, UidMappings: root, GidMappings: groups}
	out, err := child.Output()
	if path := new(fs.PathError); errors.As(err, &path) || strings.HasPrefix(string(out), "not mounted") {
		t.Skipf("this system lets no test mount: %v %s", err, out)
	}
	said := strings.Split(string(out), "\n")
	if err != nil || len(said) != 3 || !strings.HasPrefix(said[0], "readonly: "+file+" is mounted by itself") || said[1] != "<nil>" {
		t.Errorf("the file, and the folder: %q, %v", said, err)
	}
	if spent, err := spentOf(open(t, path), 1); spent.Epsilon != 1 || err != nil {
		t.Errorf("%v is spent, %v", spent.Epsilon, err)
	}
}
