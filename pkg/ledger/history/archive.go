package history

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

func isArchive(segment string) bool { return strings.HasPrefix(segment, archiveDir+"/") }

// damages are sentences about archives that cannot be read to their end.
type damages map[string]bool

// lines gives the lines of a segment from its content. An archive ends where it is damaged: what stands behind is not
// known, on whichever side.
func (d damages) lines(name, side string, content io.Reader) (io.Reader, error) {
	if !isArchive(name) {
		return content, nil
	}
	text, err := segment.ArchiveLines(content)
	return &archiveLines{text, d, name + " of " + side}, err
}

type archiveLines struct {
	text  io.Reader
	found damages
	what  string
}

func (a *archiveLines) Read(p []byte) (int, error) {
	n, err := a.text.Read(p)
	if errors.Is(err, segment.ErrDamagedArchive) {
		a.found[fmt.Sprintf("%s cannot be read to its end, so that its other lines could not be compared: %v", a.what, err)] = true
		return n, io.EOF
	}
	return n, err
}
