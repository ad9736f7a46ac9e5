// Package rotation moves lines from a file that is appended to into archives.
//
// # Promise
//
// A crash at any instruction leaves each line in the file, in an archive, or in both. Nobody who appends waits for more than
// the last step. Archives are on disk before they have their names.
//
// # Rotation
//
// When a file is longer than its limit, all but its last eighth is moved into archives, in the background. What
// stays in any case are its heads, so that a writer finds the heads of the ledger in the file that it appends to, and
// garbage, so that it can be cleaned away. Archives and the file with what is left are written below state/rotate/
// without the lock. Under it, if the file is still the one that was read and its beginning is unchanged, what was
// appended meanwhile is added, the archives are put in place, then the file; each is flushed before. One process rotates
// at a time: it holds a flock on state/rotate/, and removes what a killed one left there.
//
// A reader whose file was replaced after it had listed the segments begins again.
package rotation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// rotateDir has the files of the one rotation that is under way in a workspace. Whoever holds the lock on it may remove
// what a rotation that was killed left there.
const (
	rotateDir  = segment.Home + "/" + segment.StateDir + "/rotate"
	rotateLock = segment.Home + "/" + segment.StateDir + "/rotate.lock"
)

// File moves the lines of a file into archives of limit bytes of lines each, but for the last eighth of limit. One
// process at a time does so, for one file at a time: where another one is at it, nothing is to do. It waits for the lock of
// writers no longer than wait.
func File(ctx context.Context, root *os.Root, d segment.Disk, name string, limit int64, wait time.Duration) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("rotate %s: %w", name, err)
		}
	}()
	release, err := tryRotation(root)
	if err != nil || release == nil {
		return err
	}
	defer release()
	m := Move{Root: root, Disk: d, name: name, Limit: limit}
	defer m.close()
	if err := m.prepare(ctx); err != nil {
		return err
	}
	unlock, err := segment.Lock(ctx, root, true, wait)
	if err != nil {
		return err
	}
	defer unlock()
	return m.publish(ctx)
}

// LockRotation is tryRotation for who can wait.
func LockRotation(ctx context.Context, root *os.Root) (release func(), err error) {
	return segment.WaitFor(ctx, segment.MendLockWait, func() (func(), error) { return tryRotation(root) })
}

// tryRotation gives an empty rotateDir to one process at a time, and neither that nor an error while another one has it.
func tryRotation(root *os.Root) (release func(), err error) {
	for _, dir := range []string{path.Dir(rotateDir), rotateDir} {
		if err := segment.MakeDir(root, dir, 0o700); err != nil {
			return nil, err
		}
	}
	file, err := segment.OpenLock(root, rotateLock, true)
	if err != nil {
		return nil, err
	}
	unlock, err := segment.TryLockFile(root, rotateLock, file, true)
	if err != nil || unlock == nil {
		return nil, err
	}
	clear := func() { // what cannot be removed the next rotation tries again
		names, _ := segment.ReadNames(root, rotateDir)
		for _, name := range names {
			_ = root.Remove(path.Join(rotateDir, name))
		}
	}
	clear()
	return func() { clear(); unlock() }, nil
}

const DefaultSize = 16 << 20 // bytes of an archive's lines

// TailShare is how much of SegmentSize stays in the file that is appended to: what was last is asked for most.
const TailShare = 8

// packed is an archive on disk that is not in its place yet. Both names are relative to the workspace.
type packed struct{ at, name string }

// Packer writes the lines that it gets into archives of limited size.
type Packer struct {
	*Move
	file  *os.File
	at    string
	hash  hash.Hash
	text  *framed.Writer
	first []byte
	size  int64
}

func (p *Packer) Add(line segment.Line) error {
	if p.file != nil && p.size+line.Size > p.Limit {
		if err := p.End(); err != nil {
			return err
		}
	}
	if p.file == nil {
		if err := p.begin(line); err != nil {
			return err
		}
	}
	p.size += line.Size
	_, err := p.text.Write(line.Data)
	if err == nil {
		_, err = p.text.Write(line.LineEnd())
	}
	return err
}

func (p *Packer) begin(line segment.Line) (err error) {
	p.at = path.Join(rotateDir, strconv.Itoa(len(p.packed))+segment.ArchiveSuffix)
	if p.file, err = p.Root.OpenFile(p.at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if err := p.file.Chmod(p.Mode); err != nil {
		return err
	}
	p.hash, p.first, p.size = sha256.New(), bytes.Clone(line.Data), 0
	p.text, err = framed.NewWriter(io.MultiWriter(diskWriter{p.Disk, p.file}, p.hash))
	return err
}

// End brings the archive that is being written to disk.
func (p *Packer) End() error {
	if p.file == nil {
		return nil
	}
	err := p.text.Close()
	if err == nil {
		err = p.Disk.Flush(p.file)
	}
	err = errors.Join(err, p.file.Close())
	p.file = nil
	if err != nil {
		return fmt.Errorf("write an archive: %w", err)
	}
	p.packed = append(p.packed, packed{at: p.at, name: path.Join(segment.Home, segment.ArchiveName(p.first, p.hash.Sum(nil)))})
	return nil
}

func (p *Packer) Close() {
	if p.file != nil {
		p.file.Close()
	}
}

// Move is one rotation of one file. What it prepares, without the lock, are the archives and the file that shall stand in
// the place of the old one; all is on disk before anything is put in place, the archives first. So a crash at any
// instruction leaves each line in the file, in an archive, or in both.
type Move struct {
	Root  *os.Root
	Disk  segment.Disk
	name  string      // of the file, relative to the workspace
	Limit int64       // bytes of an archive's lines
	Mode  fs.FileMode // of what is written

	source *os.File
	info   fs.FileInfo
	size   int64 // when it was opened
	cut    int64 // where the lines begin that stay
	heads  []record.Hash
	kept   []span // before the cut, that stay too
	seed   maphash.Seed
	before uint64 // the hash of all before the cut
	packed []packed
	rest   *os.File // what shall stand under the name
}

type span struct{ from, to int64 }

const (
	restName = rotateDir + "/rest" + segment.LineSuffix
	maxKept  = 1 << 12
)

var errTooLittle = errors.New("too little of it can go into an archive: most of its lines are no records, or no record follows them; run `orchestra-mcp verify`")

func (m *Move) prepare(ctx context.Context) (err error) {
	if m.source, m.info, err = durable.OpenRegularIn(m.Root, m.name, os.O_RDONLY); err != nil {
		return err
	}
	m.size, m.Mode = m.info.Size(), m.info.Mode().Perm()
	if err := m.plan(ctx); err != nil {
		return err
	}
	m.seed = maphash.MakeSeed()
	if m.before, err = m.hashBefore(ctx); err != nil {
		return err
	}
	if err := m.pack(ctx); err != nil {
		return err
	}
	return m.prepareRest()
}

// plan finds the cut, which never stands behind a torn line, and the heads.
func (m *Move) plan(ctx context.Context) (err error) {
	tail := m.size - m.Limit/TailShare
	cut := false
	m.heads, err = segment.FindHeads(segment.ReaderAt{Ctx: ctx, ReaderAt: m.source}, m.size, func(line segment.Line, _ record.Hash, _ record.LineKind) {
		cut = cut || line.Offset >= tail
		if !cut {
			m.cut = line.Offset + line.Size
		}
	})
	return err
}

func (m *Move) hashBefore(ctx context.Context) (uint64, error) {
	var h maphash.Hash
	h.SetSeed(m.seed)
	_, err := io.Copy(&h, io.NewSectionReader(segment.ReaderAt{Ctx: ctx, ReaderAt: m.source}, 0, m.cut))
	return h.Sum64(), err
}

// pack writes the archives. What stays although it stands before the cut are lines that nobody follows, since a writer
// looks for heads only in the file that it appends to, and lines that are garbage, so that a person can clean them away.
func (m *Move) pack(ctx context.Context) error {
	p := Packer{Move: m}
	defer p.Close()
	moved := int64(0)
	err := segment.Forward(io.NewSectionReader(segment.ReaderAt{Ctx: ctx, ReaderAt: m.source}, 0, m.cut), 0, func(line segment.Line) error {
		id, _, kind := segment.ReadChain(line)
		if kind == record.LineGarbage || slices.Contains(m.heads, id) {
			return m.keep(line)
		}
		moved += line.Size
		return p.Add(line)
	})
	if err == nil && moved < m.Limit/2 {
		err = errTooLittle
	}
	if err != nil {
		return err
	}
	return p.End()
}

func (m *Move) keep(line segment.Line) error {
	if last := len(m.kept) - 1; last >= 0 && m.kept[last].to == line.Offset {
		m.kept[last].to += line.Size
		return nil
	}
	if len(m.kept) == maxKept {
		return errTooLittle
	}
	m.kept = append(m.kept, span{line.Offset, line.Offset + line.Size})
	return nil
}

// prepareRest writes what the file had when it was opened and shall keep.
func (m *Move) prepareRest() (err error) {
	m.rest, err = m.Root.OpenFile(restName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := m.rest.Chmod(m.Mode); err != nil {
		return err
	}
	for _, part := range append(m.kept, span{m.cut, m.size}) {
		if err := m.carry(part); err != nil {
			return err
		}
	}
	return m.Disk.Flush(m.rest)
}

func (m *Move) carry(part span) error {
	_, err := io.Copy(diskWriter{m.Disk, m.rest}, io.NewSectionReader(m.source, part.from, part.to-part.from))
	return err
}

// publish puts everything in place. The lock is held: nobody appends. A file that is not the one that was prepared from
// (git put another one there, or somebody wrote in it) is left alone.
func (m *Move) publish(ctx context.Context) error {
	info, err := m.Root.Lstat(m.name)
	if err != nil || !os.SameFile(info, m.info) || info.Size() < m.size {
		return nil
	}
	if before, err := m.hashBefore(ctx); err != nil || before != m.before {
		return err
	}
	if info.Size() > m.size {
		if err := m.carry(span{m.size, info.Size()}); err != nil {
			return err
		}
		if err := m.Disk.Flush(m.rest); err != nil {
			return err
		}
	}
	undo, err := m.PublishArchives()
	if err == nil {
		err = m.Disk.Rename(m.Root, restName, m.name)
	}
	if err != nil {
		undo() // the file has all lines still
		return err
	}
	return segment.FlushDir(m.Root, m.Disk, path.Dir(m.name))
}

// PublishArchives returns what takes those away again that were not there before.
func (m *Move) PublishArchives() (undo func(), err error) {
	var fresh []string
	undo = func() {
		for _, name := range fresh {
			_ = m.Root.Remove(name)
		}
	}
	dir := path.Join(segment.Home, segment.ArchiveDir)
	if err := segment.MakeDir(m.Root, dir, 0o755); err != nil {
		return undo, err
	}
	for _, a := range m.packed {
		_, err := m.Root.Lstat(a.name)
		if errors.Is(err, fs.ErrNotExist) {
			fresh = append(fresh, a.name)
		}
		if err := m.Disk.Rename(m.Root, a.at, a.name); err != nil {
			return undo, err
		}
	}
	if err := segment.FlushDir(m.Root, m.Disk, dir); err != nil {
		return undo, err
	}
	return undo, segment.FlushDir(m.Root, m.Disk, segment.Home)
}

func (m *Move) close() {
	for _, file := range []*os.File{m.source, m.rest} {
		if file != nil {
			file.Close()
		}
	}
}

// diskWriter writes through what tests make fail.
type diskWriter struct {
	disk segment.Disk
	file *os.File
}

func (w diskWriter) Write(p []byte) (int, error) {
	n, err := w.disk.Write(w.file, p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
