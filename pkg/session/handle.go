package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

const (
	handlePrefix   = "ses_"
	handleBytes    = 20 // 160 bits: above the 128 promised, and 32 characters without padding
	handleAlphabet = "abcdefghijklmnopqrstuvwxyz234567"
)

var handleEncoding = base32.NewEncoding(handleAlphabet).WithPadding(base32.NoPadding)

// digest is the SHA-256 of a handle, the only form in which one is looked up or stored. A look-up by
// it takes no time that depends on how much of a guess was right.
type digest [sha256.Size]byte

func (d digest) String() string        { return hex.EncodeToString(d[:]) }
func (d digest) selectionFile() string { return d.String() + selectionSuffix }
func (d digest) viewsFile() string     { return d.String() + viewsSuffix }

// orderKey is what calls of the session are put in order by.
func (d digest) orderKey() string { return "session:" + string(d[:]) }

func mintHandle() string {
	var raw [handleBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	return handlePrefix + handleEncoding.EncodeToString(raw[:])
}

// digestOf says no to what cannot be a handle, before anything is looked up for it.
func digestOf(handle string) (digest, bool) {
	text, ok := strings.CutPrefix(handle, handlePrefix)
	if !ok || len(text) != handleEncoding.EncodedLen(handleBytes) || strings.Trim(text, handleAlphabet) != "" {
		return digest{}, false
	}
	return sha256.Sum256([]byte(handle)), true
}

// principalMark is how a principal is kept in a file: it may be a credential.
func principalMark(principal string) string {
	if principal == "" {
		return ""
	}
	return digest(sha256.Sum256([]byte(principal))).String()
}
