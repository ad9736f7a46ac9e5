package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// maxDepth bounds how deep a definition is nested: clients have bounds too, and break at others.
const maxDepth = 64

// canonical is the form of a definition in which it is compared. A member twice, text that is no Unicode and a second value are
// errors: two readers could read them in two ways.
func canonical(definition []byte) ([]byte, error) {
	if rawjson.Nesting(definition) > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	form, err := rawjson.Canonical(definition)
	if err != nil {
		return nil, plainly(err)
	}
	return form, nil
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
