package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/install"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"package.json": `{"workspaces": ["packages/*"]}`, "packages/a/package.json": "{}", "nested/package.json": `{"workspaces": {"packages": ["apps/*"]}}`, "nested/apps/a/package.json": "{}", "alone/pnpm-lock.yaml": "", "alone/package.json": "{}", "alone/deep/x": "",
		"go/go.mod": "module x\n", "go/go.sum": "", "go/sub/x.go": "", "py/requirements.txt": "", "py/venv/pyvenv.cfg": "", "py/docs-venv/notes.md": "",
		"rust/Cargo.toml": "[workspace]\nmembers = [\"m\"]\n", "rust/m/Cargo.toml": "[package]\n", "uv/pyproject.toml": "", "empty/x": "", "bun/package.json": "{}", "bun/bun.lockb": "",
	} {
		at := filepath.Join(root, name)
		check.OK(t, os.MkdirAll(filepath.Dir(at), 0o755))
		check.OK(t, os.WriteFile(at, []byte(content), 0o644))
	}
	for _, c := range []struct{ dir, line, want string }{
		{".", "npm install", "[npm install] in [.]: [node_modules], [package-lock.json]"},
		{".", "npm ci && npm test", "[npm ci] in [.]: [node_modules], []"},
		{".", "npm i -D left-pad", "[npm i] in [.]: [node_modules], [package.json package-lock.json]"},
		{".", "npm --prefix alone install", "[npm install] in [alone]: [alone/node_modules], [alone/package-lock.json]"},
		{".", "cd packages/a && npm install x", "[npm install] in [packages/a .]: [packages/a/node_modules node_modules], [packages/a/package.json package-lock.json]"},
		{"nested/apps/a", "npm add x", "[npm add] in [nested/apps/a nested]: [nested/apps/a/node_modules nested/node_modules], [nested/apps/a/package.json nested/package-lock.json]"},
		{"alone/deep", "CI=1 pnpm add x", "[pnpm add] in [alone]: [alone/node_modules alone/.pnpm-store], [alone/package.json alone/pnpm-lock.yaml]"},
		{"alone", "yarn", "[yarn] in [alone]: [alone/node_modules alone/.yarn alone/.pnp.cjs alone/.pnp.loader.mjs], [alone/yarn.lock]"},
		{"bun", "bun install", "[bun install] in [bun]: [bun/node_modules], [bun/bun.lockb]"},
		{"go/sub", "go get example.com/x@latest", "[go get] in [go]: [go/vendor], [go/go.mod go/go.sum]"},
		{".", "(cd go; go mod vendor)", "[go mod vendor] in [go]: [go/vendor], [go/go.sum]"},
		{".", "go -C go mod tidy", "[go mod tidy] in [go]: [go/vendor], [go/go.mod go/go.sum]"},
		{"py", "pip3.12 install -r requirements.txt", "[pip install] in [py]: [py/venv], []"},
		{"py", "python3 -m venv .venv && .venv/bin/pip install x", "[venv pip install] in [py]: [py/venv py/.venv], []"},
		{"py", "source venv/bin/activate; python -m pip install -U pip", "[pip install] in [py]: [py/venv], []"},
		{"py", "virtualenv docs-venv ../go/env notes", "[venv] in [py]: [py/venv go/env], []"}, // one has somebody's notes in it, one is not called so
		{"uv", "uv add x", "[uv add] in [uv]: [uv/.venv], [uv/pyproject.toml uv/uv.lock]"},
		{"uv", "uv venv", "[uv venv] in [uv]: [uv/.venv], []"},
		{"rust/m", "cargo add x", "[cargo add] in [rust/m rust]: [rust/m/vendor rust/vendor], [rust/m/Cargo.toml rust/Cargo.lock]"},
		{"empty", "composer require x/y && bundle", "[composer require bundle] in [empty]: [empty/vendor empty/vendor/bundle empty/.bundle], [empty/composer.json empty/composer.lock empty/Gemfile.lock]"},
		{"empty", "sudo npm install", "[npm install] in [.]: [node_modules], [package-lock.json]"},
		{".", "npm install -g x; npm test; npm run install; yarn test; go build ./...; pip install --user x; cargo build; npm --prefix /elsewhere/x ls; echo npm install; make deps", ""},
	} {
		line := shell.Read(c.line, shell.Bash)
		got := ""
		if found := install.Find(root, c.dir, &line); found != nil {
			got = fmt.Sprintf("%v in %v: %v, %v", found.Commands, found.Dirs, found.Packages, found.Files)
		}
		check.Equal(t, got, c.want, "%v %v", c.dir, c.line)
	}
	check.That(t, install.Find(root, ".", nil) == nil, "a line that nobody read installs something")
}
