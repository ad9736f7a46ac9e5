package history

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
)

// ErrNoHistory: there is no git, no repository, or no commit in it, so there is nothing to compare.
var ErrNoHistory = errors.New("there is no git history to compare")

// repository runs git on one repository.
type repository struct {
	dir string
}

// command keeps everything in the repository that could change what git says, or run a program, out of it.
func (r repository) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{
		"--no-replace-objects", "-c", "core.commitGraph=false", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.quotePath=false", "-c", "protocol.allow=never",
	}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(withoutGit(os.Environ()), "GIT_GRAFT_FILE="+os.DevNull, "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	return cmd
}

// withoutGit drops the variables by which a hook's or a caller's git would point elsewhere.
func withoutGit(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS":
		default:
			kept = append(kept, variable)
		}
	}
	return kept
}

// ask runs a git that answers with little.
func (r repository) ask(ctx context.Context, args ...string) (string, error) {
	cmd := r.command(ctx, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// commits calls visit for each commit of the range with its parents, children first. The selection is that of rev-list;
// what a person gave stands behind --end-of-options.
func (r repository) commits(ctx context.Context, visit func(commit string, parents []string) error, selection ...string) error {
	cmd := r.command(ctx, append([]string{"rev-list", "--parents", "--topo-order"}, selection...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20) // a merge may have many parents
	for err == nil && lines.Scan() {
		ids := strings.Fields(lines.Text())
		err = visit(ids[0], ids[1:])
	}
	if err == nil {
		err = lines.Err()
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git rev-list: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return nil
}

// objects answers requests for objects, one after the other, from one running git.
type objects struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
	rest int64 // of the object that is being read
	bare bool  // it gives no contents
}

// objects starts a git that gives objects with --batch, or with --batch-check only what they are.
func (r repository) objects(ctx context.Context, mode string) (*objects, error) {
	o := &objects{cmd: r.command(ctx, "cat-file", mode), bare: mode == "--batch-check"}
	o.cmd.Stderr = &o.errs
	in, err := o.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.in, o.out = in, bufio.NewReaderSize(out, 256<<10)
	return o, o.cmd.Start()
}

// object is what stands before an object's content.
type object struct {
	id, kind string
	size     int64
}

// open asks for an object by a name that git understands; none is an empty object. Its content is then read from o, and
// what is left of it is passed over by the next open.
func (o *objects) open(name string) (object, error) {
	if err := o.skip(); err != nil {
		return object{}, o.failed(err)
	}
	if strings.ContainsAny(name, "\n\x00") {
		return object{}, fmt.Errorf("the path of the workspace in the repository has a line break, which git's batch mode cannot take")
	}
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return object{}, o.failed(err)
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		return object{}, o.failed(err)
	}
	line = strings.TrimSuffix(line, "\n")
	if line == name+" missing" {
		return object{}, nil
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return object{}, fmt.Errorf("git cat-file: %s", line)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return object{}, fmt.Errorf("git cat-file: %s", line)
	}
	if !o.bare {
		o.rest = size + 1 // a newline ends it
	}
	return object{id: fields[0], kind: fields[1], size: size}, nil
}

// Read gives the content of the object that was opened last.
func (o *objects) Read(p []byte) (int, error) {
	if o.rest <= 1 {
		return 0, io.EOF
	}
	n, err := o.out.Read(p[:min(int64(len(p)), o.rest-1)])
	o.rest -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (o *objects) skip() error {
	n, err := io.CopyN(io.Discard, o.out, o.rest)
	o.rest -= n
	return err
}

// failed is for an answer that git did not give, which it does only by ending.
func (o *objects) failed(err error) error {
	o.in.Close()
	o.cmd.Wait() // what it said is complete then
	return fmt.Errorf("git cat-file: %w: %s", err, strings.TrimSpace(o.errs.String()))
}

func (o *objects) close() {
	o.in.Close()
	o.cmd.Process.Kill() // it may be in the middle of an object that nobody wants
	o.cmd.Wait()
}
