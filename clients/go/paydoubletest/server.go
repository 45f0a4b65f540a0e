package paydoubletest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// An Address says where a server is.
type Address struct {
	// URL is where the control API is reached, such as http://127.0.0.1:8080.
	URL string
	// Token is the server's control token, if it has one.
	Token string
	// ReceiverHost is the name by which the server reaches this machine, such as host.docker.internal for a server in
	// a container. Receivers then listen on all addresses. It is empty for a server on this machine.
	ReceiverHost string
}

// A Starter starts a server, or returns the address of the one that it has started before.
type Starter func(context.Context) (Address, error)

// A Server makes sandboxes. Its methods end the test that it was connected for when a call fails.
type Server struct {
	*control
}

// Health is what a server says about itself.
type Health struct {
	Status        string  `json:"status"`
	Version       string  `json:"version"`
	UptimeSeconds float64 `json:"uptime_seconds"`
	Sandboxes     int     `json:"sandboxes"`
}

// UnclaimedRequest is a request of the API whose credentials belong to no sandbox.
type UnclaimedRequest struct {
	Request
	// BusinessKey is the key that the request came with; empty without one.
	BusinessKey string `json:"business_key"`
}

// Connect returns the server that [New] uses, for calls that are not about one sandbox. Of the options it takes
// [WithServer] and [WithStarter].
func Connect(t testing.TB, opts ...Option) *Server {
	t.Helper()
	address, err := locate(newOptions(opts))
	if err == nil {
		err = checkURL(address.URL)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Server{&control{t: t, address: address}}
}

// checkURL returns an error for what is not the URL of a server: HTTP, a host, and no path.
func checkURL(text string) error {
	found, err := url.Parse(text)
	if err != nil || found.Scheme != "http" && found.Scheme != "https" || found.Host == "" || strings.Trim(found.Path, "/") != "" {
		return fmt.Errorf("paydoubletest: '%s' is not a server's URL; write it like http://localhost:8080", text)
	}
	return nil
}

// Address returns where the server is.
func (s *Server) Address() Address { return s.address }

// Call makes any call of the control API. The path is below /_paydouble; in is sent as JSON unless it is nil; the
// answer's JSON is stored in out unless that is nil. A refused call returns a [*ControlError].
func (s *Server) Call(ctx context.Context, method, path string, in, out any) error {
	return s.call(ctx, method, path, in, out)
}

// Health returns the server's health.
func (s *Server) Health() Health {
	s.t.Helper()
	return ask[Health](s.control, "GET", "/health", nil)
}

// Find returns an existing sandbox, such as "default". It is not deleted at the end of the test.
func (s *Server) Find(id string) *Sandbox {
	s.t.Helper()
	return newSandbox(s.control, ask[State](s.control, "GET", "/sandboxes/"+segment(id), nil))
}

// Sandboxes returns the sandboxes of the server that have all of the labels, those of other tests included; with nil it
// returns all.
func (s *Server) Sandboxes(labels map[string]string) []*Sandbox {
	s.t.Helper()
	filter := url.Values{}
	if len(labels) > 0 {
		wanted := make([]string, 0, len(labels))
		for name, value := range labels {
			wanted = append(wanted, name+":"+value)
		}
		sort.Strings(wanted)
		filter.Set("label", strings.Join(wanted, ","))
	}
	var boxes []*Sandbox
	for _, state := range list[State](s.control, "/sandboxes", filter) {
		boxes = append(boxes, newSandbox(s.control, state))
	}
	return boxes
}

// UnclaimedRequests returns the newest requests whose business key no sandbox has.
func (s *Server) UnclaimedRequests() []UnclaimedRequest {
	s.t.Helper()
	return list[UnclaimedRequest](s.control, "/unclaimed-requests", nil)
}

var errNoServer = errors.New(`paydoubletest: there is no paydouble server; do one of these:
  - set PAYDOUBLE_URL to the address of a running one, such as http://127.0.0.1:8080
  - pass paydoublecontainer.Option() to New, which runs one in a container (module clients/go/paydoublecontainer)
  - put the command paydouble on the PATH (docs/how-to/get-the-command.md), and New starts it`)

// locate finds or starts a server.
func locate(chosen *options) (Address, error) {
	if chosen.address != nil {
		return *chosen.address, nil
	}
	if url := os.Getenv("PAYDOUBLE_URL"); url != "" {
		return Address{
			URL:          url,
			Token:        os.Getenv("PAYDOUBLE_CONTROL_TOKEN"),
			ReceiverHost: os.Getenv("PAYDOUBLE_RECEIVER_HOST"),
		}, nil
	}
	if chosen.starter != nil {
		address, err := chosen.starter(context.Background())
		if err != nil {
			err = fmt.Errorf("paydoubletest: the server was not started: %w", err)
		}
		return address, err
	}
	url, err := onPath()
	return Address{URL: url, Token: os.Getenv("PAYDOUBLE_CONTROL_TOKEN")}, err
}

// local is the server that this test binary has started.
var local struct {
	sync.Mutex
	url string
	err error
	// The pipe whose end is the end of the server. Here the garbage collector does not close it.
	stdin io.Closer
}

// onPath starts the command paydouble, once for the test binary, and returns the server's URL.
func onPath() (string, error) {
	local.Lock()
	defer local.Unlock()
	if local.url == "" && local.err == nil {
		command, err := exec.LookPath("paydouble")
		if err != nil {
			return "", errNoServer
		}
		local.url, local.stdin, local.err = serve(command)
	}
	return local.url, local.err
}

// The server must end with the test binary, which has no hook for its end. So a shell waits until the pipe to its
// standard input is closed, which the operating system does however the test binary ends. The trap keeps the shell
// alive when Ctrl-C ends cat.
const untilParentEnds = `"$@" & trap : INT TERM; exec >/dev/null 2>&1; cat; kill $!; wait $!`

var bannerURL = regexp.MustCompile(`control API +(\S+)/_paydouble`)

// serve starts the server on a free port, and returns the URL that its banner shows and what ends it when it is closed.
func serve(command string) (string, io.Closer, error) {
	cmd := exec.Command("sh", "-c", untilParentEnds, "sh", command, "serve", "--host", "127.0.0.1", "--port", "0")
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PAYDOUBLE_QUIET=") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("paydoubletest: %s does not start: %w", command, err)
	}
	found, said := make(chan string, 1), make(chan string, 1)
	go func() {
		var lines strings.Builder
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines.WriteString(scanner.Text() + "\n")
			if match := bannerURL.FindStringSubmatch(scanner.Text()); match != nil {
				found <- match[1]
				break
			}
		}
		said <- lines.String()
		_, _ = io.Copy(io.Discard, output) // the live log
		_ = cmd.Wait()
	}()
	select {
	case url := <-found:
		return url, stdin, nil
	case text := <-said:
		err = fmt.Errorf("paydoubletest: %s serve ended at once and said: %s", command, text)
	case <-time.After(time.Minute):
		err = fmt.Errorf("paydoubletest: %s serve printed no address within a minute", command)
	}
	_ = stdin.Close()
	return "", nil, err
}
