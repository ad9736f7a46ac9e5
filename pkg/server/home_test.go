package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// homeWay is one way for the user's own directory to lie in a workspace.
type homeWay struct {
	name string
	make func(t *testing.T, home, own string)
	// dirs are paths of the workspace that lead to the user's directory, and
	// files what leads to one of the files in it, or would.
	workspace   string // below home; "" is the home
	dirs, files []string
}

// homeWays are made of a home with the settings in config/orchestra-mcp.
func homeWays() []homeWay {
	plain := []string{"approval.key", "config.yaml", "seal-keys/a.pub", "new.yaml"}
	below := func(dirs ...string) (files []string) {
		for _, dir := range dirs {
			for _, name := range plain {
				files = append(files, dir+"/"+name)
			}
		}
		return files
	}
	links := func(to map[string]string) func(*testing.T, string, string) {
		return func(t *testing.T, home, own string) {
			for at, text := range to {
				link(t, strings.ReplaceAll(text, "{HOME}", home), filepath.Join(home, at))
			}
		}
	}
	moved := func(from, to string) func(*testing.T, string, string) {
		return func(t *testing.T, home, own string) {
			check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(home, to)), 0o755))
			check.OK(t, os.Rename(filepath.Join(home, from), filepath.Join(home, to)))
			link(t, filepath.Join(home, to), filepath.Join(home, from))
		}
	}
	const own = "config/orchestra-mcp"
	return []homeWay{
		{name: "the home", dirs: []string{own}, files: below(own)},
		{name: "a directory above the home", workspace: "..", dirs: []string{"home/" + own}, files: below("home/" + own)},
		{name: "the directory for configuration", workspace: "config", dirs: []string{"orchestra-mcp"}, files: below("orchestra-mcp")},
		{name: "the user's directory itself", workspace: own, dirs: []string{"."}, files: plain},
		{name: "a directory in it", workspace: own + "/seal-keys", dirs: []string{"."}, files: []string{"a.pub", "b.pub"}},
		{name: "links in the workspace", make: links(map[string]string{
			"src/dir": "../config", "src/own": "../config/orchestra-mcp", "src/abs": "{HOME}/config/orchestra-mcp", "src/key": "../config/orchestra-mcp/approval.key", "src/far": "own",
		}), dirs: []string{"src/own", "src/abs", "src/far", "src/dir/orchestra-mcp"},
			files: append(below("src/own", "src/abs", "src/far", "src/dir/orchestra-mcp"), "src/key")},
		{name: "settings that are a link into the workspace", make: moved(own, "dotfiles/om"), dirs: []string{own, "dotfiles/om"}, files: below(own, "dotfiles/om")},
		{name: "configuration that is a link into the workspace", make: moved("config", "dotfiles/config"), dirs: []string{own, "dotfiles/" + own}, files: below(own, "dotfiles/"+own)},
		{name: "files that are links into the workspace", make: func(t *testing.T, home, dir string) {
			moved(own+"/config.yaml", "dotfiles/om.yaml")(t, home, dir)
			moved(own+"/approval.key", "dotfiles/key")(t, home, dir)
		}, files: []string{own + "/config.yaml", "dotfiles/om.yaml", "dotfiles/key"}},
		{name: "a file that is a link to what is not there", make: func(t *testing.T, home, dir string) {
			check.OK(t, os.Remove(filepath.Join(dir, "config.yaml")))
			link(t, "../../dotfiles/om.yaml", filepath.Join(dir, "config.yaml"))
		}, files: []string{own + "/config.yaml", "dotfiles/om.yaml"}},
		{name: "files with another name in the workspace", make: func(t *testing.T, home, dir string) {
			for at, name := range map[string]string{"src/key": "approval.key", "src/settings": "config.yaml", "src/pub": "seal-keys/a.pub"} {
				check.OK(t, os.Link(filepath.Join(dir, name), filepath.Join(home, at)))
			}
		}, files: []string{"src/key", "src/settings", "src/pub"}},
		{name: "a directory that is not there yet", make: func(t *testing.T, _, dir string) {
			check.OK(t, os.RemoveAll(dir))
		}, dirs: []string{own}, files: append(below(own), own, "config/Orchestra-MCP/config.yaml", "config/orchestra-mcp./config.yaml")},
		{name: "no directory for configuration yet", make: func(t *testing.T, home, dir string) {
			check.OK(t, os.RemoveAll(filepath.Join(home, "config")))
		}, dirs: []string{own}, files: append(below(own), "config", own, "CONFIG/orchestra-mcp/config.yaml")},
	}
}

// tries are calls that would read or change a file, by name.
func (w *homeWay) tries(dir string) map[string][]args {
	tries := map[string][]args{}
	add := func(tool string, a args) { tries[tool] = append(tries[tool], a) }
	long := check.Long()
	for i, file := range w.files {
		spellings := []string{file, filepath.Join(dir, file), "./" + file}
		if !long {
			spellings = spellings[i%2:][:1]
		}
		for _, path := range spellings {
			add("read_file", args{"path": path})
			add("write_to_file", args{"path": path, "content": "sandbox: off\n"})
			add("edit_file", args{"path": path, "old_string": "TOPSECRET", "new_string": "x"})
			add("apply_diff", args{"path": path, "diff": "<<<<<<< SEARCH\nTOPSECRET\n=======\nx\n>>>>>>> REPLACE"})
			if long || i == 0 {
				add("execute_command", args{"command": "cat < '" + path + "'"})
				add("execute_command", args{"command": "echo 'sandbox: off' > '" + path + "'"})
			}
			if filepath.IsAbs(path) {
				continue
			}
			add("apply_patch", args{"patch": patch("*** Add File: "+path, "+sandbox: off")})
			add("apply_patch", args{"patch": patch("*** Update File: "+path, "@@", "-TOPSECRET", "+x")})
			add("apply_patch", args{"patch": patch("*** Delete File: " + path)})
			add("apply_patch", args{"patch": patch("*** Update File: "+path, "*** Move to: shown.txt", "@@", "-TOPSECRET", "+x")})
			add("apply_patch", args{"patch": patch("*** Update File: mine.txt", "*** Move to: "+path, "@@", "-mine", "+sandbox: off")})
		}
	}
	for _, at := range append(w.dirs, "") {
		add("search_files", args{"regex": "TOPSECRET", "path": at})
		add("list_files", args{"path": at, "recursive": true})
		if at != "" && at != "." {
			add("execute_command", args{"command": "cat approval.key", "cwd": at})
		}
	}
	return tries
}

// tree is all that stands below a directory, with links resolved.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	var walk func(string)
	walk = func(at string) {
		info, err := os.Stat(at)
		switch {
		case err != nil || filepath.Base(at) == ".orchestration":
		case info.IsDir():
			entries, _ := os.ReadDir(at)
			for _, e := range entries {
				walk(filepath.Join(at, e.Name()))
			}
		default:
			text, _ := os.ReadFile(at)
			found[at] = string(text)
		}
	}
	walk(dir)
	return found
}

// Where the workspace holds what this program keeps of the user, no tool reads
// or changes it, by whatever way a path leads there. Without ORCHESTRA_LONG each tool tries every other path.
func TestTheUsersOwnDirectoryInTheWorkspace(t *testing.T) {
	made, through := 0, 0
	for _, way := range homeWays() {
		t.Run(way.name, func(t *testing.T) {
			b, own := inHome(t, &way)
			before := tree(t, own)
			for tool, calls := range way.tries(b.dir) {
				for i, call := range calls {
					if check.Short() && i%4 != 0 || !check.Long() && i > 0 && (i+len(tool))%2 != 0 {
						continue
					}
					r := b.Call(tool, call)
					made++
					if after := tree(t, own); strings.Contains(r.Text, "TOPSECRET") && r.Object["error_type"] == nil || fmt.Sprint(after) != fmt.Sprint(before) {
						through++
						t.Errorf("%s %v got through: %.200s", tool, call, r.Text)
						before = after
					}
				}
			}
		})
	}
	t.Logf("%d attacks made, %d got through", made, through)
}

// inHome serves a home, or what the way says.
func inHome(t *testing.T, way *homeWay) (b *bench, own string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no home by HOME")
	}
	home := filepath.Join(t.TempDir(), "home")
	ownHome(t, home)
	own = filepath.Join(home, "config", "orchestra-mcp")
	for name, content := range map[string]string{"approval.key": "TOPSECRET\n", "config.yaml": "# TOPSECRET\n", "seal-keys/a.pub": "TOPSECRET\n"} {
		check.Write(t, own, name, content)
	}
	check.Write(t, home, "src/a.txt", "one\n")
	if way.make != nil {
		way.make(t, home, own)
	}
	dir := filepath.Join(home, way.workspace)
	check.Write(t, dir, ".orchestration/active_intents.yaml", intentsYAML)
	check.Write(t, dir, "mine.txt", "mine\n")
	b = start(t, dir, func(o *server.Options) { o.UserDir = own }, unsandboxed, withoutSandbox).connect()
	b.Selects("INT-005")
	b.Call("read_file", args{"path": "mine.txt"}) // which has to be seen to be moved
	return b, own
}

// What of a home makes programs run code is program configuration where the
// workspace is that home, and the rest of it is as free as its intent.
func TestFilesOfAHomeThatRunCode(t *testing.T) {
	way := homeWay{make: func(t *testing.T, home, own string) {
		check.OK(t, os.RemoveAll(own))
		check.Write(t, home, "dotfiles/zshrc", "# mine\n")
		link(t, "dotfiles/zshrc", filepath.Join(home, ".zshrc"))
		check.Write(t, home, ".bashrc", "# mine\n")
	}}
	b, _ := inHome(t, &way)
	for _, path := range []string{
		".bashrc", ".profile", ".PROFILE", ".ssh/authorized_keys", ".ssh/rc", ".gitconfig", "config/autostart/x.desktop", ".local/bin/git", "bin/ls",
		"config/systemd/user/x.service", "config/git/config", ".zshrc", "dotfiles/zshrc", filepath.Join(b.dir, ".bash_profile"),
	} {
		b.Refused("APPROVAL_REQUIRED", "write_to_file", args{"path": path, "content": "x\n"})
		if !filepath.IsAbs(path) {
			b.Refused("APPROVAL_REQUIRED", "apply_patch", args{"patch": patch("*** Update File: mine.txt", "*** Move to: "+path, "@@", "-mine", "+x")})
		}
	}
	for _, path := range []string{"notes.txt", "config/other/x", ".local/share/x", "dotfiles/vimrc"} {
		b.OK("write_to_file", args{"path": path, "content": "x\n"})
	}
}

// Nor may commands change either, whatever the scope: where nothing holds them, they are found to have.
func TestCommandsInAHome(t *testing.T) {
	way := homeWays()[0]
	b, _ := inHome(t, &way)
	for _, path := range []string{"config/orchestra-mcp/config.yaml", "config/orchestra-mcp/seal-keys/b.pub", ".bashrc", ".ssh/authorized_keys", "config/autostart/x.desktop"} {
		b.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"command": "mkdir -p $(dirname " + path + "); echo x | tee -a " + path})
	}
	b.OK("execute_command", args{"command": "echo x | tee -a notes.txt config/other"})
}
