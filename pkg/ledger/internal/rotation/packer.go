package rotation

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
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

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
