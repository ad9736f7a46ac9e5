package ledger

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// move is one rotation of one file. What it prepares, without the lock, are the archives and the file that shall stand in
// the place of the old one; all is on disk before anything is put in place, the archives first. So a crash at any
// instruction leaves each line in the file, in an archive, or in both.
type move struct {
	root  *os.Root
	disk  disk
	name  string      // of the file, relative to the workspace
	limit int64       // bytes of an archive's lines
	mode  fs.FileMode // of what is written

	source *os.File
	info   fs.FileInfo
	size   int64 // when it was opened
	cut    int64 // where the lines begin that stay
	heads  []digest
	kept   []span // before the cut, that stay too
	seed   maphash.Seed
	before uint64 // the hash of all before the cut
	packed []packed
	rest   *os.File // what shall stand under the name
}

type span struct{ from, to int64 }

const (
	restName = rotateDir + "/rest" + lineSuffix
	maxKept  = 1 << 12
)

var errTooLittle = errors.New("too little of it can go into an archive: most of its lines are no records, or no record follows them; run `orchestra-mcp verify`")

func (m *move) prepare(ctx context.Context) (err error) {
	if m.source, m.info, err = openRegular(m.root, m.name, os.O_RDONLY); err != nil {
		return err
	}
	m.size, m.mode = m.info.Size(), m.info.Mode().Perm()
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
func (m *move) plan(ctx context.Context) (err error) {
	tail := m.size - m.limit/tailShare
	cut := false
	m.heads, err = findHeads(readerAt{ctx, m.source}, m.size, func(line rawLine, _ digest, _ lineKind) {
		cut = cut || line.offset >= tail
		if !cut {
			m.cut = line.offset + line.size
		}
	})
	return err
}

func (m *move) hashBefore(ctx context.Context) (uint64, error) {
	var h maphash.Hash
	h.SetSeed(m.seed)
	_, err := io.Copy(&h, io.NewSectionReader(readerAt{ctx, m.source}, 0, m.cut))
	return h.Sum64(), err
}

// pack writes the archives. What stays although it stands before the cut are lines that nobody follows, since a writer
// looks for heads only in the file that it appends to, and lines that are garbage, so that a person can clean them away.
func (m *move) pack(ctx context.Context) error {
	p := packer{move: m}
	defer p.close()
	moved := int64(0)
	err := forward(io.NewSectionReader(readerAt{ctx, m.source}, 0, m.cut), 0, func(line rawLine) error {
		id, _, kind := readChain(line)
		if kind == lineGarbage || slices.Contains(m.heads, id) {
			return m.keep(line)
		}
		moved += line.size
		return p.add(line)
	})
	if err == nil && moved < m.limit/2 {
		err = errTooLittle
	}
	if err != nil {
		return err
	}
	return p.end()
}

func (m *move) keep(line rawLine) error {
	if last := len(m.kept) - 1; last >= 0 && m.kept[last].to == line.offset {
		m.kept[last].to += line.size
		return nil
	}
	if len(m.kept) == maxKept {
		return errTooLittle
	}
	m.kept = append(m.kept, span{line.offset, line.offset + line.size})
	return nil
}

// prepareRest writes what the file had when it was opened and shall keep.
func (m *move) prepareRest() (err error) {
	m.rest, err = m.root.OpenFile(restName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := m.rest.Chmod(m.mode); err != nil {
		return err
	}
	for _, part := range append(m.kept, span{m.cut, m.size}) {
		if err := m.carry(part); err != nil {
			return err
		}
	}
	return m.disk.flush(m.rest)
}

func (m *move) carry(part span) error {
	_, err := io.Copy(diskWriter{m.disk, m.rest}, io.NewSectionReader(m.source, part.from, part.to-part.from))
	return err
}

// publish puts everything in place. The lock is held: nobody appends. A file that is not the one that was prepared from
// (git put another one there, or somebody wrote in it) is left alone.
func (m *move) publish(ctx context.Context) error {
	info, err := m.root.Lstat(m.name)
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
		if err := m.disk.flush(m.rest); err != nil {
			return err
		}
	}
	undo, err := m.publishArchives()
	if err == nil {
		err = m.disk.rename(m.root, restName, m.name)
	}
	if err != nil {
		undo() // the file has all lines still
		return err
	}
	return flushDirNamed(m.root, m.disk, path.Dir(m.name))
}

// publishArchives returns what takes those away again that were not there before.
func (m *move) publishArchives() (undo func(), err error) {
	var fresh []string
	undo = func() {
		for _, name := range fresh {
			_ = m.root.Remove(name)
		}
	}
	dir := path.Join(home, archiveDir)
	if err := makeDir(m.root, dir, 0o755); err != nil {
		return undo, err
	}
	for _, a := range m.packed {
		_, err := m.root.Lstat(a.name)
		if errors.Is(err, fs.ErrNotExist) {
			fresh = append(fresh, a.name)
		}
		if err := m.disk.rename(m.root, a.at, a.name); err != nil {
			return undo, err
		}
	}
	if err := flushDirNamed(m.root, m.disk, dir); err != nil {
		return undo, err
	}
	return undo, flushDirNamed(m.root, m.disk, home)
}

func (m *move) close() {
	for _, file := range []*os.File{m.source, m.rest} {
		if file != nil {
			file.Close()
		}
	}
}

// readerAt stops reading when the context ends.
type readerAt struct {
	ctx context.Context
	io.ReaderAt
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, off)
}

// diskWriter writes through what tests make fail.
type diskWriter struct {
	disk disk
	file *os.File
}

func (w diskWriter) Write(p []byte) (int, error) {
	n, err := w.disk.write(w.file, p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
