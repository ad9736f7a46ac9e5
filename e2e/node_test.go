package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

const (
	// clients is where package.json is.
	clients = "clients"
	// oldestNode is what the oldest client that is driven here runs on.
	oldestNode = 20
	// inspectorNode is what version 2 of the inspector needs.
	inspectorNode = 22
)

// node finds a Node of at least the given major version: the one that
// clients/package.json brings along, or the machine's own.
func node(t *testing.T, atLeast int) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(clients, "node_modules", "@modelcontextprotocol", "sdk")); err != nil {
		missing(t, "the Node clients are not installed: run `npm ci` in e2e/clients")
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	ours, err := filepath.Abs(filepath.Join(clients, "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	for _, candidate := range []string{ours, "node"} {
		if majorVersion(candidate) >= atLeast {
			return candidate
		}
	}
	missing(t, fmt.Sprintf("no Node %d or later", atLeast))
	return ""
}

func majorVersion(node string) int {
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		return 0
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	n, _ := strconv.Atoi(major)
	return n
}

// missing skips a test on a developer's machine; continuous integration has
// no excuse.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// driver is the argument of clients/drive.mjs.
type driver struct {
	SDK       int      `json:"sdk"`
	Pin       string   `json:"pin,omitempty"` // of version 2: a revision of the modern era
	Transport string   `json:"transport"`
	Command   string   `json:"command,omitempty"`
	Args      []string `json:"args,omitempty"`
	Env       environ  `json:"env,omitempty"`
	URL       string   `json:"url,omitempty"`
	Token     string   `json:"token,omitempty"`
	// Elicitation is the capability that the client declares; nil for none,
	// or for forms if there is a user.
	Elicitation any  `json:"elicitation,omitempty"`
	User        user `json:"-"`
}

// environ is a list of NAME=value that is an object in JSON.
type environ []string

func (e environ) MarshalJSON() ([]byte, error) {
	m := make(map[string]string)
	for _, entry := range e {
		name, value, _ := strings.Cut(entry, "=")
		m[name] = value
	}
	return json.Marshal(m)
}

// clientError is what the client threw.
type clientError struct {
	Code    any    `json:"code"`
	Message string `json:"message"`
}

func (e *clientError) Error() string { return fmt.Sprintf("%s (%v)", e.Message, e.Code) }

// testLog shows what a process says on standard error.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

var _ io.Writer = testLog{}
