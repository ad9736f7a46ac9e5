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
	"slices"
	"strings"
	"time"
)

// suite is what the groups share: a place for workspaces, and the program. What goes wrong in a measurement ends its group,
// by check; the rows before it stay.
type suite struct {
	options
	ctx     context.Context // of the whole run
	place   string          // everything is made below it
	program string
	module  string // directory of the module, for bench/node
	made    int
	rows    []Row
	ends    []func() // of the group, the last first
}

// unmeasured is what check panics with.
type unmeasured struct{ error }

// check ends a group's measurements if there is an error.
func check(err error) {
	if err != nil {
		panic(unmeasured{err})
	}
}

// must is check for a function that returns something.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// measure runs a group, and what it left to do at its end.
func (s *suite) measure(group func(*suite)) (err error) {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case unmeasured:
			err = failed.error
		default:
			panic(failed)
		}
	}()
	defer func() {
		for _, end := range slices.Backward(s.ends) {
			end()
		}
		s.ends = nil
	}()
	group(s)
	return nil
}

// atEnd leaves something to do at the end of the group. Its error says nothing about what was measured.
func (s *suite) atEnd(end func() error) { s.ends = append(s.ends, func() { _ = end() }) }

func (s *suite) add(rows ...Row) { s.rows = append(s.rows, rows...) }

func newSuite(ctx context.Context, o options) (*suite, error) {
	place, err := os.MkdirTemp(o.dir, "orchestra-bench-")
	if err != nil {
		return nil, err
	}
	s := &suite{options: o, ctx: ctx, place: place, program: o.binary}
	if err := s.build(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *suite) close() error { return os.RemoveAll(s.place) }

// build makes the program as users get it. The module's path comes from the binary itself, because the module may be
// renamed.
func (s *suite) build() error {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" {
		return errors.New("this program does not know its module: start it with go run ./bench")
	}
	dir, err := exec.CommandContext(s.ctx, "go", "list", "-m", "-f", "{{.Dir}}", info.Main.Path).Output()
	if err != nil {
		return fmt.Errorf("find the module %s: %w; start bench inside it", info.Main.Path, err)
	}
	s.module = strings.TrimSpace(string(dir))
	if s.program != "" {
		if s.program, err = filepath.Abs(s.program); err != nil {
			return err
		}
		return forgetCached(s.program)
	}
	s.program = filepath.Join(s.place, "orchestra-mcp")
	if runtime.GOOS == "windows" {
		s.program += ".exe"
	}
	build := exec.CommandContext(s.ctx, "go", "build", "-o", s.program, info.Main.Path+"/cmd/orchestra-mcp")
	build.Dir, build.Env = s.module, append(build.Environ(), "CGO_ENABLED=0") // as it is shipped
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return forgetCached(s.program)
}

// machine is where the numbers are from.
func (s *suite) machine() string {
	text := fmt.Sprintf("%s/%s, %d CPUs, %s, %s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), fileSystem(s.place),
		time.Now().UTC().Format(time.DateOnly))
	if load := loadAverage(); load != "" {
		text += ", load " + load + " at the start"
	}
	return text
}

// awaitFiles waits until no file counts as just changed. A server reads one again that changed in the last two
// seconds, and users' files seldom have.
func (s *suite) awaitFiles() {
	select {
	case <-time.After(2500 * time.Millisecond):
	case <-s.ctx.Done():
		check(s.ctx.Err())
	}
}

// intentID names the i-th intent of a workspace.
func intentID(i int) string { return fmt.Sprintf("INT-%03d", i) }

// workspace makes a directory with the given number of intents that own everything, and none of the user's own settings
// in sight.
func (s *suite) workspace(intents int) string {
	s.made++
	dir := filepath.Join(s.place, fmt.Sprintf("workspace-%d", s.made))
	text := "active_intents:\n"
	for i := range intents {
		text += fmt.Sprintf("  - {id: %s, name: Benchmark %[1]s, status: IN_PROGRESS, description: Measure., owned_scope: [\"**\"]}\n", intentID(i))
	}
	writeFile(filepath.Join(dir, ".orchestration", "active_intents.yaml"), text)
	return dir
}

// remove takes workspaces away that nothing measures any more.
func (s *suite) remove(dirs ...string) {
	for _, dir := range dirs {
		check(os.RemoveAll(dir))
	}
}

// environment keeps what is measured away from the user's own files.
func (s *suite) environment(extra ...string) []string {
	home := filepath.Join(s.place, "home")
	// The caches have a place of their own: commands see nothing of where settings are.
	kept := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_STATE_HOME=" + home}
	for _, name := range []string{"PATH", "SystemRoot", "TMPDIR", "TEMP"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return append(kept, extra...)
}

// command makes a command in a directory, away from the user's own files.
func (s *suite) command(dir string, env []string, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.ctx, program, args...)
	cmd.Dir, cmd.Env = dir, s.environment(env...)
	return cmd
}

// started starts the program on a workspace, over stdio, and shakes hands.
func (s *suite) started(dir string, env ...string) *peer {
	p := startPeer(s.command(dir, env, s.program, "serve", "--workspace", dir))
	p.initialize()
	return p
}

// served is started until the end of the group.
func (s *suite) served(dir string, env ...string) *peer {
	p := s.started(dir, env...)
	s.atEnd(p.close)
	return p
}

func writeFile(path, content string) {
	check(os.MkdirAll(filepath.Dir(path), 0o755))
	check(os.WriteFile(path, []byte(content), 0o644))
}

func appendFile(path, content string) {
	file := must(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
	_, err := file.WriteString(content)
	check(errors.Join(err, file.Close()))
}

// content is n bytes of text in lines of 64. Variants differ in four lines at the beginning, as an edit does: what is
// said of a change that replaces every line (its diff) is another work than what is said of most.
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
