package record

import (
	"bytes"
	"encoding/hex"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

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
