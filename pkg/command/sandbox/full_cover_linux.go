package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

// cover puts the private directory in the place of the system's temporary ones, and nothing in that of the directories
// where daemons listen: whoever can talk to one of Docker, or of the user's session, can have anything done outside.
func (l *layout) cover(p *helper.Plan) {
	for _, dir := range l.covered() {
		p.Covers = append(p.Covers, helper.Cover{Path: dir, Tree: uint32(len(p.Trees))})
		p.Trees = append(p.Trees, l.profile.Temp)
	}
	for _, dir := range []string{"/run", "/var/run"} {
		if l.coverable(dir) {
			p.Covers = append(p.Covers, helper.Cover{Path: dir, Tree: helper.Empty})
			p.Links = append(p.Links, linksIn(dir)...)
		}
	}
	p.Kept = l.kept(p)
}

// covered are the system's temporary directories that the private one stands for.
func (l *layout) covered() (dirs []string) {
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if l.profile.Temp != "" && l.coverable(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (l *layout) coverable(dir string) bool {
	return isPlain(dir) && !slices.Contains(l.profile.Writable, dir) && l.profile.Workspace != dir
}

// linksIn are the links that stand in a directory itself: some systems find their programs by one in /run.
func linksIn(dir string) (links []helper.Link) {
	entries, _ := durable.ReadDirectory(dir) // what cannot be read is not there
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if target, err := os.Readlink(path); err == nil {
			links = append(links, helper.Link{Path: path, Target: target})
		}
	}
	return links
}

// kept are the outermost of the paths that must be seen although a cover lies over their place: the workspace, what is
// writable, the programs, and what names are resolved by.
func (l *layout) kept(p *helper.Plan) []string {
	candidates := append(l.writable(), l.profile.Workspace, p.Dir)
	for _, variable := range p.Env {
		switch name, value, _ := strings.Cut(variable, "="); name {
		case "HOME", "PATH":
			candidates = append(candidates, filepath.SplitList(value)...)
		}
	}
	if path, err := resolved("/etc/resolv.conf"); err == nil {
		candidates = append(candidates, path)
	}
	slices.Sort(candidates)
	var kept []string
	for _, path := range slices.Compact(candidates) {
		inKept := slices.ContainsFunc(kept, func(outer string) bool { return helper.Below(path, outer) })
		if !inKept && !p.Sees(path) && isPlain(path) {
			kept = append(kept, path)
		}
	}
	return kept
}

// isPlain reports whether a path exists and has no link in it.
func isPlain(path string) bool {
	real, err := resolved(path)
	return err == nil && real == path
}

func resolved(path string) (string, error) { return filepath.EvalSymlinks(path) }

// maxExclude bounds what is read of a repository's list of excluded files.
const maxExclude = 256 << 10

// exclude keeps git inside the profile from adding the placeholder of a file: the repository's own list of what it
// leaves out has it as well, in there. Where there is no such list, git adds an empty file.
func (l *layout) exclude(path string) error {
	top, list := excludeList(path)
	if list == "" {
		return nil
	}
	if l.kinds[list] == helper.Hidden {
		return nil
	}
	if l.kinds[list] != helper.Content {
		content, err := durable.ReadRegular(list, maxExclude)
		if err != nil {
			return fmt.Errorf("read the list of what git leaves out: %w", err)
		}
		l.kinds[list], l.contents[list] = helper.Content, string(content)
	}
	relative, err := filepath.Rel(top, path)
	if err != nil {
		return err
	}
	l.contents[list] += "\n/" + gitignoreQuote.Replace(filepath.ToSlash(relative)) + "\n"
	return nil
}

var gitignoreQuote = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)

// excludeList finds the work tree that a path is in, and the list; "" if there is none that can be relied on.
func excludeList(path string) (top, list string) {
	for top := range upward(path) {
		if dir := gitDirectory(filepath.Join(top, ".git")); dir != "" {
			list = filepath.Join(dir, "info", "exclude")
			info, err := os.Lstat(list)
			if err != nil || !info.Mode().IsRegular() || isPlaceholder(info) || !isPlain(list) {
				return top, ""
			}
			return top, list
		}
	}
	return "", ""
}

// gitDirectory is the directory that all work trees of the repository share.
func gitDirectory(dot string) string {
	dir := dot
	info, err := os.Lstat(dot)
	switch {
	case err != nil:
		return ""
	case info.Mode().IsRegular():
		dir = gitdir.Pointed(dot, "gitdir: ")
	case !info.IsDir():
		return ""
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); dir == "" || err != nil {
		return ""
	}
	return cmp.Or(gitdir.Pointed(filepath.Join(dir, "commondir"), ""), dir)
}
