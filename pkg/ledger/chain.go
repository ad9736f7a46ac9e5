package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"
)

// digest is the identity of a line: the SHA-256 of its bytes without the newline. A line that was sent in the place of one
// that was kept back has the identity of that one.
type digest [sha256.Size]byte

func (h digest) String() string { return hex.EncodeToString(h[:]) }

func compareHash(a, b digest) int { return bytes.Compare(a[:], b[:]) }

func identity(line []byte) digest {
	if of, is := standsFor(line); is {
		return of
	}
	return sha256.Sum256(line)
}

// prevKey is how every line of ours begins. It makes the chain readable without parsing JSON.
const prevKey = `{"prev":[`

type lineKind int

const (
	lineRecord  lineKind = iota // begins with the chain
	lineForeign                 // a JSON object of another tool: a root of the chain once somebody appends after it
	lineBlank
	lineGarbage // conflict markers, a torn write: never linked, so that it can be cleaned away
)

// classify says what a line is, and whom it follows. A trailing CR must be gone.
func classify(line []byte) ([]digest, lineKind) {
	if prev, ok := parsePrev(line); ok {
		return prev, lineRecord
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, lineBlank
	}
	if value := jsontext.Value(line); line[0] == '{' && value.IsValid() {
		return nil, lineForeign
	}
	return nil, lineGarbage
}

// parsePrev reads the chain from the first bytes of a line, and looks at the last one, which a torn line lacks.
func parsePrev(line []byte) ([]digest, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(prevKey))
	if !ok || line[len(line)-1] != '}' {
		return nil, false
	}
	var prev []digest
	for len(rest) > 0 && rest[0] != ']' {
		if len(prev) > 0 {
			if rest[0] != ',' {
				return nil, false
			}
			rest = rest[1:]
		}
		h, ok := quotedHash(rest)
		if !ok || len(prev) > 0 && compareHash(prev[len(prev)-1], h) >= 0 {
			return nil, false
		}
		prev, rest = append(prev, h), rest[quotedHashLen:]
	}
	return prev, bytes.HasPrefix(rest, []byte("],"))
}

const quotedHashLen = 2*sha256.Size + 2

// quotedHash reads lower-case digits only: one hash has one spelling.
func quotedHash(text []byte) (h digest, ok bool) {
	if len(text) < quotedHashLen || text[0] != '"' || text[quotedHashLen-1] != '"' {
		return h, false
	}
	digits := text[1 : quotedHashLen-1]
	if bytes.ContainsAny(digits, "ABCDEF") {
		return h, false
	}
	_, err := hex.Decode(h[:], digits)
	return h, err == nil
}
