package conformance_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// The eras of the protocol, by the revisions that the suite knows of them.
const (
	initialize = "2025-11-25"
	modern     = "2026-07-28"
)

func revisions() []string { return []string{initialize, modern} }

// TestConformanceOfEmbedded looks at all scenarios: each passes, or fails as expected_test.go says and in no other check.
func TestConformanceOfEmbedded(t *testing.T) {
	t.Parallel()
	needsSuite(t)
	server := embedded(t)
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			u := under{server.address, revision}
			found, expected := u.all(t), expectedOf(revision)
			for name, s := range found {
				t.Run(name, func(t *testing.T) { u.judge(t, name, s, expected[name]) })
			}
			for name := range expected {
				check.That(t, found[name].output != "", "the suite has no scenario %s, of which something is expected", name)
			}
		})
	}
	t.Cleanup(func() { server.judge(t) })
}

// TestConformanceOfProgram looks at the scenarios that apply to a server which offers nothing for the suite.
func TestConformanceOfProgram(t *testing.T) {
	t.Parallel()
	needsSuite(t)
	address := shipped(t, "")
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			u := under{address, revision}
			found := u.all(t)
			for _, name := range withoutFixtures(revision) {
				t.Run(name, func(t *testing.T) {
					s, ran := found[name]
					check.Must(t, ran, "the suite has no such scenario")
					u.judge(t, name, s, fixturesOf(name))
				})
			}
		})
	}
}

// TestConformanceThrough looks at the embedded server through the program, behind which it stands: all that passes bare passes
// alike.
func TestConformanceThrough(t *testing.T) {
	t.Parallel()
	needsSuite(t)
	bare := embedded(t)
	address := shipped(t, "servers:\n  - {name: fixtures, url: \""+bare.address+"\", prefix: \"\", safe: [\"*\"]}\n")
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			u := under{address, revision}
			found, expected := u.all(t), expectedOf(revision)
			for name, s := range found {
				t.Run(name, func(t *testing.T) {
					except := expected[name]
					if name == hasty { // what is between opens the stream before it knows what the server says
						except.checks = append(slices.Clone(except.checks), "sep-2575-missing-capability-http-400")
					}
					except.checks = slices.DeleteFunc(slices.Clone(except.checks), func(id string) bool { return !slices.Contains(s.failed, id) })
					u.judge(t, name, s, except)
				})
			}
		})
	}
	t.Cleanup(func() { bare.judge(t) })
}

// hasty is the scenario that gives streams no more than half a second, which a machine with much to do does not always have. It
// alone may be run anew, by itself, and no more than again times: in any other a failure that comes and goes is one of ours.
const (
	hasty = "server-stateless"
	again = 5
)

// judge holds a scenario to what is expected to fail in it, both ways.
func (u under) judge(t *testing.T, name string, s scenario, expected exception) {
	t.Helper()
	for i := 0; name == hasty && i < again && s.differs(expected); i++ {
		t.Logf("it is run again, since of it failed %q:\n%s", s.failed, s.output)
		s = u.one(t, name)
	}
	check.That(t, s.passed > 0, "nothing was looked at:\n%s", s.output)
	check.That(t, len(expected.checks) == 0 || expected.why != "" && expected.link != "", "what is expected to fail needs a reason and a link")
	unexpected := slices.DeleteFunc(slices.Clone(s.failed), func(id string) bool { return slices.Contains(expected.checks, id) })
	check.That(t, len(unexpected) == 0, "%q failed:\n%s", unexpected, s.output)
	for _, id := range expected.checks {
		check.That(t, slices.Contains(s.failed, id), "%s is expected to fail (%s), and did not: take it out of expected_test.go", id, expected.why)
	}
}

// differs tells whether other checks failed than were expected to.
func (s scenario) differs(expected exception) bool {
	return !slices.Equal(s.failed, slices.Sorted(slices.Values(expected.checks)))
}

func needsSuite(t *testing.T) {
	t.Helper()
	if _, err := suite(); err != nil {
		check.Must(t, os.Getenv("CI") == "", "%v", err)
		t.Skip(err)
	}
}

// patience is longer than a start or an end takes, on a busy machine too.
const patience = time.Minute

// shipped starts the program, with the user's settings.
func shipped(t *testing.T, config string) (address string) {
	t.Helper()
	dir, home := workspace(t), t.TempDir()
	check.Write(t, home, "config/orchestra-mcp/config.yaml", config)
	cmd := exec.Command(program, "serve", "--workspace", dir, "--transport", "http", "--listen", "127.0.0.1:0")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "TMPDIR=" + t.TempDir()}
	said := &announcement{ready: make(chan [2]string, 1)}
	cmd.Stderr = said
	check.OK(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			check.NoError(t, err)
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Error("the server does not end")
		}
	})
	select {
	case at := <-said.ready:
		return withToken(t, at[0], at[1])
	case <-time.After(patience):
		t.Fatal("the server did not say where it listens")
	}
	return ""
}

// workspace makes one with an intent.
func workspace(t *testing.T) string {
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - id: INT-001\n    name: Conform\n    owned_scope: [\"src/**\"]\n")
	return dir
}

// announcement is a server's standard error.
type announcement struct {
	ready chan [2]string // address and token
	text  bytes.Buffer
}

func (a *announcement) Write(p []byte) (int, error) {
	a.text.Write(p)
	var url, token string
	for line := range strings.Lines(a.text.String()) {
		if said, ok := strings.CutPrefix(line, "bearer token: "); ok {
			token = strings.TrimSpace(said)
		}
		if said, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(said, "\n") {
			url = strings.TrimSpace(said)
		}
	}
	if url != "" && token != "" {
		select {
		case a.ready <- [2]string{url, token}:
		default:
		}
	}
	return len(p), nil
}
