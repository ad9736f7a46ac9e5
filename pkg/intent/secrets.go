package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Secrets gives the secret: rules as they are now, for who keeps contents: is reports whether one keeps a path, of which a
// directory's ends in a slash, from being read, and is nil where there are no such rules. digest names the rules, so that
// other ones have another. The rules that are clear hold, whatever is wrong with the rest; where nothing of an ignore file
// can be read every path is secret, and digest is "": which rules there are is not known.
func (s *Store) Secrets() (is func(path string) bool, digest string) {
	rules, err := s.Ignore()
	if err != nil && wholly(err) {
		return func(string) bool { return true }, ""
	}
	sum := sha256.New()
	for _, f := range rules.files {
		for _, r := range f.secrets {
			fmt.Fprintf(sum, "%s\x00%s\x00", f.name, r.Text)
		}
	}
	digest = hex.EncodeToString(sum.Sum(nil))
	if !rules.Kinds().Secrets {
		return nil, digest
	}
	return func(path string) bool {
		// A name that is no text cannot be named by a rule, but stand in a directory that is.
		_, secret := rules.Secret(strings.ToValidUTF8(path, "\ufffd"))
		return secret
	}, digest
}
