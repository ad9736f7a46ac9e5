package fleet

import (
	"os"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// Bounds of what is kept of a program's standard error, in bytes.
const (
	maxTail  = 4 << 10
	tailSize = 2 * maxTail // what is held of it before it is cut
	maxLast  = 400
)

// tail keeps the end of what a program writes to standard error.
type tail struct {
	hide *strings.Replacer

	mu   sync.Mutex
	text []byte
	cut  bool // the first line is not whole
}

// readFrom reads until the end, so that the program never waits for us, and closes the file.
func (t *tail) readFrom(file *os.File) {
	defer file.Close()
	piece := make([]byte, maxTail)
	for {
		n, err := file.Read(piece)
		t.add(piece[:n])
		if err != nil {
			return
		}
	}
}

func (t *tail) add(piece []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text = append(t.text, piece...); len(t.text) > tailSize {
		t.text, t.cut = append(t.text[:0], t.text[len(t.text)-maxTail:]...), true
	}
}

// String is the end, in whole lines, harmless to print and without secrets. It is for when the program has ended: of a line that
// is not whole nobody knows whether it begins in the middle of a secret.
func (t *tail) String() string {
	t.mu.Lock()
	text, cut := string(t.text), t.cut
	t.mu.Unlock()
	if cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	text = command.Clean([]byte(t.hide.Replace(text)))
	return strings.ToValidUTF8(text[max(0, len(text)-maxTail):], "")
}

// lastLine is the last line that says something.
func (t *tail) lastLine() string {
	text := strings.TrimSpace(t.String())
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if len(text) > maxLast {
		text = strings.ToValidUTF8(text[:maxLast], "") + "…"
	}
	return text
}
