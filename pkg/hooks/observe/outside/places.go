package outside

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Place is one that is watched.
type Place struct {
	// Name is how people know it: with ~ for the user's home.
	Name string
	path string
	// quiet are beginnings of names in a directory that programs change in the course of their use.
	quiet []string
}

// Path is where it is, absolute.
func (p Place) Path() string { return p.path }

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

// Places are those of a user, by the environment that a command's server has;
// those of the system only where this process is root's. own is the directory of the server's own configuration. What lies in
// the workspace is left out: that is looked at as a whole.
func Places(environ []string, user, own, workspace string) []Place {
	return slices.DeleteFunc(Known(environ, user, own), func(p Place) bool {
		way, err := filepath.Rel(workspace, p.path)
		return err == nil && filepath.IsLocal(way)
	})
}

// Known are all of them, wherever the workspace is.
func Known(environ []string, user, own string) []Place {
	var places []Place
	add := func(name, path string) { places = append(places, Place{Name: name, path: path}) }
	home := lookup(environ, "HOME")
	if runtime.GOOS == "windows" {
		home = lookup(environ, "USERPROFILE")
	}
	if filepath.IsAbs(home) {
		for name := range strings.FieldsSeq(inHome) {
			add("~/"+name, filepath.Join(home, name))
		}
		// What ssh and its agent write by themselves.
		places = append(places, Place{Name: "~/.ssh", path: filepath.Join(home, ".ssh"), quiet: strings.Fields("known_hosts cm- control agent sockets S.")})
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
