package outside_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe/outside"
)

// TestChanges makes one change each to a user's files.
func TestChanges(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name   string
		change func(home string) error
		want   []string
	}{
		{"nothing", func(string) error { return nil }, nil},
		{"written", func(home string) error { return os.WriteFile(home+"/.bashrc", []byte("other, and longer"), 0o644) }, []string{"modified ~/.bashrc"}},
		{"made", func(home string) error { return os.WriteFile(home+"/.bash_profile", nil, 0o644) }, []string{"created ~/.bash_profile"}},
		{"removed", func(home string) error { return os.Remove(home + "/.bashrc") }, []string{"deleted ~/.bashrc"}},
		{"made in a directory", func(home string) error { return os.WriteFile(home+"/.config/autostart/x.desktop", nil, 0o644) }, []string{"created ~/.config/autostart/x.desktop"}},
		{"a directory renamed", func(home string) error { return os.Rename(home+"/.ssh", home+"/ssh") },
			[]string{"deleted ~/.ssh", "deleted ~/.ssh/authorized_keys"}},
		{"a directory made", func(home string) error { return os.MkdirAll(home+"/.config/orchestra-mcp", 0o755) }, []string{"created ~/.config/orchestra-mcp"}},
		{"mode", func(home string) error { return os.Chmod(home+"/.ssh/authorized_keys", 0o666) }, []string{"modified ~/.ssh/authorized_keys (metadata)"}},
		{"mode of a directory", func(home string) error { return os.Chmod(home+"/.ssh", 0o777) }, []string{"modified ~/.ssh (metadata)"}},
		{"times", func(home string) error { return os.Chtimes(home+"/.bashrc", later, later) }, []string{"modified ~/.bashrc"}},
		{"what a link leads to", func(home string) error {
			return os.WriteFile(home+"/dotfiles/zshrc", []byte("other, and longer"), 0o644)
		},
			[]string{"modified ~/.zshrc (where the link leads)"}},
		{"known hosts", func(home string) error { return os.WriteFile(home+"/.ssh/known_hosts.old", nil, 0o644) }, nil},
		{"elsewhere", func(home string) error { return os.WriteFile(home+"/note", nil, 0o644) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			for _, dir := range []string{".ssh", ".config/autostart", "dotfiles"} {
				check.OK(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
			}
			for _, file := range []string{".bashrc", ".ssh/authorized_keys", ".ssh/known_hosts", "dotfiles/zshrc"} {
				check.OK(t, os.WriteFile(filepath.Join(home, file), []byte("mine\n"), 0o644))
			}
			check.OK(t, os.Symlink("dotfiles/zshrc", filepath.Join(home, ".zshrc")))
			places := outside.Places([]string{"HOME=" + home}, "", filepath.Join(home, ".config/orchestra-mcp"), filepath.Join(home, "ws"))
			before := outside.Look(places)
			check.OK(t, c.change(home))
			got := told(outside.Look(places).Changes(before))
			check.That(t, slices.Equal(got, c.want), "%q, want %q", got, c.want)
		})
	}
}

// told is each change as a line.
func told(changes []outside.Change) (lines []string) {
	for _, c := range changes {
		line := fmt.Sprintf("%s %s", c.Op, c.Name)
		if c.Metadata {
			line += " (metadata)"
		}
		lines = append(lines, line)
	}
	return lines
}

// TestNamed makes a change of what a line names, and of what it does not.
func TestNamed(t *testing.T) {
	write := func(name string) func(top string) error {
		return func(top string) error {
			return os.WriteFile(filepath.Join(top, name), []byte("other, and longer"), 0o644)
		}
	}
	for i, c := range []struct {
		line   string // with {TOP} for the directory of everything
		words  []string
		script string // src/run.sh
		change func(top string) error
		want   []string
	}{
		{line: "tee {TOP}/else/a", change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "tee {TOP}/else/a", change: write("else/b")},
		{line: "tee {TOP}/else/new", change: write("else/new"), want: []string{"created {TOP}/else/new"}},
		{line: "cat {TOP}/else/a", change: func(string) error { return nil }},
		{line: "rm {TOP}/else/a", change: func(top string) error { return os.Remove(top + "/else/a") }, want: []string{"deleted {TOP}/else/a"}},
		{line: "cd {TOP}/else && tee b", words: []string{"cd", "b"}, change: write("else/b"), want: []string{"modified {TOP}/else/b"}},
		{line: "tee ../else/a", words: []string{"../else/a"}, change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "cd ..; tee else/a", words: []string{"cd", "..", "else/a"}, change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "tee ~/note", change: write("home/note"), want: []string{"created ~/note"}},
		{line: `tee "$HOME/note"`, change: write("home/note"), want: []string{"created ~/note"}},
		{line: "cd && tee note", words: []string{"cd", "note"}, change: write("home/note"), want: []string{"created ~/note"}},
		{line: "A={TOP}/else make", change: write("else/deep/c"), want: []string{"modified {TOP}/else/deep/c"}},
		{line: "make", words: []string{"-o{TOP}/else/a"}, change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "dd of={TOP}/else/a", change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "PATH=/nowhere:{TOP}/else make", change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "rm {TOP}/else/*", change: func(top string) error { return os.Remove(top + "/else/b") }, want: []string{"deleted {TOP}/else/b"}},
		{line: "cp -r src {TOP}/else/x/y/z", change: func(top string) error { return os.MkdirAll(top+"/else/x/y/z", 0o755) },
			want: []string{"created {TOP}/else/x"}},
		{line: "mv {TOP}/else x", change: func(top string) error { return os.Rename(top+"/else", top+"/ws/else") }, want: []string{"deleted {TOP}/else"}},
		{line: "tee src/link/a", words: []string{"src/link/a"}, change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "tee src/later/a", words: []string{"src/later/a"}, change: func(top string) error {
			if err := os.Symlink("../../else", top+"/ws/src/later"); err != nil {
				return err
			}
			return write("else/a")(top)
		}, want: []string{"modified {TOP}/else/a"}},
		{line: "tee src/dangling", words: []string{"src/dangling"}, change: write("else/made"), want: []string{"created {TOP}/else/made"}},
		{line: "sh src/run.sh", words: []string{"src/run.sh"}, script: "echo x > '{TOP}/else/a'", change: write("else/a"), want: []string{"modified {TOP}/else/a"}},
		{line: "chmod 600 {TOP}/else/a", change: func(top string) error { return os.Chmod(top+"/else/a", 0o600) }, want: []string{"modified {TOP}/else/a (metadata)"}},
		{line: "chmod 700 {TOP}/else", change: func(top string) error { return os.Chmod(top+"/else", 0o700) }, want: []string{"modified {TOP}/else (metadata)"}},
		{line: "tee {TOP}/open/a", change: write("open/a")},
		{line: "tee src/a {TOP}/ws/src/a", words: []string{"src/a"}, change: write("ws/src/a")},
		{line: "ls {TOP}", change: write("home/note")},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			check.OK(t, err)
			fill := func(text string) string { return strings.ReplaceAll(text, "{TOP}", top) }
			for _, name := range []string{"ws/src/a", "else/a", "else/b", "else/deep/c", "home/.hidden", "open/a"} {
				check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
				check.OK(t, os.WriteFile(filepath.Join(top, name), []byte("mine\n"), 0o644))
			}
			check.OK(t, os.WriteFile(top+"/ws/src/run.sh", []byte(fill(c.script)), 0o644))
			check.OK(t, os.Symlink("../../else", top+"/ws/src/link"))
			check.OK(t, os.Symlink("../../else/made", top+"/ws/src/dangling"))
			line := outside.Line{Workspace: top + "/ws", Dir: top + "/ws", Environ: []string{"HOME=" + top + "/home"}, Text: fill(c.line), Open: []string{top + "/open"}}
			for _, word := range c.words {
				line.Words = append(line.Words, fill(word))
			}
			before := outside.Name(line)
			check.OK(t, c.change(top))
			changes, short := before.Changes()
			got := told(changes)
			var want []string
			for _, each := range c.want {
				want = append(want, fill(each))
			}
			check.That(t, slices.Equal(got, want) && len(short) == 0, "%s %q: %q, want %q; short of %q", c.line, c.words, got, want, short)
		})
	}
}

// TestNamedIsTooMuch: of a large directory it is said that not all was looked at, and nothing is told of what was not.
func TestNamedIsTooMuch(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	check.OK(t, os.Mkdir(top+"/ws", 0o755))
	check.OK(t, os.Mkdir(top+"/large", 0o755))
	for i := range 1500 {
		check.OK(t, os.WriteFile(fmt.Sprintf("%s/large/%d", top, i), nil, 0o644))
	}
	before := outside.Name(outside.Line{Workspace: top + "/ws", Dir: top + "/ws", Text: "rm " + top + "/large/7"})
	check.OK(t, os.Remove(top+"/large/7"))
	changes, short := before.Changes()
	check.That(t, len(changes) == 1 && changes[0].Op == change.Deleted && changes[0].Name == top+"/large/7", "%+v", changes)
	if len(short) == 0 {
		before = outside.Name(outside.Line{Workspace: top + "/ws", Dir: top + "/ws", Text: "ls " + top + "/large"})
		if _, short = before.Changes(); len(short) != 1 {
			t.Errorf("short of %q", short)
		}
	}
}

// FuzzName: no line makes it fail, or look at more than it is to.
func FuzzName(f *testing.F) {
	for _, line := range []string{"tee /etc/passwd", "cd ~ && ls ..", "a=$HOME/x:/y -I/z", "\x00/\xff ~", strings.Repeat("/ ", 1000), "~/../../.. ../../.."} {
		f.Add(line, "word")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, line, word string) {
		outside.Name(outside.Line{Workspace: dir, Dir: dir, Environ: []string{"HOME=" + dir}, Text: line, Words: []string{word}, Open: []string{"/"}}).Changes()
	})
}
