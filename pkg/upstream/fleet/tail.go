package fleet

import (
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
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

// errorLine is a line by which a program says what is wrong, as those of the common languages do.
var errorLine = lazy.Regexp(`(?i)^\S*(error|exception|panic|fatal)\b[^:]*: `)

// lastLine is the last line that says what is wrong, or else the last that says something: node and npm end with lines about
// themselves.
func (t *tail) lastLine() string {
	lines := slices.DeleteFunc(strings.Split(t.String(), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(lines) == 0 {
		return ""
	}
	text := lines[len(lines)-1]
	for _, line := range slices.Backward(lines) {
		if errorLine().MatchString(line) {
			text = line
			break
		}
	}
	if i := slices.IndexFunc(lines, isNPMs); i >= 0 {
		text = lines[i]
	}
	if text = strings.TrimSpace(text); len(text) > maxLast {
		text = strings.ToValidUTF8(text[:maxLast], "") + "…"
	}
	return text
}

// isNPMs reports whether npm says what is wrong in a line, beside codes and advice.
func isNPMs(line string) bool {
	said, is := strings.CutPrefix(line, "npm error ")
	word, _, _ := strings.Cut(said, " ")
	return is && !slices.Contains([]string{"code", "errno", "syscall", "path", "cwd"}, word)
}
