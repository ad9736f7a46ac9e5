package sandbox_test

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// Lines of the shell, some of them with a name, in chapters.
//
//go:embed testdata/tries.txt
var allTries string

func tries(t *testing.T, chapter string) map[string]string {
	t.Helper()
	lines := map[string]string{}
	_, text, _ := strings.Cut(allTries, "# "+chapter+"\n")
	text, _, _ = strings.Cut(text, "# ")
	for row := range strings.Lines(text) {
		row = strings.TrimSuffix(row, "\n")
		name, line, named := strings.Cut(row, "\t")
		if !named {
			line = row
		}
		lines[name] = strings.ReplaceAll(line, `\n`, "\n")
	}
	check.Must(t, len(lines) >= 10, "only %d lines: %s", len(lines), chapter)
	return lines
}

// TestFullHolds tries to change what is not in scope, and looks at all of it
// afterwards. Every line must fail, so that none passes for want of a program.
func TestFullHolds(t *testing.T) {
	for name, line := range tries(t, "outside") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.inScope("src")
			before := surroundings(t, w.path("src"), w.root, w.outside)
			_, code := w.run(line)
			check.That(t, code != 0, "it succeeded")
			check.Equal(t, surroundings(t, w.path("src"), w.root, w.outside), before)
		})
	}
}

// governed are the paths that no command may change although it may write
// everything around them, and what each is before.
func governed(w *workspace) string {
	return surroundings(w.t, "", w.path(".git/config"), w.path(".git/hooks"), w.path(".orchestration"), w.path("docs/out.md"), w.outside)
}

// TestFullHoldsInsideWhatIsWritable is the workspace with the scope **.
func TestFullHoldsInsideWhatIsWritable(t *testing.T) {
	for name, line := range tries(t, "inside") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.everything()
			before := governed(w)
			_, code := w.run(line)
			check.That(t, code != 0, "it succeeded")
			check.Equal(t, governed(w), before)
			for _, f := range w.profile.Frozen {
				if _, err := os.Lstat(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				} else if err == nil && !strings.Contains(before, f.Path) {
					t.Errorf("%s was not there before", f.Path)
				}
			}
		})
	}
}

func TestFullLetsThroughWhatIsWritable(t *testing.T) {
	w := newWorkspace(t)
	w.everything()
	w.profile.Hidden = []string{w.path("secret.env")}
	for _, line := range []string{
		`echo x > src/a.go && mkdir -p new/dir && echo y > new/dir/f && mv new newer && ln newer/dir/f l && chmod 600 l`,
		`echo $$ > docs/in.md && rm docs/in.md && touch -d 2001-01-01 src/a.go`,
		`echo x > /tmp/a && cat "$TMPDIR/a" && echo y > /dev/shm/a && echo z > /dev/null && test -r /dev/stdin`,
		`bash -c 'cat <(echo a)' > /dev/null`,
		`echo out > /dev/stdout; echo err > /dev/stderr; exec 3<> /dev/ptmx`,
		`cat docs/out.md .git/config .orchestration/active_intents.yaml > all && test -s all`,
		`git --version > /dev/null; ps > /dev/null; cat /proc/self/stat > /dev/null; ls .git > /dev/null`,
	} {
		out, code := w.run(line)
		check.That(t, code == 0, "%s: %d %s", line, code, out)
	}
	if content, err := os.ReadFile(w.path("newer/dir/f")); err != nil || string(content) != "y\n" {
		t.Errorf("%q %v", content, err)
	}
	info, err := os.Stat(w.path("l"))
	check.That(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", info, err)
}

// TestFullHides tries to read what is hidden.
func TestFullHides(t *testing.T) {
	for name, line := range tries(t, "hidden") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.everything()
			w.profile.Hidden = []string{w.path("secret.env"), w.path("src/keys")}
			hidden := func() string { return surroundings(t, "", w.path("secret.env"), w.path("src/keys")) }
			before := hidden()
			out, code := w.run(line)
			check.That(t, code != 0 && (!strings.Contains(out, "secret.env\n") || strings.Contains(out, ":")), "%d %s", code, out)
			check.Equal(t, hidden(), before)
		})
	}
}

// TestFullGivesNothingOfTheHostsTemp: files of other programs there are not seen, and cannot be written.
func TestFullGivesNothingOfTheHostsTemp(t *testing.T) {
	theirs := check.Value(os.CreateTemp("/tmp", "orchestra-test-"))(t)
	theirs.Close()
	defer os.Remove(theirs.Name())
	w := newWorkspace(t)
	w.inScope("src")
	out, code := w.run(`ls ` + theirs.Name())
	check.That(t, code != 0, "%v", out)
	w.run(`echo x > ` + theirs.Name())
	info, err := os.Stat(theirs.Name())
	check.That(t, err == nil && info.Size() == 0, "%v %v", info, err)
}
