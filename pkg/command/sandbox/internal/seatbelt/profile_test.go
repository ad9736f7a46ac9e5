package seatbelt_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/seatbelt"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/seatbelt/seatbelttest"
)

var update = flag.Bool("update", false, "write the golden profiles")

// ordinary is a workspace with all that a policy can have.
func ordinary() seatbelt.Policy {
	return seatbelt.Policy{
		Trees: []seatbelt.Tree{
			{
				Path:   "/Users/ann/ws",
				Closed: []string{"/Users/ann/ws/.orchestration", "/Users/ann/ws/.git/hooks", "/Users/ann/ws/secret.env"},
				Pinned: []string{"/Users/ann/ws", "/Users/ann/ws/.git"},
				Absent: []seatbelt.Absent{
					{Dir: "/Users/ann/ws", Names: []string{".mcp.json", ".vscode"}},
					{Dir: "/Users/ann/ws/.git", Names: []string{"commondir", "config.worktree"}},
				},
			},
			{Path: "/private/var/folders/x/T/run", Pinned: []string{"/private/var/folders/x/T/run"}},
		},
		Files:  []string{"/Users/ann/other/one.txt"},
		Hidden: []string{"/Users/ann/ws/secret.env", "/Users/ann/.config/orchestra-mcp"},
		Temp:   "/private/var/folders/x/T/run",
	}
}

func TestGolden(t *testing.T) {
	for name, network := range map[string]bool{"closed": false, "network": true} {
		policy := ordinary()
		policy.Network = network
		text, parameters, err := policy.Profile()
		check.OK(t, err)
		got, path := text+"\n"+strings.Join(parameters, "\n")+"\n", "testdata/"+name+".sb"
		if *update {
			check.OK(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want := check.Value(os.ReadFile(path))(t)
		check.That(t, got == string(want), "%s is another; look at it and run with -update:\n%s", path, got)
	}
}

func TestOrdinary(t *testing.T) {
	p := read(t, ordinary())
	for path, written := range map[string]bool{
		"/Users/ann/ws/new": true, "/Users/ann/ws/src/a.go": true, "/Users/ann/ws/.git/index": true, "/Users/ann/ws/.tool": true,
		"/Users/ann/ws/.vscodex": true, "/Users/ann/ws/sub/.mcp.json": true, "/Users/ann/ws/ü": true, "/Users/ann/ws/sub/.ü": true,
		"/Users/ann/ws/.git/refs/heads/ü": true, "/private/var/folders/x/T/run/t": true, "/Users/ann/ws/.mcp.jsonx": true,

		"/Users/ann/ws": false, "/Users/ann/ws/.git": false, "/Users/ann/wsx": false, "/Users/ann": false, "/": false, "/private/var/folders/x/T/run": false,
		"/Users/ann/ws/.orchestration": false, "/Users/ann/ws/.orchestration/config.yaml": false, "/Users/ann/ws/.git/hooks/x": false,
		"/Users/ann/ws/secret.env": false, "/etc/passwd": false, "/Users/ann/other/two.txt": false,
		"/Users/ann/ws/.mcp.json": false, "/Users/ann/ws/.MCP.Json": false, "/Users/ann/ws/.mcp.json/x": false, "/Users/ann/ws/.VSCode/tasks.json": false,
		"/Users/ann/ws/.vſcode": false, "/Users/ann/ws/.vſcode/x": false, "/Users/ann/ws/.ü": false, "/Users/ann/ws/.a\nb": false,
		"/Users/ann/ws/.git/CommonDir": false, "/Users/ann/ws/.git/conﬁg.worktree": false, "/Users/ann/ws/.git/Config.WorkTree": false, "/Users/ann/ws/.git/ü": false,
	} {
		for _, operation := range []string{"file-write-create", "file-write-data", "file-write-unlink", "file-write-mode", "file-write-xattr"} {
			check.That(t, p.Allows(operation, path) == written, "%s of %s: want %v", operation, path, written)
		}
	}
	one := "/Users/ann/other/one.txt"
	check.That(t, p.Allows("file-write-data", one) && !p.Allows("file-write-unlink", one) && !p.Allows("file-write-create", one), "a single file can be removed, or not written")
	for path, is := range map[string]bool{
		"/etc/passwd": true, "/Users/ann/ws/src/a.go": true, "/dev/null": true, "/dev": true, "/Users/ann/ws/.orchestration/config.yaml": true,
		"/Users/ann/ws/secret.env": false, "/Users/ann/ws/secret.env/x": false, "/Users/ann/.config/orchestra-mcp/token": false, "/dev/ttys001": false, "/dev/disk0": false,
	} {
		check.That(t, p.Allows("file-read-data", path) == is && p.Allows("file-read-metadata", path) == is, "reading %s: want %v", path, is)
	}
	for _, allowedElse := range []string{"file-link", "file-clone", "process-info-pidinfo"} {
		check.That(t, !p.Allows(allowedElse, "/Users/ann/ws/new"), "%s is not denied, which version 1 allows", allowedElse)
	}
	for _, never := range []string{"appleevent-send", "lsopen", "job-creation", "mach-register", "mach-priv-task-port", "pseudo-tty",
		"system-privilege", "file-mount", "forbidden-exec-sugid", "nvram-set", "user-preference-write", "iokit-open", "process-exec-setuid"} {
		check.That(t, !p.Mentions(never), "%s is in a rule", never)
	}
}

// hostile are names of files that an agent could make.
var hostile = []string{
	`a"b`, `a\b`, `a\"b`, `")(allow default)("`, `(allow default)`, "a\nb", "a\n(allow default)\n", "-DP0=", "-p", "--", "=", "P0=etc", `#"x"`, ";x", "a b", " ", "\t",
	`(param "P0")`, "$(x)", "`x`", "*", "[.]", "^$|", "ü", "日本", "\xff\xfe", "\u202e", strings.Repeat("x", 255), strings.Repeat(`")`, 120), "\x01\x7f", "'", "%s%n",
}

// TestHostileNames: whatever a name is, it is a parameter's value as it is, and the text does not depend on it.
func TestHostileNames(t *testing.T) {
	plain, _, err := named("plain").Profile()
	check.OK(t, err)
	for _, name := range hostile {
		text, parameters, err := named(name).Profile()
		if strings.ContainsFunc(name, unicode.IsControl) {
			check.That(t, errors.Is(err, seatbelt.ErrName), "%q: nothing is kept absent there", name)
			continue
		}
		check.OK(t, err)
		check.That(t, text == plain, "%q changes the text:\n%s", name, text)
		for _, want := range []string{"/w/" + name, "/w/" + name + "/closed", "/w/" + name + "/hidden", "/w/" + name + "/file"} {
			check.That(t, slices.ContainsFunc(parameters, func(p string) bool { _, value, _ := strings.Cut(p, "="); return value == want }), "%q is no value of %q", want, parameters)
		}
		p := read(t, named(name))
		check.That(t, p.Allows("file-write-data", "/w/"+name+"/x") && !p.Allows("file-write-data", "/w/"+name+"/closed/x") && !p.Allows("file-write-data", "/w/x"), "%q", name)
		check.That(t, !p.Allows("file-write-data", "/w/"+name+"/.VSCODE") && p.Allows("file-write-data", "/w/"+name+"/sub/.vscode"), "%q: the absent name", name)
		check.That(t, !p.Allows("file-read-data", "/w/"+name+"/hidden") && !p.Allows("file-write-data", "/etc/x"), "%q: reading", name)
	}
}

func named(name string) seatbelt.Policy {
	dir := "/w/" + name
	return seatbelt.Policy{
		Trees: []seatbelt.Tree{{
			Path: dir, Closed: []string{dir + "/closed", dir + "/hidden"}, Pinned: []string{dir},
			Absent: []seatbelt.Absent{{Dir: dir, Names: []string{".vscode"}}},
		}},
		Files: []string{dir + "/file"}, Hidden: []string{dir + "/hidden"}, Temp: dir,
	}
}

// TestRefused: what cannot be held is an error, and no profile.
func TestRefused(t *testing.T) {
	absent := func(dir string, names ...string) seatbelt.Policy {
		return seatbelt.Policy{Temp: "/t", Trees: []seatbelt.Tree{{Path: dir, Absent: []seatbelt.Absent{{Dir: dir, Names: names}}}}}
	}
	tree := func(path string) seatbelt.Policy {
		return seatbelt.Policy{Temp: "/t", Trees: []seatbelt.Tree{{Path: path}}}
	}
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("/w/%d", i))
	}
	for name, c := range map[string]struct {
		policy seatbelt.Policy
		want   error
	}{
		"no temp":          {seatbelt.Policy{}, seatbelt.ErrName},
		"relative":         {tree("w"), seatbelt.ErrName},
		"the root":         {tree("/"), seatbelt.ErrName},
		"dots":             {tree("/w/../etc"), seatbelt.ErrName},
		"a dot":            {tree("/w/."), seatbelt.ErrName},
		"a slash too many": {tree("/w//x"), seatbelt.ErrName},
		"a slash behind":   {tree("/w/"), seatbelt.ErrName},
		"NUL":              {tree("/w\x00/x"), seatbelt.ErrName},
		"not ASCII":        {absent("/w", ".vſcode"), seatbelt.ErrName},
		"a quote":          {absent("/w", `a"b`), seatbelt.ErrName},
		"a class":          {absent("/w", "a]b"), seatbelt.ErrName},
		"no name":          {absent("/w", ""), seatbelt.ErrName},
		"two dots":         {absent("/w", ".."), seatbelt.ErrName},
		"a way":            {absent("/w", "a/b"), seatbelt.ErrName},
		"too deep":         {absent(strings.Repeat("/w", 40), ".vscode"), seatbelt.ErrName},
		"too many":         {seatbelt.Policy{Temp: "/t", Files: many}, seatbelt.ErrTooMuch},
	} {
		text, parameters, err := c.policy.Profile()
		check.That(t, errors.Is(err, c.want) && text == "" && parameters == nil, "%s: %v %q", name, err, text)
	}
}

// TestReaderIsStrict: the reader of the tests finds what would be wrong.
func TestReaderIsStrict(t *testing.T) {
	for _, wrong := range []string{
		"", "(version 1)", "(version 1)(allow default)", "(version 1)(deny default", "(version 1)(deny default))",
		`(version 1)(deny default)(allow file-read* (subpath "/x)`, `(version 1)(deny default)(allow file-read* (subpath (param "P1")))`,
		`(version 1)(deny default)(allow file-read* (subpat "/x"))`, `(version 1)(deny default)(allow file-read*)(deny file-read-data)`,
		`(version 1)(deny default)(allow file-read-data)(deny file-read*)`, `(version 1)(deny default)(allow file-read* (regex #"("))`,
		"(version 1)(deny default)x", `(version 1)(deny default)(allow (subpath "/x"))`,
	} {
		_, err := seatbelttest.Read(wrong, nil)
		check.That(t, err != nil, "%s is taken", wrong)
	}
	_, err := seatbelttest.Read("(version 1)(deny default)", []string{"P0=/x"})
	check.That(t, err != nil, "a parameter for nothing is taken")
}

// FuzzProfile: no name in any place changes what the text says, and each path that may be written lies where it was declared.
func FuzzProfile(f *testing.F) {
	for i, name := range hostile {
		f.Add(name, hostile[(i+1)%len(hostile)], ".vscode", "/w/x")
	}
	f.Fuzz(func(t *testing.T, first, second, absent, asked string) {
		dir := "/w/" + first
		policy := seatbelt.Policy{
			Trees: []seatbelt.Tree{{
				Path: dir, Closed: []string{dir + "/" + second}, Pinned: []string{dir},
				Absent: []seatbelt.Absent{{Dir: dir, Names: []string{absent}}},
			}},
			Files: []string{"/f/" + second}, Hidden: []string{dir + "/" + second}, Temp: "/t",
		}
		text, parameters, err := policy.Profile()
		if err != nil {
			return
		}
		plain, err := seatbelttest.Read(text, parameters)
		if err != nil {
			t.Fatal(err)
		}
		for _, literal := range plain.Literals {
			if name := strings.TrimLeft(first, "/."); len(name) > 12 && strings.Contains(literal, name) {
				t.Fatalf("%q stands in the text", first)
			}
		}
		within := func(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
		for _, path := range []string{asked, dir + asked, dir + "/" + second + asked, dir + "/" + strings.ToUpper(absent), "/f/" + second + asked} {
			if plain.Allows("file-write-create", path) && (!within(dir, path) || path == dir || within(dir+"/"+second, path)) {
				t.Fatalf("%q can be made", path)
			}
			if plain.Allows("file-write-data", path) && !within(dir, path) && path != "/f/"+second && !strings.HasPrefix(path, "/dev/") {
				t.Fatalf("%q can be written", path)
			}
		}
		for _, form := range []string{absent, strings.ToUpper(absent), strings.ToLower(absent), strings.ReplaceAll(absent, "s", "ſ")} {
			if plain.Allows("file-write-create", dir+"/"+form) || plain.Allows("file-write-create", dir+"/"+form+"/x") {
				t.Fatalf("%q can come into being", form)
			}
		}
		if plain.Allows("file-read-data", dir+"/"+second) || plain.Allows("file-read-data", dir+"/"+second+"/x") {
			t.Fatalf("%q can be read", second)
		}
	})
}

func read(t *testing.T, policy seatbelt.Policy) *seatbelttest.Profile {
	t.Helper()
	text, parameters, err := policy.Profile()
	check.OK(t, err)
	p, err := seatbelttest.Read(text, parameters)
	check.OK(t, err)
	return p
}
