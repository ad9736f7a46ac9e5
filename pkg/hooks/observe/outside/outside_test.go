package outside_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
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
