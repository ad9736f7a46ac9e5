package profile_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// tree makes a workspace: names that end in a slash are directories, those with an arrow links.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, name := range names {
		name, target, link := strings.Cut(name, "->")
		target, p := strings.TrimSpace(target), filepath.Join(root, strings.TrimSpace(name))
		check.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
		switch {
		case link:
			check.OK(t, os.Symlink(target, p))
		case strings.HasSuffix(name, "/"):
			check.OK(t, os.MkdirAll(p, 0o755))
		default:
			check.OK(t, os.WriteFile(p, []byte(name), 0o644))
		}
	}
	return root
}

// home is an environment with a home directory of its own.
func home(t *testing.T) []string {
	t.Helper()
	return []string{"HOME=" + t.TempDir()}
}

// made is the profile of a request for a whole workspace.
func made(t *testing.T, root string, req profile.Request) *profile.Profile {
	t.Helper()
	req.Dir = cmp.Or(req.Dir, ".")
	r := check.Value(profile.New(root, home(t)).Make(req))(t)
	t.Cleanup(func() { check.OK(t, r.Close()) })
	return r
}

// reached is a profile as text: workspace-relative names, frozen ones with a minus, hidden ones with a star.
func reached(t *testing.T, root string, req profile.Request) (string, *profile.Profile) {
	t.Helper()
	r := made(t, root, req)
	var all []string
	for _, p := range r.Sandbox.Writable {
		if p == root {
			all = append(all, ".")
		} else if inside, is := strings.CutPrefix(p, root+"/"); is {
			all = append(all, inside)
		}
	}
	for _, f := range r.Sandbox.Frozen {
		all = append(all, "-"+strings.TrimPrefix(f.Path, root+"/")+map[bool]string{true: "/"}[f.Directory])
	}
	for _, p := range slices.Concat(r.Sandbox.Hidden, r.Sandbox.Emptied) {
		all = append(all, "*"+strings.TrimPrefix(p, root+"/"))
	}
	return sorted(strings.Join(all, " ")), r
}

const absent = "-.claude/ -.cursor/ -.envrc -.git/ -.intentignore -.mcp.json -.orchestration/ -.roo/ -.roomodes -.vscode/"

func TestScopes(t *testing.T) {
	for _, test := range []struct {
		name           string
		tree           []string
		scope          []string
		full, landlock string
	}{
		{"a directory", []string{"src/a", "src/b/c", "docs/a", "top"}, []string{"src/**"}, "src", "src"},
		{"a directory that is not there", []string{"a", "b/c"}, []string{"src/**"}, "-a -b/ . " + absent, ""},
		{"one deep", []string{"a/b/x", "a/c/y", "z"}, []string{"a/b/new/**"}, "-a/b/x a/b", ""},
		{"an existing file", []string{"src/a", "src/b"}, []string{"src/a"}, "src/a", "src/a"},
		{"a file that is not there", []string{"src/b/c", "src/d"}, []string{"src/a"}, "-src/b/ -src/d src", ""},
		{"a name glob", []string{"src/a.ts", "src/b.css", "src/sub/c.ts", "top"}, []string{"src/*.ts"}, "-src/b.css -src/sub/ src", "src/a.ts"},
		{"a name glob that fits all", []string{"src/a.ts", "src/b.ts", "top"}, []string{"src/*.ts"}, "src", "src"},
		{"everything", []string{"a", "b/c"}, []string{"**"}, ". " + absent, "a b"},
		{"no scope", []string{"a", "b/c", "d/.vscode/x", "d/e/f"}, nil, "-d/.vscode/ . " + absent, "a b d/e"},
		{"a nested repository", []string{"src/a", "src/mod/.git/config", "src/mod/f"}, []string{"src/**"}, "-src/mod/.git/ src", "src/a src/mod/f"},
		{"program configuration without a dot", []string{"src/a", "src/opencode.json"}, []string{"src/**"}, "-src/opencode.json src", "src/a"},
		{"a glob at any depth", []string{"a.ts", "b.go", "x/c.ts", "y/d.go", "z/e/f.ts"}, []string{"**/*.ts"},
			"-b.go -y/d.go . " + absent, "a.ts x z"},
		{"a writable place in a frozen one", []string{"lib/x/gen/a", "lib/x/b", "main.ts"}, []string{"*.ts", "lib/x/gen/**"},
			"-lib/ . " + absent + " lib/x/gen", "lib/x/gen main.ts"},
		{"a wildcard in the middle", []string{"p/a/src/x", "p/a/y", "p/b/z"}, []string{"p/*/src/**"}, "-p/a/ -p/b/z p p/a/src", "p/a/src"},
		{"a link that must not change", []string{"src/a.ts", "src/l -> ../top", "top"}, []string{"src/*.ts"}, "src/a.ts", "src/a.ts"},
		{"a link in scope", []string{"src/a", "src/l -> ../top", "top"}, []string{"src/**"}, "src", "src"},
		{"a scope that is a link", []string{"src -> real", "real/a"}, []string{"src/**"}, "", ""},
		{"a link in the place of program configuration", []string{"a", ".envrc -> a"}, []string{"**"}, "a", "a"},
		{"dependencies are not looked into", []string{"node_modules/p/.vscode/x", "a/b"}, []string{"**"}, ". " + absent, "a node_modules"},
		{"empty", nil, []string{"**"}, ". " + absent, ""},
		{"too many masks", strings.Fields("src/a.ts gen/b.ts " + many("src/x", 1100)), []string{"src/*.ts", "gen/*.ts"}, "gen src/a.ts", "gen src/a.ts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.tree...)
			for level, want := range map[sandbox.Level]string{sandbox.Full: test.full, sandbox.Seatbelt: test.full, sandbox.Landlock: test.landlock} {
				got, _ := reached(t, root, profile.Request{Level: level, Scope: test.scope})
				check.Equal(t, got, sorted(want), "%v", level)
			}
		})
	}
}

// What installing dependencies opens, and what the gate has let through by name.
func TestOpened(t *testing.T) {
	const out = "manifest README.md docs/a src/a"
	for _, test := range []struct {
		name           string
		tree           string
		req            profile.Request
		full, landlock string
		packages       string
	}{
		{"in scope", out, profile.Request{Scope: []string{"src/**", "manifest", "lock"}, Open: []string{"."}, Packages: []string{"node_modules"}},
			". -README.md -docs/ " + absent, "src manifest node_modules", "node_modules"},
		{"nothing of it in scope", out, profile.Request{Scope: []string{"docs/**"}, Named: []string{"manifest", "lock.json"}, Open: []string{"."}, Packages: []string{"node_modules"}},
			". -README.md -src/ " + absent, "docs manifest node_modules", "node_modules"},
		{"in a directory out of scope", "a/b/manifest a/b/x a/c src/a", profile.Request{Scope: []string{"src/**"}, Open: []string{"a/b"}, Packages: []string{"a/b/node_modules"}},
			"a/b -a/b/manifest -a/b/x src", "a/b/node_modules src", "a/b/node_modules"},
		{"packages that are there", "manifest node_modules/x/.git/config node_modules/x/.vscode/s src/a", profile.Request{Scope: []string{"src/**"}, Open: []string{"."}, Packages: []string{"node_modules"}},
			". -manifest " + absent, "node_modules src", "node_modules"},
		{"a link in their place", "manifest node_modules->src src/a", profile.Request{Scope: []string{"src/**"}, Packages: []string{"node_modules"}}, "src", "src", ""},
		{"too many masks in what is opened", "src/a.ts src/b.css " + many("f", 1200), profile.Request{Scope: []string{"src/*.ts"}, Open: []string{"."}, Packages: []string{"node_modules"}},
			"-src/b.css src node_modules", "src/a.ts node_modules", "node_modules"},
		{"program configuration by name", ".vscode/s src/a", profile.Request{Scope: []string{"src/**"}, Named: []string{".vscode/s", ".mcp.json"}}, ". .vscode/s -.claude/ -.cursor/ -.envrc -.git/ -.intentignore -.orchestration/ -.roo/ -.roomodes -.vscode/", ".vscode/s src", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for level, want := range map[sandbox.Level]string{sandbox.Full: test.full, sandbox.Seatbelt: test.full, sandbox.Landlock: test.landlock} {
				root := tree(t, strings.Fields(test.tree)...)
				test.req.Level = level
				got, r := reached(t, root, test.req)
				if got != sorted(want) || strings.Join(r.Packages, " ") != test.packages {
					t.Errorf("%s: %s, packages %q\nwant %s", level, got, r.Packages, sorted(want))
				}
			}
		})
	}
}

func many(name string, n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint(name, i))
	}
	return strings.Join(names, " ")
}

func sorted(names string) string {
	all := strings.Fields(names)
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestRules(t *testing.T) {
	root := tree(t, "src/a", "src/keep/x", "src/.env", "docs/x", "docs/.env", "top", ".orchestration/.intentignore", ".orchestration/state/", ".orchestration/cache/")
	rules := profile.Rules{
		Ignored:  func(p string) bool { return p == "src/keep/" || strings.HasPrefix(p, "src/keep/") },
		Secret:   func(p string) bool { return strings.HasSuffix(p, ".env") },
		Unscoped: func(p string) bool { return p == "docs/x" },
	}
	for level, want := range map[sandbox.Level]string{
		sandbox.Full:     "-src/.env -src/keep/ src docs/x *src/.env *docs/.env *.orchestration/state *.orchestration/cache *" + "HIDDEN",
		sandbox.Landlock: "src/a docs/x *src/.env *docs/.env *.orchestration/state *.orchestration/cache *" + "HIDDEN",
	} {
		hidden := t.TempDir()
		got, _ := reached(t, root, profile.Request{Level: level, Scope: []string{"src/**"}, Rules: rules, Hidden: []string{hidden, "/no/such/place"}})
		if want = sorted(strings.Replace(want, "HIDDEN", hidden, 1)); got != want {
			t.Errorf("%s: %s\nwant %s", level, got, want)
		}
	}
}

// TestHiddenByAllNames: a hard link of a secret is one; what cannot be hidden is said.
func TestHiddenByAllNames(t *testing.T) {
	root := tree(t, "src/a", "docs/x", "private/key", "deep/er/.env")
	check.OK(t, os.Link(filepath.Join(root, "private/key"), filepath.Join(root, "docs/other")))
	check.OK(t, os.Link(filepath.Join(root, "private/key"), filepath.Join(root, "src/mine")))
	rules := profile.Rules{Secret: func(p string) bool { return strings.HasPrefix(p, "private/") || strings.HasSuffix(p, ".env") }}
	names := []profile.Name{
		{Dir: "private", Name: "key", Dev: 1, Inode: 7, Links: 3}, {Dir: "docs", Name: "other", Dev: 1, Inode: 7, Links: 3},
		{Dir: "src", Name: "mine", Dev: 1, Inode: 7, Links: 3}, {Dir: "docs", Name: "x", Dev: 1, Inode: 8, Links: 2}, {Dir: "docs", Name: "y", Dev: 2, Inode: 7, Links: 2},
	}
	for level, says := range map[sandbox.Level]string{sandbox.Full: "lets the command read it for a moment", sandbox.Landlock: "the command can read this"} {
		_, r := reached(t, root, profile.Request{Level: level, Scope: []string{"src/**"}, Rules: rules})
		r.HideNames(names)
		for name, want := range map[string]bool{"private/key": true, "docs/other": true, "src/mine": true, "deep/er/.env": true, "docs/x": false, "docs/y": false, "src/a": false} {
			check.Equal(t, r.Hides(filepath.Join(root, name)), want, "%v %v", level, name)
		}
		if runtime.GOOS == "linux" && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], says) || !strings.Contains(r.Warnings[0], "src/mine")) {
			t.Errorf("%s: %q", level, r.Warnings)
		}
	}
}

func TestGit(t *testing.T) {
	guards := "-.git/hooks/ -.git/config -.git/config.worktree -.git/commondir -.git/modules/ -.git/worktrees/ -.git/orchestra/ -.git/refs/orchestra/"
	repository := []string{"src/a", ".git/HEAD", ".git/config", ".git/info/exclude", ".git/objects/info/", ".git/refs/heads/"}
	for _, test := range []struct {
		name           string
		tree           []string
		git            profile.Git
		full, landlock string
		warned         bool
	}{
		{"closed", repository, profile.GitClosed, "src", "src", false},
		{"open", repository, profile.GitOpen, "src .git " + guards + " -.git/info/attributes -.git/objects/info/alternates", "src", true},
		{"trusted", repository, profile.GitTrusted, "src .git " + guards + " -.git/info/attributes -.git/objects/info/alternates", "src .git", false},
		{"directories are missing", []string{"src/a", ".git/objects/", ".git/refs/"}, profile.GitOpen,
			"src .git " + guards + " -.git/info/ -.git/objects/info/", "src", true},
		{"a pointer", []string{"src/a", ".git"}, profile.GitTrusted, "src", "src", true},
		{"a link", []string{"src/a", ".git -> elsewhere"}, profile.GitTrusted, "src", "src", true},
		{"hooks are a link", []string{"src/a", ".git/HEAD", ".git/hooks -> ../src"}, profile.GitTrusted, "src", "src", true},
		{"none", []string{"src/a"}, profile.GitTrusted, "src", "src", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.tree...)
			got, _ := reached(t, root, profile.Request{Level: sandbox.Full, Scope: []string{"src/**"}, Git: test.git})
			alike, _ := reached(t, root, profile.Request{Level: sandbox.Seatbelt, Scope: []string{"src/**"}, Git: test.git})
			check.Equal(t, alike, got, "at the level seatbelt")
			check.Equal(t, got, sorted(test.full))
			got, r := reached(t, root, profile.Request{Level: sandbox.Landlock, Scope: []string{"src/**"}, Git: test.git})
			check.Equal(t, got, sorted(test.landlock))
			if warned := len(r.Warnings) > 0; warned != test.warned {
				t.Errorf("warnings: %q", r.Warnings)
			}
		})
	}
}

// TestTouched: what a rehearsal touched is open, and nothing beside it, be it a link.
func TestTouched(t *testing.T) {
	root := tree(t, "src/a", "docs/one", "docs/two", "docs/link -> two", "docs/deep/x", "other/y", "top")
	got, r := reached(t, root, profile.Request{Level: sandbox.Full, Scope: []string{"src/**"}, Touched: &profile.Touched{
		Files: map[string]bool{"docs/one": true, "docs/new": true, "docs/link": true}, Dirs: map[string]bool{"docs": true},
	}})
	check.That(t, got == "-docs/deep/ -docs/two docs src" && !r.Crowded, "%s, crowded: %v", got, r.Crowded)
}

// TestGitUnderEverything: the repository is open in a workspace that is.
func TestGitUnderEverything(t *testing.T) {
	root := tree(t, "a", ".git/HEAD", ".git/info/x", ".git/objects/info/")
	got, r := reached(t, root, profile.Request{Level: sandbox.Full, Git: profile.GitOpen})
	check.That(t, !strings.Contains(got, "-.git/ ") && slices.Contains(r.Sandbox.Writable, filepath.Join(root, ".git")), "%v", got)
}

// TestApart: the level full keeps what is outside apart, but for a place that the operator named there, or that has the
// workspace in it.
func TestApart(t *testing.T) {
	root, outside := tree(t, "work/src/a", "work/out/"), t.TempDir()
	work := filepath.Join(root, "work")
	for name, c := range map[string]struct {
		req  profile.Request
		want bool
	}{
		"a scope":                 {profile.Request{Level: sandbox.Full, Scope: []string{"src/**"}}, true},
		"everything":              {profile.Request{Level: sandbox.Full}, true},
		"an operator's inside":    {profile.Request{Level: sandbox.Full, Writable: []string{"out"}}, true},
		"an operator's outside":   {profile.Request{Level: sandbox.Full, Writable: []string{outside}}, false},
		"an operator's above":     {profile.Request{Level: sandbox.Full, Writable: []string{root}}, false},
		"a lower level":           {profile.Request{Level: sandbox.Landlock}, false},
		"no level":                {profile.Request{Level: sandbox.None}, false},
		"what is not there":       {profile.Request{Level: sandbox.Full, Writable: []string{outside + "/gone"}}, true},
		"the workspace by itself": {profile.Request{Level: sandbox.Full, Writable: []string{work}}, true},
	} {
		check.Equal(t, made(t, work, c.req).Apart(), c.want, "%s", name)
	}
}

// On a layer a directory in which no rule can match is not looked into.
func TestRulesOnALayer(t *testing.T) {
	root := tree(t, "src/a/x", "src/a/y", "src/b/.vscode/z", "src/b/s")
	rules := profile.Rules{
		Ignored: func(p string) bool { return p == "src/a/x" },
		Secret:  func(p string) bool { return p == "src/b/s" },
	}
	req := profile.Request{Level: sandbox.Full, Scope: []string{"src/**"}, Rules: rules, Layers: []sandbox.Layer{{Path: root}}}
	got, _ := reached(t, root, req)
	check.Equal(t, got, sorted("-src/a/x -src/b/.vscode/ -src/b/s *src/b/s src"))
	req.Rules.Secret = func(p string) bool {
		check.That(t, p == "src/b/" || !strings.HasPrefix(p, "src/b/"), "%s is asked about", p)
		return false
	}
	req.Rules.Below = func(dir string) bool { return dir == "src" || dir == "src/a" }
	got, _ = reached(t, root, req)
	check.Equal(t, got, sorted("-src/a/x src"))
	got, _ = reached(t, root, profile.Request{Level: sandbox.Full, Scope: req.Scope, Rules: profile.Rules{Ignored: rules.Ignored, Below: req.Rules.Below}})
	check.Equal(t, got, sorted("-src/a/x -src/b/.vscode/ src"))
}
