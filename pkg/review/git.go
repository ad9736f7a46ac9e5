package review

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// repository asks git about commits. Nothing that a commit, a configuration file of the work tree, a graft or a
// replacement object says can change the answer or start a program.
type repository struct {
	dir string
	ctx context.Context
}

func (r repository) command(args ...string) *exec.Cmd {
	args = append([]string{
		"--no-replace-objects", "--literal-pathspecs", "-c", "core.commitGraph=false", "-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.quotePath=false", "-c", "protocol.allow=never",
	}, args...)
	cmd := exec.CommandContext(r.ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(withoutGit(os.Environ()), "GIT_GRAFT_FILE="+os.DevNull, "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	return cmd
}

// withoutGit drops the variables by which the git of a hook would point elsewhere.
func withoutGit(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
			"GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_ATTR_SOURCE":
		default:
			kept = append(kept, variable)
		}
	}
	return kept
}

func (r repository) ask(args ...string) (string, error) {
	out, err := r.command(args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(failed.Stderr))
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

func (r repository) commit(revision string) (string, error) {
	id, err := r.ask("rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil && r.ctx.Err() != nil {
		return "", r.ctx.Err()
	}
	return id, err
}

// The modes of tree entries that matter here.
const (
	modeNone   = "000000"
	modeLink   = "120000"
	modeCommit = "160000" // a submodule's commit
)

func isRegular(mode string) bool { return strings.HasPrefix(mode, "100") }

// difference is one entry of git's raw output. Paths are of the repository.
type difference struct {
	oldMode, newMode string
	oldID, newID     string
	oldPath, newPath string // the same but for renames
}

// differences compares two trees, with renames.
func (r repository) differences(from, to string) ([]difference, error) {
	out, err := r.ask("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M", "--no-ext-diff", "--ignore-submodules=none", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	var found []difference
	for fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"); len(fields) >= 2; {
		head := strings.Fields(strings.TrimPrefix(fields[0], ":"))
		if len(head) != 5 {
			return nil, fmt.Errorf("git diff-tree: %q is no entry", fields[0])
		}
		d := difference{head[0], head[1], head[2], head[3], fields[1], fields[1]}
		fields = fields[2:]
		if strings.HasPrefix(head[4], "R") && len(fields) > 0 {
			d.newPath, fields = fields[0], fields[1:]
		}
		found = append(found, d)
	}
	return found, nil
}

// treeEntry is a file of a commit.
type treeEntry struct {
	mode, id, path string
}

// list gives the files of a commit at or below a path.
func (r repository) list(commit, path string) ([]treeEntry, error) {
	out, err := r.ask("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit, path)
	if err != nil {
		return nil, err
	}
	var found []treeEntry
	for _, line := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		if fields := strings.Fields(head); ok && len(fields) == 3 {
			found = append(found, treeEntry{fields[0], fields[2], name})
		}
	}
	return found, nil
}

// objects reads objects from one running git.
type objects struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	rest int64 // of the object that was opened last, with the newline behind it
}

func (r repository) objects() (*objects, error) {
	o := &objects{cmd: r.command("cat-file", "--batch")}
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.out = bufio.NewReaderSize(out, 256<<10)
	return o, o.cmd.Start()
}

// open gives the kind and size of an object; no kind is no object. The id is hex: nothing else reaches git.
func (o *objects) open(id string) (kind string, size int64, err error) {
	if n, err := io.CopyN(io.Discard, o.out, o.rest); err != nil {
		o.rest -= n
		return "", 0, err
	}
	o.rest = 0
	if _, err := io.WriteString(o.in, id+"\n"); err != nil {
		return "", 0, err
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("git cat-file: %w", err)
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return "", 0, nil
	}
	if len(fields) != 3 {
		return "", 0, fmt.Errorf("git cat-file: %s", strings.TrimSpace(line))
	}
	if size, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		return "", 0, fmt.Errorf("git cat-file: %s", strings.TrimSpace(line))
	}
	o.rest = size + 1
	return fields[1], size, nil
}

// copyTo writes the object that was opened last.
func (o *objects) copyTo(w io.Writer) error {
	n, err := io.CopyN(w, o.out, o.rest-1)
	o.rest -= n
	return err
}

func (o *objects) close() {
	o.in.Close()
	o.cmd.Process.Kill() // it may be in the middle of an object that nobody wants
	o.cmd.Wait()
}

// blobs keeps the contents that are asked for again and again.
type blobs struct {
	objects *objects
	known   map[string][]byte
	held    int
	err     error // git failed, and every answer after it is nothing
}

const (
	maxText = 8 << 20   // of a file that is compared by lines
	maxHeld = 256 << 20 // of contents
)

// content gives a blob of at most maxText bytes by its id.
func (b *blobs) content(id string) ([]byte, bool) {
	if content, known := b.known[id]; known {
		return content, content != nil
	}
	if !isHex(id) || b.err != nil {
		return nil, false
	}
	content, err := b.read(id)
	if err != nil {
		b.err = err
		return nil, false
	}
	if b.held += len(content); b.held > maxHeld {
		clear(b.known)
		b.held = len(content)
	}
	b.known[id] = content
	return content, content != nil
}

func (b *blobs) read(id string) ([]byte, error) {
	kind, size, err := b.objects.open(id)
	if err != nil || kind != "blob" || size > maxText {
		return nil, err
	}
	var content bytes.Buffer
	content.Grow(int(size) + 1) // never nil
	err = b.objects.copyTo(&content)
	return content.Bytes()[:content.Len():content.Len()], err
}

func isHex(id string) bool {
	return len(id) >= 40 && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// isZero tells git's id for nothing.
func isZero(id string) bool { return strings.Trim(id, "0") == "" }
