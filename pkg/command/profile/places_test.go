package profile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func TestPlaces(t *testing.T) {
	for _, test := range []struct {
		name, dir      string
		tree           []string
		places, missed string
	}{
		{"node", ".", []string{"package.json", "node_modules/x/y", ".gitignore:dist/\n.next"}, "coverage dist .next node_modules/.cache", "build"},
		{"node without modules", ".", []string{"package.json"}, "coverage", "node_modules/.cache dist"},
		{"go", ".", []string{"go.mod", ".gitignore:/bin\n"}, "bin", "dist"},
		{"rust", ".", []string{"Cargo.toml"}, "target", ""},
		{"python", ".", []string{"pyproject.toml", ".ruff_cache/x"}, ".pytest_cache .ruff_cache", "htmlcov build"},
		{"below", "web/app", []string{"Cargo.toml", "web/app/package.json", "web/app/src/x"}, "target web/app/coverage", ""},
		{"nothing", ".", []string{"main.c"}, "", ""},
		{"a link in the place", ".", []string{"Cargo.toml", "src/", "target -> src"}, "", "target"},
		{"a file in the place", ".", []string{"Cargo.toml", "target"}, "", "target"},
	} {
		t.Run(test.name, func(t *testing.T) {
			names := []string{"a"}
			for _, name := range test.tree {
				name, _, _ = strings.Cut(name, ":")
				names = append(names, name)
			}
			root := tree(t, names...)
			for _, name := range test.tree {
				if name, text, ok := strings.Cut(name, ":"); ok {
					check.OK(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
				}
			}
			before := list(t, root)
			for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Full} {
				m := profile.New(root, home(t))
				r := check.Value(m.Make(profile.Request{Level: level, Scope: []string{"a"}, Dir: test.dir}))(t)
				check.Equal(t, sorted(strings.Join(r.Places, " ")), sorted(test.places), "%v", level)
				for _, place := range r.Places {
					check.That(t, slices.Contains(r.Sandbox.Writable, filepath.Join(root, place)), "%s: %s is not writable", level, place)
				}
				check.OK(t, r.Close())
			}
			check.Equal(t, list(t, root), before)
		})
	}
}

// declarations are files that make a directory a project, each with a place that its tools write.
func declarations() map[string]string {
	return map[string]string{
		"package.json": "coverage", "pyproject.toml": ".pytest_cache", "setup.py": ".pytest_cache", "requirements.txt": ".pytest_cache", "tox.ini": ".pytest_cache",
		"Cargo.toml": "target", "pom.xml": "target", "build.sbt": "target", "build.gradle": "build", "settings.gradle.kts": ".gradle", "mix.exs": "_build",
		"dune-project": "_build", "Package.swift": ".build", "build.zig": "zig-out", "Gemfile": "coverage", "composer.json": "coverage", "pubspec.yaml": ".dart_tool",
	}
}

// TestPlacesThatAnAgentDeclares: a project's file that an agent can have made opens nothing out of its scope.
func TestPlacesThatAnAgentDeclares(t *testing.T) {
	made, through := 0, 0
	for file, place := range declarations() {
		for _, dir := range []string{".", "docs/deep"} {
			at := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
			root := tree(t, at(file), at(place)+"/kept", "src/a")
			m := profile.New(root, home(t))
			opens := func(req profile.Request) bool {
				req.Level, req.Dir = sandbox.Full, dir
				r := check.Value(m.Make(req))(t)
				defer r.Close()
				return slices.Contains(r.Places, at(place))
			}
			for _, scope := range []string{"**/" + file, "**/*" + file[1:], at("{" + file + ",x}"), at("?" + file[1:])} {
				made++
				if opens(profile.Request{Scope: []string{"src/**", scope}}) {
					through++
					t.Errorf("%s in scope by %s opens %s", at(file), scope, at(place))
				}
			}
			if !opens(profile.Request{Scope: []string{"src/**"}}) || !opens(profile.Request{Scope: []string{"src/**", at(file)}}) {
				t.Errorf("%s of the operator does not open %s", at(file), at(place))
			}
			tracked := func(places []string) []string { return places }
			if made++; opens(profile.Request{Scope: []string{"src/**"}, Tracked: tracked}) {
				through++
				t.Errorf("%s is open, of which git tracks files", at(place))
			}
		}
	}
	t.Logf("%d places tried, %d opened", made, through)
}

func list(t *testing.T, root string) string {
	t.Helper()
	var names []string
	check.OK(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		names = append(names, p)
		return err
	}))
	return strings.Join(names, " ")
}

// TestPlacesOfTwoCommands: what one command made for itself stays for another.
func TestPlacesOfTwoCommands(t *testing.T) {
	root := tree(t, "Cargo.toml")
	m := profile.New(root, home(t))
	req := profile.Request{Level: sandbox.Landlock, Scope: []string{"src/**"}, Dir: "."}
	first := check.Value(m.Make(req))(t)
	second := check.Value(m.Make(req))(t)
	target := filepath.Join(root, "target")
	check.OK(t, first.Close())
	if _, err := os.Stat(target); err != nil {
		t.Fatal(err)
	}
	check.OK(t, os.WriteFile(filepath.Join(target, "x"), nil, 0o644))
	check.OK(t, second.Close())
	if _, err := os.Stat(target); err != nil {
		t.Error("what was used is gone")
	}
}

// TestGitignoreInScope: who may change .gitignore cannot open a directory by it.
func TestGitignoreInScope(t *testing.T) {
	root := tree(t, "go.mod", "bin/run.sh")
	check.OK(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte("bin\n"), 0o644))
	got, _ := reached(t, root, profile.Request{Level: sandbox.Full, Scope: []string{".gitignore"}})
	check.Equal(t, got, ".gitignore")
}

func TestOperatorPlaces(t *testing.T) {
	root := tree(t, "gen/a", "src/b", ".git/config", "l -> /", "locked/x")
	outside := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	got, r := reached(t, root, profile.Request{
		Level: sandbox.Full, Scope: []string{"src/**"},
		Rules:    profile.Rules{Ignored: func(p string) bool { return p == "locked/" }},
		Writable: []string{"gen/", outside, ".git/config", ".", "no/such", "locked"},
	})
	if got != "gen src" || !slices.Contains(r.Sandbox.Writable, outside) || len(r.Warnings) != 3 {
		t.Errorf("%s, %q, %q", got, r.Sandbox.Writable, r.Warnings)
	}
}

// TestGuardedNamesAreProtected: the list here and the law of file tools agree.
func TestGuardedNamesAreProtected(t *testing.T) {
	for _, name := range strings.Fields(absent) {
		if name = strings.Trim(name, "-/"); workspace.Protect(name) == workspace.ProtectNone {
			t.Errorf("%s", name)
		}
	}
}

func TestEnvironment(t *testing.T) {
	root, home := tree(t, "go.mod"), t.TempDir()
	check.OK(t, os.MkdirAll(filepath.Join(home, "go/pkg/mod/cache/download"), 0o755))
	// As an installation of Go says what it uses where nobody has said otherwise.
	check.OK(t, os.MkdirAll(filepath.Join(home, "sdk/bin"), 0o755))
	check.OK(t, os.WriteFile(filepath.Join(home, "sdk/bin/go"), nil, 0o755))
	check.OK(t, os.WriteFile(filepath.Join(home, "sdk/go.env"), []byte("# comment\nGOPROXY=https://proxy.example,direct\n"), 0o644))
	path := filepath.Join(home, "sdk/bin") + ":/bin"
	environ := []string{"HOME=" + home, "GOCACHE=/users/own", "MAVEN_ARGS=-q", "PATH=" + path}
	r := check.Value(profile.New(root, environ).Make(profile.Request{Level: sandbox.Landlock, Dir: "."}))(t)
	env := r.Environment(environ)
	cache := filepath.Join(home, ".cache", "orchestra-mcp", "build")
	for name, want := range map[string]string{"GOCACHE": cache, "npm_config_cache": cache, "PIP_CACHE_DIR": cache, "CARGO_HOME": cache, "PNPM_HOME": cache, "POETRY_CACHE_DIR": cache, "WORKON_HOME": cache, "COMPOSER_CACHE_DIR": cache,
		"GOMODCACHE": cache, "GOPROXY": "file://" + home + "/go/pkg/mod/cache/download,https://proxy.example,direct", "PATH": path, "MAVEN_ARGS": "-q -D", "TMPDIR": r.Sandbox.Temp} {
		var values []string
		for _, entry := range env {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				values = append(values, value)
			}
		}
		check.That(t, len(values) == 1 && strings.HasPrefix(values[0], want), "%s: %q, want %s", name, values, want)
	}
	check.OK(t, os.MkdirAll(filepath.Join(r.Sandbox.Temp, "a/b"), 0o755))
	check.OK(t, os.Chmod(filepath.Join(r.Sandbox.Temp, "a"), 0))
	check.OK(t, r.Close())
	_, err := os.Stat(r.Sandbox.Temp)
	check.That(t, os.IsNotExist(err), "the temporary directory is still there: %v", err)
}

// TestNoLevel: what holds nothing has a temporary directory all the same.
func TestNoLevel(t *testing.T) {
	r := check.Value(profile.New(tree(t), nil).Make(profile.Request{Level: sandbox.None, Dir: "."}))(t)
	env := r.Environment(nil)
	check.That(t, r.Sandbox == nil && len(env) == 3, "%v, %q", r.Sandbox, env)
	check.OK(t, r.Close())
}
