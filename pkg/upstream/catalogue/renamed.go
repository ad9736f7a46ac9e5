package catalogue

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// Renamed is a sentence where the server has another name than when its tools were pinned, "" where it has not. Trust takes the name
// that it has now. The error wraps ErrDamaged.
func (b *Book) Renamed() (string, error) {
	r, err := b.read()
	if r == nil || err != nil {
		return "", err
	}
	return renamed(r.pins.Is, r.pins.Listed.Is), nil
}

// renamed is a sentence where a server is another than when it was pinned.
func renamed(was, is Identity) string {
	if was.Name == is.Name {
		return ""
	}
	return fmt.Sprintf("the server was %q when its tools were pinned, and says that it is %q now; its tools stay as they were pinned", printable.Text(was.Name), printable.Text(is.Name))
}
