package clientsetup_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

func TestLinksOutOfTheWorkspaceAreNotFollowed(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(p.home, "settings.json")
	check.OK(t, os.WriteFile(outside, []byte("{}"), 0o600))
	check.OK(t, os.Symlink(outside, filepath.Join(p.workspace, ".mcp.json")))
	_, err := clientsetup.New("claude-code", p.opts)
	check.That(t, errors.Is(err, clientsetup.ErrOutside), "file link: %v", err)
	q := newPlace(t)
	check.OK(t, os.Symlink(q.home, filepath.Join(q.workspace, ".cursor")))
	_, err = clientsetup.New("cursor", q.opts)
	check.That(t, errors.Is(err, clientsetup.ErrOutside), "directory link: %v", err)
}

func TestLinkedHomeConfigurationStaysALink(t *testing.T) {
	p := newPlace(t)
	dotfiles := filepath.Join(p.home, "dotfiles.json")
	check.OK(t, os.WriteFile(dotfiles, []byte(`{"mcpServers": {"fs": {"command": "fs"}}}`), 0o600))
	config := filepath.Join(p.home, ".config", "Claude", "claude_desktop_config.json")
	check.OK(t, os.MkdirAll(filepath.Dir(config), 0o755))
	check.OK(t, os.Symlink(dotfiles, config))
	plan := p.apply("claude-desktop")
	info, err := os.Lstat(config)
	check.That(t, err == nil && info.Mode()&os.ModeSymlink != 0, "the link was replaced: %v %v", info, err)
	text, err := os.ReadFile(dotfiles)
	check.That(t, err == nil && strings.Contains(string(text), `"orchestra"`) && strings.Contains(string(text), `"fs"`), "%s %v", text, err)
	check.That(t, slices.ContainsFunc(plan.Open, func(s string) bool { return strings.Contains(s, `"fs"`) }),
		"the other server is not named among what stays open: %q", plan.Open)
}

func TestAFileThatChangesMeanwhileIsNotOverwritten(t *testing.T) {
	p := newPlace(t)
	plan := p.plan("claude-code")
	p.write(".mcp.json", `{"mine": 1}`)
	err := plan.Apply(p.workspace)
	check.That(t, errors.Is(err, clientsetup.ErrChanged), "error %v", err)
	got := p.read(".mcp.json")
	check.That(t, got == `{"mine": 1}`, "now %q", got)
}
