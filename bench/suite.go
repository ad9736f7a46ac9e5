package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// suite is what the groups share: a place for workspaces, and the program.
type suite struct {
	options
	place   string // everything is made below it
	program string
	module  string // directory of the module, for bench/node
	made    int
}

func newSuite(ctx context.Context, o options) (*suite, error) {
	place, err := os.MkdirTemp(o.dir, "orchestra-bench-")
	if err != nil {
		return nil, err
	}
	s := &suite{options: o, place: place, program: o.binary}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *suite) close() error { return os.RemoveAll(s.place) }

// build makes the program as users get it. The module's path comes from the
// binary itself, because the module may be renamed.
func (s *suite) build(ctx context.Context) error {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" {
		return errors.New("this program does not know its module: start it with go run ./bench")
	}
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", info.Main.Path).Output()
	if err != nil {
		return fmt.Errorf("find the module %s: %w; start bench inside it", info.Main.Path, err)
	}
	s.module = strings.TrimSpace(string(dir))
	if s.program != "" {
		s.program, err = filepath.Abs(s.program)
		return err
	}
	s.program = filepath.Join(s.place, "orchestra-mcp")
	if runtime.GOOS == "windows" {
		s.program += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", s.program, info.Main.Path+"/cmd/orchestra-mcp")
	build.Dir = s.module
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func (s *suite) machine() Machine {
	return Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		FileSystem: fileSystem(s.place), Load: loadAverage(), At: time.Now().UTC(),
	}
}

// settledFiles waits until no file counts as just changed. A server reads one
// again that changed in the last two seconds, and users' files seldom have.
func settledFiles(ctx context.Context) error {
	select {
	case <-time.After(2500 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const intentsHead = "active_intents:\n"

// intentYAML declares an intent that owns everything.
func intentYAML(id string) string {
	return fmt.Sprintf("  - {id: %s, name: Benchmark %s, status: IN_PROGRESS, description: Measure., owned_scope: [\"**\"]}\n", id, id)
}

// intentID names the i-th intent of a workspace.
func intentID(i int) string { return fmt.Sprintf("INT-%03d", i) }

// workspace makes a directory with the given number of intents, and none of
// the user's own settings in sight.
func (s *suite) workspace(intents int) (string, error) {
	s.made++
	dir := filepath.Join(s.place, fmt.Sprintf("workspace-%d", s.made))
	text := intentsHead
	for i := range intents {
		text += intentYAML(intentID(i))
	}
	return dir, writeFile(filepath.Join(dir, ".orchestration", "active_intents.yaml"), text)
}

// environment keeps what is measured away from the user's own files.
func (s *suite) environment(extra ...string) []string {
	home := filepath.Join(s.place, "home")
	kept := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_STATE_HOME=" + home}
	for _, name := range []string{"PATH", "SystemRoot", "TMPDIR", "TEMP"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return append(kept, extra...)
}

// serve starts the program on a workspace, over stdio.
func (s *suite) serve(ctx context.Context, dir string, extra ...string) (*peer, error) {
	cmd := exec.CommandContext(ctx, s.program, "serve", "--workspace", dir)
	cmd.Dir, cmd.Env = dir, s.environment(extra...)
	return startPeer(cmd)
}

// served starts the program and shakes hands.
func (s *suite) served(ctx context.Context, dir string, extra ...string) (*peer, error) {
	p, err := s.serve(ctx, dir, extra...)
	if err != nil {
		return nil, err
	}
	if _, err := p.initialize(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// content is n bytes of text in lines of 64. Variants differ in four lines at
// the beginning, as an edit does: what is said of a change that replaces every
// line (its diff) is another work than what is said of most.
func content(n, variant int) string {
	var b strings.Builder
	for line := 0; b.Len() < n; line++ {
		number := 0
		if line < 4 {
			number = variant
		}
		fmt.Fprintf(&b, "%06d %08d %s\n", number, line, strings.Repeat("x", 47))
	}
	return b.String()[:n-1] + "\n"
}

// fileSize is the 4 KiB of the promise.
const fileSize = 4 << 10
