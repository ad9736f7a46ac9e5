package mend

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ErrUnresolvable: a segment with a conflict has a line that is neither a record, nor another tool's JSON object, nor a
// conflict marker. Nothing was changed.
var ErrUnresolvable = errors.New("the conflict cannot be resolved")

// Unmerged is a segment that git could not merge, with the contents that its index keeps.
type Unmerged struct {
	Segment string // relative to .orchestration
	Sides   []Side
}

// Side is one of the contents of an unmerged segment.
type Side struct {
	Name string // for people
	Open func() (io.ReadCloser, error)
}

// Resolution is what became of one segment.
type Resolution struct {
	File       string `json:"file"`       // relative to the workspace
	Lines      int    `json:"lines"`      // that it has now
	Markers    int    `json:"markers"`    // conflict markers that were taken out
	Added      int    `json:"added"`      // lines that only git's index had
	Duplicates int    `json:"duplicates"` // lines that stood there more than once
}

// Conflicts rewrites each segment that has conflict markers or is among the unmerged ones: the lines of all sides
// stay, byte for byte, each once, first those of the file in their order, then those that only a side has. Conflict
// markers, repeated lines and blank lines go, and nothing else: with any other line the error is ErrUnresolvable, and no
// segment is changed. Each file is replaced as a whole and is on disk when Conflicts returns.
func Conflicts(ctx context.Context, root *os.Root, unmerged []Unmerged) ([]Resolution, error) {
	root, release, err := lock(ctx, root, "resolve conflicts in the ledger")
	if err != nil {
		return nil, err
	}
	defer release()
	names, err := segment.SegmentNames(root)
	if err != nil {
		return nil, fmt.Errorf("resolve conflicts in the ledger: %w", err)
	}
	sides := map[string][]Side{}
	for _, u := range unmerged {
		if isLiveSegment(u.Segment) {
			sides[u.Segment] = u.Sides
			names = append(names, u.Segment)
		}
	}
	slices.Sort(names)
	var ready []*resolver
	defer func() {
		for _, r := range ready {
			r.discard()
		}
	}()
	for _, name := range slices.Compact(names) {
		if !isLiveSegment(name) {
			continue
		}
		r := &resolver{root: root, name: name, seen: map[record.Hash]bool{}}
		ready = append(ready, r)
		if err := r.prepare(ctx, sides[name]); err != nil {
			return nil, fmt.Errorf("resolve conflicts in the ledger: %w", err)
		}
	}
	var done []Resolution
	for _, r := range ready {
		if r.temp == nil {
			continue
		}
		if err := r.replace(); err != nil {
			return done, fmt.Errorf("resolve conflicts in the ledger: replace %s: %w", r.result.File, err)
		}
		done = append(done, r.result)
	}
	return done, nil
}

// isLiveSegment tells the segments that lines are appended to; an archive is never in conflict with itself.
func isLiveSegment(name string) bool {
	base := strings.TrimPrefix(name, segment.TraceDir+"/")
	return name == segment.SingleName || name != base && strings.HasSuffix(base, segment.LineSuffix) && !strings.ContainsAny(base, `/\`)
}

// resolver makes the new content of one segment beside the old one.
type resolver struct {
	root   *os.Root
	name   string // relative to .orchestration
	seen   map[record.Hash]bool
	mode   fs.FileMode
	temp   *os.File // nil if there is nothing to resolve
	file   string   // temp's name, relative to the workspace
	out    *bufio.Writer
	result Resolution
}

func (r *resolver) prepare(ctx context.Context, sides []Side) error {
	r.mode = 0o644
	file, info, err := durable.OpenRegularIn(r.root, path.Join(segment.Home, r.name), os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(sides) > 0: // deleted on one side
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && len(sides) == 0:
		return nil // a problem for Verify to report
	case err != nil:
		return err
	default:
		defer file.Close()
		r.mode = info.Mode().Perm()
		if marked, err := hasMarkers(file); err != nil || !marked && len(sides) == 0 {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	if err := r.begin(); err != nil {
		return err
	}
	if file != nil {
		if err := r.take(ctx, path.Join(segment.Home, r.name), file); err != nil {
			return err
		}
	}
	before := r.result.Lines
	for _, side := range sides {
		if err := r.takeSide(ctx, side); err != nil {
			return err
		}
	}
	r.result.Added = r.result.Lines - before
	if err := r.out.Flush(); err != nil {
		return err
	}
	return segment.RealDisk().Flush(r.temp)
}

func (r *resolver) begin() (err error) {
	dir := path.Join(segment.Home, segment.StateDir)
	if err := segment.MakeDir(r.root, dir, 0o700); err != nil {
		return err
	}
	r.file = path.Join(dir, ".orchestra-merge-"+path.Base(r.name)+".tmp")
	if err := r.root.Remove(r.file); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that died here
		return err
	}
	r.result.File = path.Join(segment.Home, r.name)
	if r.temp, err = r.root.OpenFile(r.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, r.mode); err == nil {
		r.out = bufio.NewWriterSize(r.temp, 1<<20)
	}
	return err
}

func (r *resolver) takeSide(ctx context.Context, side Side) error {
	content, err := side.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", side.Name, err)
	}
	defer content.Close()
	duplicates := r.result.Duplicates
	err = r.take(ctx, side.Name, content)
	r.result.Duplicates = duplicates // a side has the lines of the file again as a matter of course
	return err
}

// take adds the lines of a content that are not there yet.
func (r *resolver) take(ctx context.Context, where string, content io.Reader) error {
	return segment.Forward(content, 0, func(line segment.Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case line.TooLong:
			return fmt.Errorf("%w: %s line %d is longer than any that this program writes", ErrUnresolvable, where, line.Number)
		case len(bytes.TrimSpace(line.Data)) == 0:
			return nil
		case isMarker(line.Data):
			r.result.Markers++
			return nil
		case !record.IsWhole(line.Data):
			return fmt.Errorf("%w: %s line %d is neither a record nor a conflict marker; nothing was changed: mend or delete "+
				"that line by hand, then run this again", ErrUnresolvable, where, line.Number)
		}
		id := record.Identity(line.Data)
		if r.seen[id] {
			r.result.Duplicates++
			return nil
		}
		r.seen[id] = true
		r.result.Lines++
		r.out.Write(line.Data)
		return r.out.WriteByte('\n')
	})
}

func (r *resolver) replace() error {
	defer r.discard()
	if err := r.temp.Close(); err != nil {
		return err
	}
	if dir := path.Dir(r.result.File); dir != segment.Home {
		if err := segment.MakeDir(r.root, dir, 0o755); err != nil {
			return err
		}
	}
	if err := r.root.Rename(r.file, r.result.File); err != nil {
		return err
	}
	r.file = ""
	return segment.FlushDir(r.root, segment.RealDisk(), path.Dir(r.result.File))
}

func (r *resolver) discard() {
	if r.temp != nil {
		r.temp.Close()
		r.temp = nil
		if r.file != "" {
			r.root.Remove(r.file)
		}
	}
}

const leastMarker = 7 // characters of a conflict marker, more where the attribute conflict-marker-size says so

// isMarker recognises the lines that git puts around the sides of a conflict, also those of diff3 and zdiff3.
func isMarker(line []byte) bool {
	if len(line) < leastMarker || !bytes.ContainsRune([]byte("<|=>"), rune(line[0])) {
		return false
	}
	rest := bytes.TrimLeft(line, string(line[0]))
	return len(line)-len(rest) >= leastMarker && (len(rest) == 0 || rest[0] == ' ')
}

func hasMarkers(content io.Reader) (marked bool, err error) {
	err = segment.Forward(content, 0, func(line segment.Line) error {
		if marked = !line.TooLong && isMarker(line.Data); marked {
			return segment.ErrEnough
		}
		return nil
	})
	if marked {
		err = nil
	}
	return marked, err
}
