package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func TestProtect(t *testing.T) {
	for want, paths := range map[workspace.Protection][]string{
		workspace.ProtectNever: {
			".git", ".git/config", ".git/hooks/pre-commit", ".GIT", ".Git/HOOKS/x", "vendor/lib/.git", "vendor/lib/.git/config",
			".git ", ".git.", ".git. . ", ".git::$INDEX_ALLOCATION/config", ".git:stream", "git~1", "GIT~1/config", "sub\\.git\\config",
			".g\u200cit/config", ".gi\u00adt", "\ufeff.git", ".git\u200b", ".g\ufe0fit", "．ｇｉｔ",
			".orchestration", ".orchestration/active_intents.yaml", ".Orchestration/config.yaml", ".orche\u017ftration/x",
			".orchestration/.intentignore", ".orchestration/state/x", "orches~1", "sub/.orchestration/config.yaml",
			".intentignore", ".IntentIgnore", "sub/.intentignore", "intent~2",
		},
		workspace.ProtectProgramConfig: {
			".mcp.json", ".MCP.json", "sub/.mcp.json", ".cursor/rules", ".cursor", ".Roo/mcp.json", ".vscode/tasks.json", ".VSCODE/settings.json",
			".v\u017fcode/x", ".claude/settings.json", ".envrc", "a/b/.envrc", "vscode~1/tasks.json",
			".codex/hooks.json", ".gemini/settings.json", ".devin/hooks.v1.json", ".windsurf/hooks.json", ".clinerules/hooks/PreToolUse", ".cline/hooks/x",
			".opencode/plugins/orchestra.js", "opencode.json", "OpenCode.jsonc", ".github/mcp.json", ".github/hooks/orchestra.json", ".github/copilot/settings.json", "openco~1.jso",
		},
		workspace.ProtectNone: {
			"a", ".", "src/git", ".gitignore", ".github/workflows/x.yml", ".gitattributes", "x.git", "git", "orchestration/x", "mcp.json",
			".env", ".cursorrules", "intentignore", "a~1", "git~x", "gitt~1", ".gitx/y", "ünïcode/ß.txt",
		},
	} {
		for _, path := range paths {
			got := workspace.Protect(path)
			check.That(t, got == want, "%q: %v, want %v", path, got, want)
		}
	}
}

// TestProtectionThroughLinks: a name of git's on the way protects what it leads to, and a harmless name that
// leads to git's does not help.
func TestProtectionThroughLinks(t *testing.T) {
	w := open(t, map[string]string{"store/config": "", ".git/config": ""})
	must(t, os.Mkdir(filepath.Join(w.Dir(), "lib"), 0o755))
	must(t, os.Symlink("../store", filepath.Join(w.Dir(), "lib", ".git")))
	must(t, os.Symlink(".git", filepath.Join(w.Dir(), "harmless")))
	for path, want := range map[string]workspace.Protection{
		"lib/.git/config": workspace.ProtectNever, "harmless/config": workspace.ProtectNever, "harmless/hooks/new": workspace.ProtectNever,
		"store/config": workspace.ProtectNone, ".mcp.json": workspace.ProtectProgramConfig,
	} {
		got := resolve(t, w, path).Protection()
		check.That(t, got == want, "%s: %v, want %v", path, got, want)
	}
}
