package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// maxDepth bounds how deep a definition is nested: clients have bounds too, and break at others.
const maxDepth = 64

// canonical is the form of a definition in which it is compared: RFC 8785, but that numbers stay as they are written, as the
// double precision of that form would make different ones equal. A member twice, text that is no Unicode and a second value are
// errors: two readers could read them in two ways.
func canonical(definition []byte) ([]byte, error) {
	if tooDeep(definition) {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	v := jsontext.Value(slices.Clone(definition))
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return nil, plainly(err)
	}
	return v, nil
}

// hash is that of a canonical form.
func hash(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plainly is an error of the JSON library that is safe to print and says no more than what is wrong.
func plainly(err error) error {
	if syntax, is := errors.AsType[*jsontext.SyntacticError](err); is && syntax.Err != nil {
		err = syntax.Err
	}
	return errors.New(excerpt(printable.Text(err.Error()), 0))
}

// tooDeep counts brackets outside of texts. What is no JSON is found elsewhere.
func tooDeep(text []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
