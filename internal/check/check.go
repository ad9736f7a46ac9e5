// Package check is what the tests of all packages have in common: errors that end a test, files that it makes, programs
// that it needs, and the form in which it runs.
//
// It imports nothing of this repository.
package check

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// LongEnv is the one switch of the tests: set to anything, each test runs in its long form, for hours in all. Without it
// a test takes a part of its tables and rounds that still finds what breaks, and under the race detector a smaller one.
const LongEnv = "ORCHESTRA_LONG"

// Long reports whether tests run in their long form.
func Long() bool { return os.Getenv(LongEnv) != "" }

// Short reports whether tests run in their smallest form, which is that under the race detector: what is computed was
// judged without it, and each step costs ten times as much.
func Short() bool { return Racing && !Long() }

// Rounds is how many rounds a test makes: usually, and in the long form.
func Rounds(usual, long int) int {
	if Long() {
		return long
	}
	return usual
}

// Waiting is for a TestMain whose tests mostly wait for other processes: more of them run at once than there are
// processors. A -parallel that was given is parsed later, and stands. Their heaps, and those of the processes that they
// start, are small: collecting them at each doubling costs a tenth of the time.
func Waiting() {
	set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(seldom)
		_ = os.Setenv("GOGC", strconv.Itoa(seldom))
	}
}

// seldom is how much a heap grows before it is collected, in percent.
const seldom = 400

// OneByOne is for a TestMain: under the race detector it leaves out the tests whose names go on, after Test, with one of
// these. They make one call after the other, and were judged without it. A -skip that was given stands.
func OneByOne(names string) {
	if Short() {
		set("test.skip", "^Test("+strings.Join(strings.Fields(names), "|")+")")
	}
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// Smaller is a number of a table's rows: usually, and in the smallest form.
func Smaller(usual, smallest int) int {
	if Short() {
		return smallest
	}
	return usual
}

// OK ends the test where err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value is for a call that gives a value and an error, which ends the test: content := check.Value(os.ReadFile(name))(t).
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// NoError is OK that lets the test go on.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// That says in the words of a format what is wrong where something is not so, and lets the test go on.
func That(t testing.TB, so bool, format string, args ...any) {
	t.Helper()
	if !so {
		t.Errorf(format, args...)
	}
}

// Must is That which ends the test.
func Must(t testing.TB, so bool, format string, args ...any) {
	t.Helper()
	if !so {
		t.Fatalf(format, args...)
	}
}

// Equal says so where a value is not the wanted one: in the words of a format and what goes into it, if any are given.
func Equal[T comparable](t testing.TB, got, want T, label ...any) {
	t.Helper()
	if got == want {
		return
	}
	t.Errorf("%sgot %#v, want %#v", words(label), any(got), any(want))
}

// Is says so where err is none of the wanted kind, as errors.Is tells it.
func Is(t testing.TB, err, want error, label ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%sgot %v, want %v", words(label), err, want)
	}
}

// Fails is Is for a call that gives a value too: check.Fails(os.Open(name))(t, fs.ErrNotExist).
func Fails[T any](_ T, err error) func(t testing.TB, want error, label ...any) {
	return func(t testing.TB, want error, label ...any) {
		t.Helper()
		Is(t, err, want, label...)
	}
}

func words(label []any) string {
	if len(label) == 0 {
		return ""
	}
	return fmt.Sprintf(label[0].(string), label[1:]...) + ": "
}

// Needs skips the test where a program is not installed. Where CI is set it fails instead.
func Needs(t testing.TB, program string) {
	t.Helper()
	_, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// Write makes a file below dir, with the directories on its way.
func Write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	OK(t, os.WriteFile(path, []byte(content), 0o644))
}

// Git runs git in a directory and gives what it printed.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return run(t, dir, "git", args...)
}

// Repository makes an empty one, as git init --template= does, without a process.
func Repository(t testing.TB, dir string) {
	t.Helper()
	for _, name := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		OK(t, os.MkdirAll(filepath.Join(dir, ".git", name), 0o755))
	}
	Write(t, dir, ".git/HEAD", "ref: refs/heads/master\n")
	Write(t, dir, ".git/config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n")
}

// GitAt runs git as one person at a time, whatever the settings of who runs the test say, and gives what it printed without
// the last line feed. The home is the test's to set.
func GitAt(dir string, at time.Time, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main",
		"-c", "commit.gpgsign=false", "-c", "maintenance.auto=false", "-c", "core.autocrlf=false", "-c", "core.editor=true"}, args...)...)
	cmd.Dir = dir
	date := fmt.Sprintf("%d +0000", at.Unix())
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_NOSYSTEM=1")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %v: %w\n%s%s", args, err, out, &errs)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// Shell runs a line as a person would.
func Shell(t testing.TB, dir, line string) string {
	t.Helper()
	return run(t, dir, "sh", "-ec", line)
}

func run(t testing.TB, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}
