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
)

// served is the profile of a server, with its own directories left out of what it may write.
func served(t *testing.T, root string, server profile.Server) (writable string, r *profile.Profile) {
	t.Helper()
	own := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	server.Data, server.Caches = filepath.Join(own, "data"), filepath.Join(own, "cache")
	r = check.Value(profile.New(root, home(t)).Serve(server))(t)
	t.Cleanup(func() { check.OK(t, r.Close()) })
	env := r.Environment([]string{"npm_config_cache=the user's", "A=b"})
	check.That(t, slices.Contains(env, "npm_config_cache="+filepath.Join(server.Caches, "npm")) && slices.Contains(env, "A=b"), "%v", env)
	if r.Sandbox == nil {
		return "", r
	}
	var names []string
	for _, p := range r.Sandbox.Writable {
		switch inside, is := strings.CutPrefix(p, root); {
		case p == server.Data || p == server.Caches:
			own = ""
		case is:
			names = append(names, strings.TrimPrefix(inside, "/"))
		default:
			names = append(names, p)
		}
	}
	check.Equal(t, own, "")
	return sorted(strings.Join(names, " ")), r
}

func TestServers(t *testing.T) {
	root := tree(t, "src/a", "secret/key", ".git/config", "closed/b", "node_modules/x", "package.json")
	notes := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	rules := profile.Rules{
		Secret:  func(path string) bool { return path == "secret/" },
		Ignored: func(path string) bool { return strings.HasPrefix(path, "closed/") },
	}
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
		got, r := served(t, root, profile.Server{Level: level, Rules: rules, Writable: []string{notes, filepath.Join(notes, "absent"), filepath.Join(root, "src"), "/", "relative"}})
		check.Equal(t, got, notes)
		check.That(t, slices.Contains(r.Sandbox.Hidden, filepath.Join(root, "secret")), "%v", r.Sandbox.Hidden)
		check.That(t, r.Sandbox.Lasting && !r.Sandbox.DenyNetwork, "%+v", r.Sandbox)
		text := strings.Join(r.Warnings, " ")
		check.That(t, strings.Count(text, "is not there") == 2 && strings.Count(text, "stays closed") == 2, "%s", text)

		got, r = served(t, root, profile.Server{Level: level, Rules: rules, Workspace: true})
		want := map[sandbox.Level]string{sandbox.Full: "", sandbox.Landlock: "node_modules package.json src"}[level]
		if level == sandbox.Full {
			frozen := ""
			for _, f := range r.Sandbox.Frozen {
				frozen += " " + strings.TrimPrefix(f.Path, root+"/")
			}
			for _, name := range []string{".git", "closed", ".orchestration", ".intentignore"} {
				check.That(t, slices.Contains(strings.Fields(frozen), name), "%s is open: %s", name, frozen)
			}
		}
		check.Equal(t, got, want)
		_, err := os.Lstat(filepath.Join(root, "node_modules/.cache"))
		check.That(t, os.IsNotExist(err), "places of builds are made: %v", err)
	}
	_, r := served(t, root, profile.Server{Level: sandbox.None})
	check.That(t, r.Sandbox == nil, "%+v", r.Sandbox)
}

// TestServersAndOurOwnFiles: what this program keeps is not opened with what is around it.
func TestServersAndOurOwnFiles(t *testing.T) {
	root, kept := tree(t, "a"), check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	hidden := filepath.Join(kept, "config")
	check.OK(t, os.Mkdir(hidden, 0o700))
	got, r := served(t, root, profile.Server{Level: sandbox.Landlock, Writable: []string{kept}, Hidden: []string{hidden}})
	check.Equal(t, got, "")
	check.That(t, slices.Contains(r.Sandbox.Emptied, hidden) && strings.Contains(strings.Join(r.Warnings, " "), "its own files"), "%+v %v", r.Sandbox, r.Warnings)
}
