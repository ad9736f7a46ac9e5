package packages_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// TestMakePackages runs the one command in two places, and tries what came of it.
func TestMakePackages(t *testing.T) {
	if !check.Long() {
		t.Skip("it takes minutes: with " + check.LongEnv)
	}
	needs(t, "git", "make", "mmdebstrap", "unshare", "chroot", "mount", "dpkg", "rpm", "lintian", "ruby", "skopeo")
	if os.Geteuid() != 0 {
		missing(t, "roots of other systems take root")
	}
	dist := makePackages(t, "../..", "here", "022")
	t.Run("same bytes elsewhere", func(t *testing.T) {
		again := makePackages(t, filepath.Dir(dist), "another place", "077")
		check.Equal(t, string(check.Value(os.ReadFile(filepath.Join(again, "SHA256SUMS")))(t)), string(check.Value(os.ReadFile(filepath.Join(dist, "SHA256SUMS")))(t)))
	})
	t.Run("page", func(t *testing.T) {
		names := regexp.MustCompile("install \\./(orchestra-mcp[^`]+)").FindAllStringSubmatch(string(check.Value(os.ReadFile("../../docs/install.md"))(t)), -1)
		check.Must(t, len(names) == 2, "the page names %q", names)
		for _, name := range names {
			made(t, dist, strings.Replace(name[1], "VERSION", "*", 1))
		}
	})
	t.Run("archive", func(t *testing.T) { tryArchive(t, made(t, dist, "*_linux_"+runtime.GOARCH+".tar.gz")) })
	t.Run("deb", func(t *testing.T) { tryDeb(t, made(t, dist, "*_"+runtime.GOARCH+".deb")) })
	t.Run("rpm", func(t *testing.T) { tryRPM(t, dist) })
	t.Run("image", func(t *testing.T) { tryImage(t, made(t, dist, "*.oci.tar")) })
	t.Run("formula", func(t *testing.T) { does(t, exec.Command("ruby", "-c", made(t, dist, "*.rb"))) })
	t.Run("workflow", func(t *testing.T) {
		lint := exec.Command("go", "run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12", ".github/workflows/release.yml", ".github/workflows/portable.yml")
		lint.Dir = "../.."
		does(t, lint)
	})
}

// makePackages clones the commit that is checked out somewhere, and runs the command in the clone.
func makePackages(t *testing.T, from, name, umask string) (dist string) {
	t.Helper()
	clone := filepath.Join(t.TempDir(), name)
	does(t, exec.Command("git", "clone", "--quiet", check.Value(filepath.Abs(from))(t), clone))
	cmd := exec.Command("sh", "-c", "umask "+umask+"; exec make packages")
	cmd.Dir, cmd.Env = clone, append(os.Environ(), "GOFLAGS=")
	t.Log(does(t, cmd))
	return filepath.Join(clone, "dist")
}

// root is a directory that is the root of another system.
type root struct {
	t   *testing.T
	dir string
	env []string
}

// debian is a root without the program.
func debian(t *testing.T) root {
	r := root{t, filepath.Join(t.TempDir(), "root"), []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}}
	does(t, exec.Command("mmdebstrap", "--quiet", "--variant=apt", "--include=git,man-db,bash-completion", "trixie", r.dir))
	t.Cleanup(func() { _ = os.RemoveAll(r.dir) })
	return r
}

// command runs in the root as a user, with process and mount tables of its own.
func (r root) command(user string, args ...string) *exec.Cmd {
	cmd := exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "sh", "-c",
		`mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && user=$1 && shift && exec chroot --userspec="$user" "$0" "$@"`, r.dir, user}, args...)...)
	cmd.Env = r.env
	return cmd
}

func (r root) does(user string, args ...string) string {
	r.t.Helper()
	return does(r.t, r.command(user, args...))
}

// tries has a user, of whom the root knows nothing, begin in an empty directory, and an agent change a file there. It comes by
// what setup has written; runs gives what a runtime makes of that in the root.
func (r root) tries(dir string, runs func(words []string) []string) (outside string) {
	r.t.Helper()
	const user = "4321:4321"
	outside = filepath.Join(r.dir, dir)
	check.OK(r.t, errors.Join(os.MkdirAll(filepath.Join(outside, "src"), 0o755), os.Chown(outside, 4321, 4321), os.Chown(filepath.Join(outside, "src"), 4321, 4321)))
	r.does(user, "sh", "-c", "cd "+dir+" && git init -q . && orchestra-mcp init --yes && orchestra-mcp setup claude-code && orchestra-mcp git install-hooks && git status --short")
	words := runs(started(r.t, filepath.Join(outside, ".mcp.json")))
	s := serve(r.t, r.command(user, append([]string{"sh", "-c", "cd " + dir + ` && exec "$0" "$@"`}, words...)...))
	s.OK("execute_command", agenttest.Args{"session": s.Selects("INT-001"), "command": "git status --short && echo $BASH_VERSION > src/shell"})
	check.That(r.t, len(check.Value(os.ReadFile(filepath.Join(outside, "src", "shell")))(r.t)) > 1, "the command ran in no bash")
	s.works(outside)
	r.does(user, "sh", "-c", "cd "+dir+" && git add src && git -c user.name=t -c user.email=t@t commit -qm made")
	contains(r.t, r.does(user, "git", "-C", dir, "log", "-1"), "Orchestra-Intent: INT-001")
	return outside
}

func tryArchive(t *testing.T, archive string) {
	dir, project := t.TempDir(), workspace(t)
	does(t, exec.Command("tar", "xzf", archive, "-C", dir))
	for _, name := range []string{"LICENSE", "man/orchestra-mcp.1", "completions/completion.bash"} {
		_, err := os.Stat(filepath.Join(dir, name))
		check.NoError(t, err)
	}
	serve(t, home(t, exec.Command(filepath.Join(dir, "orchestra-mcp"), "serve", "--workspace", project))).works(project)
}

func tryDeb(t *testing.T, deb string) {
	does(t, exec.Command("lintian", "--fail-on", "error", "--allow-root", deb))
	r := debian(t)
	check.OK(t, os.WriteFile(filepath.Join(r.dir, "tmp", "it.deb"), check.Value(os.ReadFile(deb))(t), 0o644))
	const me = "0:0"
	r.does(me, "dpkg", "--install", "/tmp/it.deb")
	contains(t, r.does(me, "orchestra-mcp", "version"), "orchestra-mcp v", "commit: ")
	contains(t, r.does(me, "man", "orchestra-mcp-serve"), "Run the MCP server", "--transport")
	contains(t, r.does(me, "bash", "-c", ". /usr/share/bash-completion/bash_completion; _comp_load orchestra-mcp || _completion_loader orchestra-mcp; complete -p orchestra-mcp"), "__start_orchestra-mcp")
	r.env = append(r.env, "HOME=/tmp/home")
	project := r.tries("/srv/project", func(words []string) []string { return words })
	contains(t, r.does(me, "sh", "-c", "cd /srv/project && orchestra-mcp doctor || :"), "Claude Code starts this server for this workspace")
	r.does(me, "dpkg", "--remove", "orchestra-mcp")
	doctor, _ := home(t, exec.Command(program, "doctor", "--workspace", project), "PATH=/usr/bin:/bin").Output()
	contains(t, string(doctor), "Claude Code (.mcp.json) starts orchestra-mcp, which is not on the PATH")
	left := r.does(me, "sh", "-c", "find / -xdev -path /proc -prune -o -path /srv -prune -o -path /tmp -prune -o -path /var/cache/man -prune -o -name '*orchestra-mcp*' -print | grep -v /var/lib/dpkg || :")
	check.Equal(t, left, "")
}

// tryRPM installs into a root that only rpm knows: the program is static, and bash is promised.
func tryRPM(t *testing.T, dist string) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	file, dir := made(t, dist, "*."+arch+".rpm"), t.TempDir()
	does(t, exec.Command("rpm", "--root", dir, "--initdb"))
	does(t, exec.Command("rpm", "--root", dir, "--nodeps", "--install", file))
	contains(t, does(t, exec.Command("rpm", "--root", dir, "--query", "--list", "orchestra-mcp")), "/usr/share/man/man1/orchestra-mcp.1.gz", "/usr/share/zsh/site-functions/_orchestra-mcp")
	contains(t, does(t, exec.Command("rpm", "--query", "--package", "--requires", "--recommends", file)), "bash", "git")
	does(t, exec.Command("rpm", "--root", dir, "--verify", "--nodeps", "orchestra-mcp"))
	contains(t, does(t, home(t, exec.Command(filepath.Join(dir, "usr/bin/orchestra-mcp"), "version"))), "orchestra-mcp v")
	project := workspace(t)
	serve(t, home(t, exec.Command(filepath.Join(dir, "usr/bin/orchestra-mcp"), "serve", "--workspace", project))).works(project)
	does(t, exec.Command("rpm", "--root", dir, "--erase", "orchestra-mcp"))
	_, err := os.Stat(filepath.Join(dir, "usr/bin/orchestra-mcp"))
	check.That(t, errors.Is(err, os.ErrNotExist), "it is still there: %v", err)
}

// tryImage runs what the image's configuration says in the image's root, as a user whom it does not know. No container runtime is
// here: a chroot refuses user namespaces, as the filters of such runtimes do.
func tryImage(t *testing.T, image string) {
	contains(t, does(t, exec.Command("skopeo", "inspect", "oci-archive:"+image)), `"io.modelcontextprotocol.server.name": "io.github.intentgov/orchestra-mcp"`)
	does(t, exec.Command("skopeo", "inspect", "docker-archive:"+image))
	files := untar(t, image)
	var parts []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	check.OK(t, json.Unmarshal(files["manifest.json"], &parts))
	var config struct {
		Config struct {
			Env, Entrypoint, Cmd []string
			WorkingDir           string
		}
	}
	check.OK(t, json.Unmarshal(files[parts[0].Config], &config))
	r := root{t, t.TempDir(), config.Config.Env}
	for _, layer := range parts[0].Layers {
		cmd := exec.Command("tar", "--extract", "--gzip", "--directory", r.dir)
		cmd.Stdin = bytes.NewReader(files[layer])
		does(t, cmd)
	}
	const user = "4321:4321"
	check.Equal(t, strings.TrimSpace(r.does(user, "cat", "/usr/share/orchestra-mcp/image")), parts[0].RepoTags[0])
	contains(t, r.does(user, "sh", "-c", `touch "$HOME/mine" && git --version && bash --version`), "git version", "GNU bash")
	r.tries(config.Config.WorkingDir, func(words []string) []string {
		run := []string{"docker", "run", "-i", "--rm", "-u", user, "-v", ".:" + config.Config.WorkingDir, parts[0].RepoTags[0]}
		check.Must(t, len(words) > len(run) && slices.Equal(words[:len(run)], run), "it starts %q", words)
		check.Equal(t, strings.Join(config.Config.Cmd, " "), words[len(run)]) // of whoever gives no arguments
		return append(config.Config.Entrypoint, words[len(run):]...)
	})
	// A workspace of somebody else's is one that git takes, too.
	r.does("99:99", "git", "-C", config.Config.WorkingDir, "status")
	doctor, _ := r.command(user, "orchestra-mcp", "doctor", "--workspace", config.Config.WorkingDir).Output()
	contains(t, string(doctor), "sandbox level landlock", "from inside a container it is not seen")
}

// untar reads the files of an archive.
func untar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	file := check.Value(os.Open(path))(t)
	defer file.Close()
	files := map[string][]byte{}
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		check.OK(t, err)
		files[header.Name] = check.Value(io.ReadAll(archive))(t)
	}
}
