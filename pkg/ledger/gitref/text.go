package gitref

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

// first is the dictionary of segments: what most lines have in common, because a segment of a few lines would be field names
// for the better part. Segments that are written stay for ever, and with them this text, byte by byte. Another one needs
// another id.
var first = framed.Dictionary{ID: 0x8c01, Text: `"outcome":"approved","outcome":"denied","outcome":"asked","approval":"","allowed":[""],"principal":"","paths":["` +
	`"kind":"lifecycle","call":"record_lesson","kind":"checkpoint","kind":"read","call":"read_file","kind":"seal","part":{"of":"","index":1,"count":` +
	`"kind":"decision","call":"write_to_file","session":"","contributor":{"type":"ai","entity_type":"AI","model_identifier":"unknown"},` +
	`"decision":{"outcome":"refused","error_type":"SCOPE_VIOLATION","step":5,"hook":"","reason":"` +
	`"kind":"command","call":"execute_command","command":{"command":"","programs":["git"],"unjudged":true,"exit_code":0,"duration_ms":1,` +
	`"output_hash":"sha256:","artifact":"","sandbox":"full","background":true,"job":""},"violations":[{"path":"","op":"created","reason":"","reverted":true}],"detail":{"` +
	`{"prev":[""],"version":"0.1.0","id":"","timestamp":"2026-","intent_id":"INT-001","mutation_class":"AST_REFACTOR","mutation_class":"INTENT_EVOLUTION",` +
	`"vcs":{"type":"git","revision":"","revision_id":""},"tool":{"name":"orchestra-mcp","version":"1.0.0"},` +
	`"files":[{"path":"src/","relative_path":"src/","conversations":[{"url":"urn:uuid:","contributor":{"type":"human","entity_type":"HUMAN"},` +
	`"contributor":{"type":"ai","model_id":"anthropic/claude-","entity_type":"AI","model_identifier":"anthropic/claude-"},` +
	`"ranges":[{"start_line":1,"end_line":10,"content_hash":"sha256:"},{"start_line":"}],` +
	`"related":[{"type":"specification","value":"INT-001","url":"urn:orchestra:intent:INT-001"}]}]}],` +
	`"metadata":{"orchestra-mcp":{"kind":"mutation","call":"write_to_file","call":"apply_diff","changes":[{"path":"src/","op":"created","op":"deleted","op":"modified",` +
	`"before":"sha256:","after":"sha256:","before_oid":"","after_oid":"","before_mode":"0644","after_mode":"0755","hunks":[[1,1,1,10],[],"marks":"","anchors":[{"line":1,"mark":""}]}],` +
	`"class":{"declared":"INTENT_EVOLUTION","computed":"INTENT_EVOLUTION","evidence":"proven","reason":"","evidence":"unproven"},"session":"","client":{"name":"claude-code","version":"2.0.1"}}}}` + "\n"}

// segmentWriter compresses the lines of a segment. What two writers are given makes the same bytes if it is the same.
type segmentWriter struct {
	*framed.Writer
	follow []byte // how a line begins that follows the one above it alone
}

func newSegmentWriter(to io.Writer) (*segmentWriter, error) {
	text, err := framed.NewWriter(to, first)
	return &segmentWriter{Writer: text}, err
}

// The first byte of a line that does not stand in a segment as it is.
const (
	follows = '+' // the rest follows the beginning that the line above gives
	literal = '-' // the rest is the line: it begins with one of these bytes
)

// following is how a line begins that follows another one alone.
func following(above []byte) []byte { return fmt.Appendf(nil, `{"prev":["%x"]`, sha256.Sum256(above)) }

// add writes a line, which has no newline.
func (w *segmentWriter) add(line []byte) error {
	short := line
	switch rest, is := bytes.CutPrefix(line, w.follow); {
	case is && w.follow != nil:
		short = append([]byte{follows}, rest...)
	case len(line) > 0 && (line[0] == follows || line[0] == literal):
		short = append([]byte{literal}, line...)
	}
	w.follow = following(line)
	_, err := w.Write(append(short[:len(short):len(short)], '\n'))
	return err
}

// eachLine gives the lines of a segment as they were written, without newlines, each valid until yield returns. What cannot be
// decompressed ends it with framed.ErrDamaged, a line that is too long with bufio.ErrTooLong.
func eachLine(content io.Reader, yield func(line []byte) error) error {
	text, err := framed.NewStream(content, first)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, 64<<10), segment.MaxLine+2)
	lines.Split(wholeLines)
	for follow := []byte(nil); lines.Scan(); {
		line := lines.Bytes()
		switch {
		case len(line) > 0 && line[0] == follows && follow == nil:
			return fmt.Errorf("%w: its first line follows another one", framed.ErrDamaged)
		case len(line) > 0 && line[0] == follows:
			line = slices.Concat(follow, line[1:])
		case len(line) > 0 && line[0] == literal:
			line = line[1:]
		}
		follow = following(line)
		if err := yield(line); err != nil {
			return err
		}
	}
	return lines.Err()
}

// wholeLines is bufio.ScanLines that takes nothing from a line but its newline.
func wholeLines(data []byte, atEnd bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEnd && len(data) > 0 {
		return 0, nil, fmt.Errorf("%w: its last line has no end", framed.ErrDamaged)
	}
	return 0, nil, nil
}
