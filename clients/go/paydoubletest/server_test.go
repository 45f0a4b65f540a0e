package paydoubletest

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheCommandEndsWhenItsPipeIsClosed(t *testing.T) {
	t.Parallel()
	command, err := exec.LookPath("paydouble")
	if err != nil {
		t.Skip("the command paydouble is not on the PATH")
	}
	url, stdin, err := serve(command)
	if err != nil {
		t.Fatal(err)
	}
	if health := Connect(t, WithServer(Address{URL: url})).Health(); health.Status != "ok" {
		t.Errorf("it is %+v", health)
	}

	connection, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()

	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}

	_ = connection.SetReadDeadline(time.Now().Add(patience))
	if _, err := connection.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s has not ended: %v", url, err)
	}
}

func TestACommandThatEndsAtOnceIsReportedWithWhatItSaid(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "paydouble")
	if err := os.WriteFile(command, []byte("#!/bin/sh\necho 'the port is taken' >&2\nexit 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	_, _, err := serve(command)

	if err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("the error is %v", err)
	}
}

func TestWithoutAServerTheMessageSaysWhatToDo(t *testing.T) {
	t.Setenv("PAYDOUBLE_URL", "")
	started := local.url
	t.Cleanup(func() { local.url = started })
	local.url = ""
	t.Setenv("PATH", t.TempDir())

	_, err := locate(&options{})

	for _, part := range []string{"PAYDOUBLE_URL", "paydoublecontainer", "PATH"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("there is no %s in %v", part, err)
		}
	}
}

func TestAServerThatHasStartedNeedsNoCommandAnyMore(t *testing.T) {
	if _, err := exec.LookPath("paydouble"); err != nil {
		t.Skip("the command paydouble is not on the PATH")
	}
	t.Setenv("PAYDOUBLE_URL", "")
	New(t)
	t.Setenv("PATH", t.TempDir())

	New(t)
}
