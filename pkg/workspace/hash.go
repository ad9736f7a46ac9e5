package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// Hash names a content: "sha256:" and 64 lower-case hexadecimal digits of the raw bytes of the whole file.
type Hash = string

const hashPrefix = "sha256:"

// HashOf hashes b.
func HashOf(b []byte) Hash {
	sum := sha256.Sum256(b)
	return hashFrom(sum[:])
}

// ParseHash accepts the form that Hash documents, and nothing else.
func ParseHash(s string) (Hash, error) {
	digits, ok := strings.CutPrefix(s, hashPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size || digits != strings.ToLower(digits) {
		return "", errors.New(`a content hash is "sha256:" followed by 64 lower-case hexadecimal digits, as read_file returns it`)
	}
	return Hash(s), nil
}

func hashFrom(sum []byte) Hash { return Hash(hashPrefix + hex.EncodeToString(sum)) }

// hashBuffer bounds the memory of hashing, in bytes.
const hashBuffer = 32 << 10

// HashFile hashes an open file from its beginning, without moving its offset.
func HashFile(f *os.File) (Hash, error) {
	size := int64(hashBuffer)
	if st, err := f.Stat(); err == nil {
		size = min(max(st.Size()+1, 512), hashBuffer) // one more byte sees the end with the content
	}
	digest := sha256.New()
	if _, err := io.CopyBuffer(digest, io.NewSectionReader(f, 0, math.MaxInt64), make([]byte, size)); err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	return hashFrom(digest.Sum(nil)), nil
}
