package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strconv"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

// packed is an archive on disk that is not in its place yet. Both names are relative to the workspace.
type packed struct{ at, name string }

// packer writes the lines that it gets into archives of limited size.
type packer struct {
	*move
	file  *os.File
	at    string
	hash  hash.Hash
	text  *framed.Writer
	first []byte
	size  int64
}

func (p *packer) add(line rawLine) error {
	if p.file != nil && p.size+line.size > p.limit {
		if err := p.end(); err != nil {
			return err
		}
	}
	if p.file == nil {
		if err := p.begin(line); err != nil {
			return err
		}
	}
	p.size += line.size
	_, err := p.text.Write(line.data)
	if err == nil {
		_, err = p.text.Write(line.lineEnd())
	}
	return err
}

func (p *packer) begin(line rawLine) (err error) {
	p.at = path.Join(rotateDir, strconv.Itoa(len(p.packed))+archiveSuffix)
	if p.file, err = p.root.OpenFile(p.at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if err := p.file.Chmod(p.mode); err != nil {
		return err
	}
	p.hash, p.first, p.size = sha256.New(), bytes.Clone(line.data), 0
	p.text, err = framed.NewWriter(io.MultiWriter(diskWriter{p.disk, p.file}, p.hash))
	return err
}

// end brings the archive that is being written to disk.
func (p *packer) end() error {
	if p.file == nil {
		return nil
	}
	err := p.text.Close()
	if err == nil {
		err = p.disk.flush(p.file)
	}
	err = errors.Join(err, p.file.Close())
	p.file = nil
	if err != nil {
		return fmt.Errorf("write an archive: %w", err)
	}
	p.packed = append(p.packed, packed{at: p.at, name: path.Join(home, archiveName(p.first, p.hash.Sum(nil)))})
	return nil
}

func (p *packer) close() {
	if p.file != nil {
		p.file.Close()
	}
}
