package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Service is a running dpsql serve, which is built from this tree.
type Service struct {
	Server
	Answers map[string]string // to Released, as CSV without a first line
	PID     int

	process *exec.Cmd
	ended   chan struct{} // closed when it has ended, with the error in err
	err     error
}

// Serve makes the clients' database of so many rows in a folder, and serves it as another
// process, whose log is the file serve.log there. Close ends it.
func Serve(ctx context.Context, dir string, rows int, tls bool) (*Service, error) {
	command := filepath.Join(dir, "dpsql")
	if _, err := output(ctx, "", "go", "build", "-o", command, "dpsql/cmd/dpsql"); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"visits.csv": Visits(rows), "wards.csv": Wards, "clinic.sql": declarations} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if _, err := output(ctx, dir, command, "-f", "clinic.sql", "clinic.db"); err != nil {
		return nil, err
	}
	s := &Service{Server: Server{Database: "clinic", User: "ana", Password: Password, TLS: tls}, Answers: map[string]string{}}
	for name, question := range Released {
		out, err := output(ctx, dir, command, "-csv", "clinic.db", question)
		if err != nil {
			return nil, err
		}
		_, s.Answers[name], _ = strings.Cut(out, "\n")
	}
	return s, s.listen(dir, command)
}

// output runs a command to its end and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %q: %w: %s%s", name, args, err, &out, &problems)
	}
	return out.String(), nil
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// listen starts the server and waits until it says where it listens.
func (s *Service) listen(dir, command string) error {
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command(command, "serve", "clinic.db", "--listen", "127.0.0.1:0", "--self-signed")
	s.process.Dir, s.process.Stderr = dir, log
	if err := s.process.Start(); err != nil {
		return err
	}
	s.PID, s.ended = s.process.Process.Pid, make(chan struct{})
	go func() {
		s.err = s.process.Wait()
		close(s.ended)
	}()
	for patience := time.After(time.Minute); ; {
		said, err := os.ReadFile(log.Name())
		if found := address.Find(said); found != nil && err == nil {
			s.Host, s.Port, err = net.SplitHostPort(string(found))
			return err
		}
		select {
		case <-s.ended:
			return fmt.Errorf("dpsql serve: %w: %s", s.err, said)
		case <-patience:
			return errors.Join(fmt.Errorf("dpsql serve does not say where it listens: %s", said), s.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Close asks the server to end, waits for it, and returns an error unless it ends well.
func (s *Service) Close() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	kill := time.AfterFunc(time.Minute, func() { s.process.Process.Kill() })
	defer kill.Stop()
	<-s.ended
	return s.err
}
