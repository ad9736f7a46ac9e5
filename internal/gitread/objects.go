package gitread

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// IsID reports whether a text is a whole id of an object, and so nothing else that git takes for a name.
func IsID(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// FileMode is the mode that trees have for a regular file with these permissions: git looks at the owner's bit alone.
func FileMode(mode fs.FileMode) string {
	if mode&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

// Objects answers requests for objects, one after the other, from one running git.
type Objects struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
	rest int64 // of the object that is being read
	bare bool  // it gives no contents
}

// Objects starts a git that gives objects with --batch, or with --batch-check only what they are.
func (r Repository) Objects(ctx context.Context, mode string) (*Objects, error) {
	if err := r.Plain(); err != nil {
		return nil, err
	}
	o := &Objects{cmd: r.Command(ctx, "cat-file", mode), bare: mode == "--batch-check"}
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
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	return o, nil
}

// Object is what stands before an object's content. The zero value is no object.
type Object struct {
	ID, Kind string
	Size     int64 // in bytes
}

// Open asks for an object by a name that git understands; none is an empty object. Its content is then read from o, and
// what is left of it is passed over by the next Open.
func (o *Objects) Open(name string) (Object, error) {
	defer o.patiently()()
	if err := o.skip(); err != nil {
		return Object{}, o.Failed(err)
	}
	if strings.ContainsAny(name, "\n\x00") {
		return Object{}, fmt.Errorf("the path of the workspace in the repository has a line break, which git's batch mode cannot take")
	}
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return Object{}, o.Failed(err)
	}
	found, err := o.header(name)
	if err != nil && !errors.Is(err, errAnswer) {
		err = o.Failed(err)
	}
	return found, err
}

var errAnswer = errors.New("git cat-file")

// header reads "ID TYPE SIZE", or a line that says why there is no such object.
func (o *Objects) header(name string) (Object, error) {
	line, err := o.out.ReadString('\n')
	if err != nil {
		return Object{}, err
	}
	line = strings.TrimSuffix(line, "\n")
	if line == name+" missing" {
		return Object{}, nil
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return Object{}, fmt.Errorf("%w: %s", errAnswer, line)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 || size == math.MaxInt64 {
		return Object{}, fmt.Errorf("%w: %s", errAnswer, line)
	}
	if !o.bare {
		o.rest = size + 1 // a newline ends it
	}
	return Object{ID: fields[0], Kind: fields[1], Size: size}, nil
}

// Read gives the content of the object that was opened last.
func (o *Objects) Read(p []byte) (int, error) {
	if o.rest <= 1 {
		return 0, io.EOF
	}
	defer o.patiently()()
	n, err := o.out.Read(p[:min(int64(len(p)), o.rest-1)])
	o.rest -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Blob gives the content of a blob of at most so many bytes, by a name that git understands; nil if there is none.
func (o *Objects) Blob(name string, most int64) ([]byte, error) {
	found, err := o.Open(name)
	if err != nil || found.Kind != "blob" || found.Size > most {
		return nil, err
	}
	content := make([]byte, found.Size)
	if _, err := io.ReadFull(o, content); err != nil {
		return nil, o.Failed(err)
	}
	return content, nil
}

// TreeEntry is what a tree has under one name.
type TreeEntry struct{ Mode, Name, ID string }

// ParseTree reads a tree object, whose ids have so many digits: mode, space, name, NUL and the raw id of each entry.
func ParseTree(content []byte, digits int) (entries []TreeEntry, ok bool) {
	size := hex.DecodedLen(digits)
	for len(content) > 0 {
		head, rest, ended := bytes.Cut(content, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ended || !named || name == "" || strings.Contains(name, "/") || len(rest) < size {
			return nil, false
		}
		entries = append(entries, TreeEntry{mode, name, hex.EncodeToString(rest[:size])})
		content = rest[size:]
	}
	return entries, true
}

// patiently ends git where it is silent for too long, until the function that it gives is called.
func (o *Objects) patiently() (done func()) {
	if o.cmd == nil {
		return func() {}
	}
	timer := time.AfterFunc(patience, func() { o.cmd.Process.Kill() })
	return func() { timer.Stop() }
}

func (o *Objects) skip() error {
	n, err := io.CopyN(io.Discard, o.out, o.rest)
	o.rest -= n
	return err
}

// Failed ends git after an answer that git did not give, which it does only by ending.
func (o *Objects) Failed(err error) error {
	o.in.Close()
	o.cmd.Wait() // what it said is complete then
	return fmt.Errorf("git cat-file: %w: %s", err, strings.TrimSpace(o.errs.String()))
}

// Close ends git. It returns nil.
func (o *Objects) Close() error {
	o.in.Close()
	o.cmd.Process.Kill() // it may be in the middle of an object that nobody wants
	o.cmd.Wait()
	return nil
}
