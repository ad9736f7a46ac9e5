package outside

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/fileclock"
)

// Bounds of what is made of one line.
const (
	maxWords   = 400
	maxBases   = 8
	maxScripts = 4
	maxScript  = 64 << 10 // bytes of one
	maxNamed   = 400      // paths that are tried
)

// Line is what a command's line says.
type Line struct {
	// Workspace and Dir are absolute and free of links: the root, and where the line starts.
	Workspace, Dir string
	// Environ is the environment: it says where the home is.
	Environ []string
	// Text is the line, and Words are those in it that are known without quotes and escapes.
	Text  string
	Words []string
	// Open are absolute paths that the command may change.
	Open []string
	// Others: it may act by another user's rights (sudo).
	Others bool
}

// Named are the paths outside of the workspace that a line names: its words, also behind = and options, and where the small files
// of the workspace that it names, as scripts, have them as they are. A word can stand in any directory that the line names.
type Named struct {
	line         Line
	home         string
	words, bases []string

	start int64 // when it was looked, in nanoseconds since 1970, by the clock of the file systems
	paths []string
	seen  map[string]stamp
	short []string // directories with more in them than was looked at
}

// Name reads a line, and describes what it names: files, and directories with what is in them. It reads files of the
// workspace, and changes nothing.
func Name(line Line) *Named {
	n := &Named{line: line, home: lookup(line.Environ, "HOME"), bases: []string{line.Dir}}
	n.read()
	n.start, n.paths = fileclock.Now(), n.lead()
	n.seen, n.short = n.look(n.paths)
	return n
}

// read finds the words, and the directories that they can stand in.
func (n *Named) read() {
	line := n.line
	n.add(line.Words...)
	n.text(line.Text)
	scripts := 0
	for _, word := range slices.Clone(n.words) {
		at, err := filepath.EvalSymlinks(n.absolute(line.Dir, word))
		if err != nil {
			continue
		}
		info, err := os.Lstat(at)
		switch {
		case err != nil:
		case info.IsDir() && len(n.bases) < maxBases && !slices.Contains(n.bases, at):
			n.bases = append(n.bases, at)
		case info.Mode().IsRegular() && info.Size() <= maxScript && scripts < maxScripts && n.inside(at):
			scripts++
			n.script(at)
		}
	}
	if slices.Contains(n.words, "cd") && n.home != "" && len(n.bases) < maxBases { // alone it leads home
		n.bases = append(n.bases, n.home)
	}
}

func (n *Named) script(path string) {
	file, err := open(path)
	if err != nil {
		return
	}
	defer file.Close()
	if content, err := io.ReadAll(io.LimitReader(file, maxScript)); err == nil {
		n.text(string(content))
	}
}

// text takes what looks like a path out of a text.
func (n *Named) text(text string) {
	text = strings.NewReplacer("${HOME}", "~", "$HOME", "~", `\ `, " ").Replace(text)
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"`;|&<>()[]{}*?,:=\\$#!", r) }) {
		if strings.Contains(field, "/") || field == "~" || field == ".." {
			n.add(field)
		}
	}
}

// add takes words, and what stands in them behind = and : and a short option.
func (n *Named) add(words ...string) {
	for _, word := range words {
		parts := []string{word}
		if strings.ContainsAny(word, "=:") {
			parts = append(parts, strings.FieldsFunc(word, func(r rune) bool { return r == '=' || r == ':' })...)
		}
		if at := strings.IndexAny(word, "/~"); at > 0 && word[0] == '-' {
			parts = append(parts, word[at:])
		}
		for _, part := range parts {
			if part != "" && len(part) < 4096 && len(n.words) < maxWords && !slices.Contains(n.words, part) {
				n.words = append(n.words, part)
			}
		}
	}
}

// absolute is where a word leads from a directory.
func (n *Named) absolute(dir, word string) string {
	switch {
	case n.home != "" && (word == "~" || strings.HasPrefix(word, "~/")):
		return filepath.Join(n.home, word[1:])
	case filepath.IsAbs(word):
		return filepath.Clean(word)
	}
	return filepath.Join(dir, word)
}

// lead gives the paths that the words lead to as links stand now.
func (n *Named) lead() []string {
	var found []string
	tried := map[string]bool{}
	for _, base := range n.bases { // the first has all that is absolute
		for _, word := range n.words {
			at := n.absolute(base, word)
			if tried[at] || len(tried) >= maxNamed {
				continue
			}
			tried[at] = true
			for _, path := range real(at, 8) {
				if !slices.Contains(found, path) && n.concerns(path) {
					found = append(found, path)
				}
			}
		}
	}
	return found
}

// real are the names without links for a path: the path itself, of a link what
// it leads to, and of what does not exist the first that does not.
func real(path string, links int) []string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		for missing := filepath.Dir(path); ; missing = filepath.Dir(missing) {
			above, err := filepath.EvalSymlinks(filepath.Dir(missing))
			if err == nil {
				way, _ := filepath.Rel(filepath.Dir(missing), path)
				return []string{filepath.Join(above, way), filepath.Join(above, filepath.Base(missing))}
			}
			if missing == filepath.Dir(missing) {
				return nil
			}
		}
	}
	at := filepath.Join(dir, filepath.Base(path))
	target, err := os.Readlink(at)
	if err != nil || links == 0 {
		return []string{at}
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return append([]string{at}, real(target, links-1)...)
}

func (n *Named) inside(path string) bool { return holds(n.line.Workspace, path) }

// concerns reports whether a path is to be looked at.
func (n *Named) concerns(path string) bool {
	if n.inside(path) || holds(path, n.line.Workspace) && path == string(filepath.Separator) {
		return false
	}
	for _, kernels := range []string{"/proc", "/sys", "/dev"} {
		if holds(kernels, path) && !holds("/dev/shm", path) {
			return false
		}
	}
	return !slices.ContainsFunc(n.line.Open, func(open string) bool { return holds(open, path) })
}

// holds reports whether a path is a directory or something below it.
func holds(dir, path string) bool {
	if dir == "" || path == dir {
		return path == dir
	}
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// Place is one that is watched.
type Place struct {
	// Name is how people know it: with ~ for the user's home.
	Name string
	// Path is where it is, absolute.
	Path string
	// quiet are beginnings of names in a directory that programs change in the course of their use.
	quiet []string
}

// inHome are the places below the home directory: what a shell, a session or git runs or obeys, who may log in, and what clients
// of this server start.
const inHome = `.profile .bash_profile .bash_login .bash_logout .bash_aliases .bashrc .inputrc
	.zshenv .zprofile .zshrc .zlogin .zlogout .kshrc .cshrc .tcshrc .login
	.xprofile .xinitrc .xsession .xsessionrc .pam_environment
	.gitconfig .git-credentials .netrc .npmrc .yarnrc .yarnrc.yml .pypirc .vimrc .tmux.conf
	.cargo/config.toml .cargo/env .docker/config.json .kube/config .gnupg/gpg.conf .gnupg/gpg-agent.conf
	.local/bin bin
	.cursor/mcp.json .cursor/hooks.json .claude/settings.json .codeium/windsurf/mcp_config.json .vscode/mcp.json`

// inConfig are those below the user's directory for configuration.
const inConfig = `orchestra-mcp git autostart systemd/user environment.d fish fish/conf.d fish/functions pip/pip.conf nvim/init.lua nvim/init.vim
	Code/User/settings.json Code/User/mcp.json Code/User/tasks.json Cursor/User/settings.json Claude/claude_desktop_config.json`

// ofTheSystem are those that only root can write, who may be the server's user.
const ofTheSystem = `/etc/passwd /etc/sudoers /etc/sudoers.d /etc/crontab /etc/cron.d /etc/profile /etc/profile.d /etc/bash.bashrc
	/etc/ld.so.preload /etc/gitconfig /etc/orchestra-mcp`

// Places are those of a user, by the environment that a command's server has; those of the system only where this process is root's.
// own is the directory of the server's own configuration. What lies in the workspace is left out: that is looked at as a whole.
func Places(environ []string, user, own, workspace string) []Place {
	return slices.DeleteFunc(Known(environ, user, own), func(p Place) bool {
		way, err := filepath.Rel(workspace, p.Path)
		return err == nil && filepath.IsLocal(way)
	})
}

// Known are all of them, wherever the workspace is.
func Known(environ []string, user, own string) []Place {
	var places []Place
	add := func(name, path string) { places = append(places, Place{Name: name, Path: path}) }
	home := lookup(environ, "HOME")
	if runtime.GOOS == "windows" {
		home = lookup(environ, "USERPROFILE")
	}
	if filepath.IsAbs(home) {
		for name := range strings.FieldsSeq(inHome) {
			add("~/"+name, filepath.Join(home, name))
		}
		// What ssh and its agent write by themselves.
		places = append(places, Place{Name: "~/.ssh", Path: filepath.Join(home, ".ssh"), quiet: strings.Fields("known_hosts cm- control agent sockets S.")})
		config := lookup(environ, "XDG_CONFIG_HOME")
		if !filepath.IsAbs(config) {
			config = filepath.Join(home, ".config")
		}
		for name := range strings.FieldsSeq(inConfig) {
			add(shown(home, filepath.Join(config, name)), filepath.Join(config, name))
		}
		if runtime.GOOS == "darwin" {
			add("~/Library/LaunchAgents", filepath.Join(home, "Library", "LaunchAgents"))
			add("~/Library/Application Support/Claude/claude_desktop_config.json", filepath.Join(home, "Library", "Application Support", "Claude", "claude_desktop_config.json"))
		}
		if filepath.IsAbs(own) && own != filepath.Join(config, "orchestra-mcp") {
			add(shown(home, own), own)
		}
	}
	if runtime.GOOS != "windows" {
		for dir := range strings.FieldsSeq("/var/spool/cron/crontabs /var/spool/cron /var/cron/tabs") {
			if user != "" && !strings.ContainsAny(user, `/\`) {
				add(dir+"/"+user, filepath.Join(dir, user))
			}
		}
	}
	if os.Geteuid() == 0 {
		for name := range strings.FieldsSeq(ofTheSystem) {
			add(name, name)
		}
	}
	return places
}

// shown writes a path below the home with ~.
func shown(home, path string) string {
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
		return "~/" + filepath.ToSlash(rest)
	}
	return filepath.ToSlash(path)
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}
