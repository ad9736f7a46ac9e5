package sandbox

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

// maxMasks is half of the mounts that a namespace may have (fs.mount-max), and takes a second to put in place.
const maxMasks = 50_000

// plan is what the helper does for a command in this layout, which connects its sockets by a supervisor or has no Unix sockets.
func (l *layout) plan(cmd *exec.Cmd, supervised bool) (*helper.Plan, error) {
	p := &helper.Plan{Path: cmd.Path, Args: cmd.Args, Env: cmd.Environ(), Layers: l.profile.Layers, Devices: strings.Fields(devices)}
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	if err := startIn(p, cmd.Dir); err != nil {
		return nil, err
	}
	l.cover(p)
	for path := range maps.Clone(l.kinds) { // the directories between a path and what is writable above
		for dir := filepath.Dir(path); l.kinds[dir] == 0 && holder(dir, l.kinds) == helper.Writable; dir = filepath.Dir(dir) {
			l.kinds[dir] = helper.Anchor
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l.kinds)) {
		if !p.Sees(path) {
			continue
		}
		mask := helper.Mask{Kind: l.kinds[path], Path: path, Content: l.contents[path]}
		if mask.Kind == helper.Writable {
			mask.Tree = uint32(len(p.Trees))
			p.Trees = append(p.Trees, path)
		}
		p.Masks = append(p.Masks, mask)
	}
	if len(p.Masks) > maxMasks {
		return nil, fmt.Errorf("%d paths inside of what is writable need a rule of their own, at most %d can have one; a narrower scope needs fewer", len(p.Masks), maxMasks)
	}
	if l.profile.DenyNetwork {
		p.Loopback = 1
	}
	p.MaxPID = maxPID(l.profile.MaxTasks)
	abi, err := syscall.LandlockGetABIVersion()
	if err != nil {
		return nil, fmt.Errorf("Landlock: %w", explained(err))
	}
	if err := l.landlock(p, abi); err != nil {
		return nil, fmt.Errorf("Landlock: %w", err)
	}
	if supervised {
		p.Supervised = 1
	}
	p.Filter, err = seccompFilter(supervised, l.tellsLinks(supervised))
	return p, err
}

// tellsLinks: it is said whether the command gave a file one more name. On layers nobody asks.
func (l *layout) tellsLinks(supervised bool) bool { return supervised && len(l.profile.Layers) == 0 }

// startIn finds the path of the directory that the command was to start in, and
// what tells it from another one that is put in its place.
func startIn(p *helper.Plan, dir string) error {
	if dir == "" {
		dir = "."
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the directory to start in: %w", err)
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return fmt.Errorf("look at the directory to start in: %w", err)
	}
	p.Dir, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	p.Device, p.Inode = info.Dev, info.Ino
	return err
}

// landlock is Landlock, which allows writing where the masks do. It knows nothing of what is frozen below. Of reading
// it leaves out the hidden files: a mask is gone for a moment when its file is replaced.
func (l *layout) landlock(p *helper.Plan, abi int) error {
	p.Landlock.Tree, p.Landlock.File = known(treeRights, abi), known(fileRights, abi)
	if abi >= abiScope {
		p.Landlock.Scoped = syscall.ScopeAbstractUnixSocket
	}
	p.Landlock.Allowed = append([]string{"/dev"}, l.writable()...)
	w, _ := l.profile.readable(Full)
	if w == nil {
		return nil // everything else can be read
	}
	p.Landlock.Tree, p.Landlock.File, p.Landlock.Read = p.Landlock.Tree|readRights, p.Landlock.File|readRights, readRights
	_, err := w.each(func(_ int, _, path string) error {
		p.Landlock.Readable = append(p.Landlock.Readable, path)
		return nil
	})
	return err
}

// layout is the paths that make a profile, with a rule of their own each, and what
// was put into the file system for them: it is there until release.
type layout struct {
	profile  *Profile
	kinds    map[string]helper.Kind
	contents map[string]string // of the kind helper.Content

	placeholders []*standing
}

func (l *layout) writable() []string {
	kinds := maps.Clone(l.kinds)
	maps.DeleteFunc(kinds, func(_ string, kind helper.Kind) bool { return kind != helper.Writable })
	return slices.Sorted(maps.Keys(kinds))
}

// addPaths adds what the profile names. Of the same path the strictest counts, and below something hidden nothing does.
func (l *layout) addPaths() error {
	kinds := map[string]helper.Kind{}
	for _, path := range append(slices.Clip(l.profile.Writable), l.profile.Temp) {
		if path != "" {
			kinds[path] = helper.Writable
		}
	}
	for _, frozen := range l.profile.Frozen {
		kinds[frozen.Path] = helper.Frozen
	}
	if err := errors.Join(hide(kinds, helper.Emptied, l.profile.Emptied), hide(kinds, helper.Hidden, l.profile.Hidden)); err != nil {
		return err
	}
	for path := range kinds {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return fmt.Errorf("the path %q is not absolute and clean", path)
		}
		for dir := range upward(path) {
			if kinds[dir] == helper.Hidden || kinds[dir] == helper.Emptied {
				delete(kinds, path)
			}
		}
	}
	return l.addEach(kinds)
}

// hide adds what exists of paths, by all names that the mounts give it.
func hide(kinds map[string]helper.Kind, kind helper.Kind, paths []string) error {
	for _, path := range aliases(paths) {
		if _, err := os.Lstat(path); err == nil {
			kinds[path] = kind
		} else if !isAbsent(err) {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

func (l *layout) addEach(kinds map[string]helper.Kind) error {
	for path, kind := range kinds {
		if kind != helper.Frozen {
			l.kinds[path] = kind
		}
	}
	for _, frozen := range l.profile.Frozen {
		if kinds[frozen.Path] != helper.Frozen || holder(frozen.Path, kinds) != helper.Writable {
			continue // hidden, or where nothing can be written anyway
		}
		standIn := l.standIn
		if len(l.profile.Layers) > 0 {
			standIn = l.standInLayer
		}
		path, err := standIn(frozen)
		if err != nil {
			return fmt.Errorf("freeze %s: %w", frozen.Path, err)
		}
		if path != "" && l.kinds[path] == 0 {
			l.kinds[path] = helper.Frozen
		}
	}
	for _, p := range l.placeholders {
		if p.directory || placeholder.InGit(p.path) {
			continue // which git does not add
		}
		if err := l.exclude(p.path); err != nil {
			return fmt.Errorf("keep git from adding %s: %w", p.path, err)
		}
	}
	return nil
}

// upward are the directories above a path, the nearest first.
func upward(path string) iter.Seq[string] {
	return func(yield func(dir string) bool) {
		for dir := filepath.Dir(path); yield(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		}
	}
}

// holder is the kind of the deepest entry above a path that says whether it can be written, 0 if there is none.
func holder(path string, kinds map[string]helper.Kind) helper.Kind {
	for dir := range upward(path) {
		if kind := kinds[dir]; kind != 0 && kind != helper.Anchor && kind != helper.Content {
			return kind
		}
	}
	return 0
}

// isAbsent: also below something that is no directory there is nothing.
func isAbsent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

func (l *layout) release() {
	for _, p := range l.placeholders {
		p.release()
	}
	l.placeholders = nil
}

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
			// Some systems find their programs by a link that stands here itself. What cannot be read is not there.
			entries, _ := durable.ReadDirectory(dir)
			for _, entry := range entries {
				path := filepath.Join(dir, entry.Name())
				if target, err := os.Readlink(path); err == nil {
					p.Links = append(p.Links, helper.Link{Path: path, Target: target})
				}
			}
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
	return gitdir.CommonDir(dir)
}
