package ledger

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Hash is the identity of a line: the SHA-256 of its bytes without the newline.
type Hash = digest

// ParseHash reads the 64 lower-case hex digits of a hash.
func ParseHash(text string) (Hash, error) {
	h, ok := quotedHash([]byte(`"` + text + `"`))
	if !ok || len(text) != hex.EncodedLen(len(h)) {
		return Hash{}, fmt.Errorf("%.80q is not the hash of a ledger line: 64 lower-case hex digits", text)
	}
	return h, nil
}

// HashedLine is a line that the chain knows: one of ours, or another tool's JSON object.
type HashedLine struct {
	Number int // 1-based
	Hash   Hash
	Data   []byte // without the newline; valid until the next line is visited
}

// HashLines calls visit for each line of a segment's content that the chain knows, in order. It passes over what the
// chain does not: blank lines, conflict markers, a torn end. Its memory is bounded whatever is read.
func HashLines(content io.Reader, visit func(HashedLine) error) error {
	return forward(content, 0, func(line rawLine) error {
		if line.tooLong {
			return nil
		}
		_, kind := classify(line.data)
		if kind != lineRecord && kind != lineForeign || line.torn && !isWhole(line.data) {
			return nil
		}
		return visit(HashedLine{Number: line.number, Hash: identity(line.data), Data: line.data})
	})
}

// isWhole tells a line that lacks only its newline from one that was cut.
func isWhole(line []byte) bool {
	return len(line) > 0 && line[0] == '{' && jsontext.Value(line).IsValid()
}
