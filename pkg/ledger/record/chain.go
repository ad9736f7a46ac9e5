package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Hash is the identity of a line: the SHA-256 of its bytes without the newline. A line that was sent in the place of one
// that was kept back has the identity of that one.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

func CompareHash(a, b Hash) int { return bytes.Compare(a[:], b[:]) }

func Identity(line []byte) Hash {
	if of, is := StandsFor(line); is {
		return of
	}
	return sha256.Sum256(line)
}

// PrevKey is how every line of ours begins. It makes the chain readable without parsing JSON.
const PrevKey = `{"prev":[`

type LineKind int

const (
	LineRecord  LineKind = iota // begins with the chain
	LineForeign                 // a JSON object of another tool: a root of the chain once somebody appends after it
	LineBlank
	LineGarbage // conflict markers, a torn write: never linked, so that it can be cleaned away
)

// Linked reports whether lines of this kind are followed.
func (k LineKind) Linked() bool { return k == LineRecord || k == LineForeign }

// Classify says what a line is, and whom it follows. A trailing CR must be gone.
func Classify(line []byte) ([]Hash, LineKind) {
	if prev, ok := ParsePrev(line); ok {
		return prev, LineRecord
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, LineBlank
	}
	if value := jsontext.Value(line); line[0] == '{' && value.IsValid() {
		return nil, LineForeign
	}
	return nil, LineGarbage
}

// ParsePrev reads the chain from the first bytes of a line, and looks at the last one, which a torn line lacks.
func ParsePrev(line []byte) ([]Hash, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(PrevKey))
	if !ok || line[len(line)-1] != '}' {
		return nil, false
	}
	var prev []Hash
	for len(rest) > 0 && rest[0] != ']' {
		if len(prev) > 0 {
			if rest[0] != ',' {
				return nil, false
			}
			rest = rest[1:]
		}
		h, ok := quotedHash(rest)
		if !ok || len(prev) > 0 && CompareHash(prev[len(prev)-1], h) >= 0 {
			return nil, false
		}
		prev, rest = append(prev, h), rest[quotedHashLen:]
	}
	return prev, bytes.HasPrefix(rest, []byte("],"))
}

const quotedHashLen = 2*sha256.Size + 2

// quotedHash reads lower-case digits only: one hash has one spelling.
func quotedHash(text []byte) (h Hash, ok bool) {
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

// ParseHash reads the 64 lower-case hex digits of a hash.
func ParseHash(text string) (Hash, error) {
	h, ok := quotedHash([]byte(`"` + text + `"`))
	if !ok || len(text) != hex.EncodedLen(len(h)) {
		return Hash{}, fmt.Errorf("%.80q is not the hash of a ledger line: 64 lower-case hex digits", text)
	}
	return h, nil
}

// IsWhole tells a line that lacks only its newline from one that was cut.
func IsWhole(line []byte) bool {
	return len(line) > 0 && line[0] == '{' && jsontext.Value(line).IsValid()
}

// KindWithheld is of a line that stands for a record which whoever sent it kept back: the chain goes through it, and what
// the record said cannot be checked.
const KindWithheld Kind = "withheld"

// withheldKey stands behind the chain of a line that stands for another one, by that one's identity.
const withheldKey = `],"withheld":"`

// StandsFor is the identity of the record that a line stands for.
func StandsFor(line []byte) (of Hash, is bool) {
	if !bytes.HasPrefix(line, []byte(PrevKey)) {
		return of, false
	}
	at := bytes.IndexByte(line, ']')
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(withheldKey)) {
		return of, false
	}
	return quotedHash(line[at+len(withheldKey)-1:])
}

// WithheldKind is of what record a line stands for.
func WithheldKind(line []byte) Kind {
	_, after, _ := bytes.Cut(line, []byte(`","kind":"`))
	kind, _, _ := bytes.Cut(after, []byte(`"`))
	if known := Kind(kind); slices.Contains(Kinds(), known) {
		return known
	}
	return KindWithheld
}

// Withhold gives the line that is sent in the place of one of ours: its chain, its identity and its kind.
func Withhold(line []byte, kind Kind) []byte {
	at := bytes.IndexByte(line, ']')
	of := Identity(line)
	text := append(slices.Clone(line[:at]), withheldKey...)
	text = append(hex.AppendEncode(text, of[:]), `","kind":`...)
	text, _ = jsontext.AppendQuote(text, string(kind))
	return append(text, '}')
}
