package apps

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
)

const (
	// URI is the page's among the resources of the server.
	URI = "ui://orchestra-mcp/view"
	// MetaKey is where the page finds a [View] in a result's _meta.
	MetaKey = "orchestra-mcp/view"
)

//go:embed page.html
var page string

// Page is the whole of the page: HTML with its style and its script, which the policy in it names by their hashes.
func Page() string { return whole() }

var whole = sync.OnceValue(func() string {
	policy := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hashOf("<style>", "</style>"), hashOf("<script>", "</script>"))
	return strings.Replace(page, "{{policy}}", policy, 1)
})

// hashOf is the name of an inline part in a content security policy (CSP level 3, hash-source).
func hashOf(begin, end string) string {
	_, part, _ := strings.Cut(page, begin)
	part, _, _ = strings.Cut(part, end)
	sum := sha256.Sum256([]byte(part))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
