package trailer

import (
	"context"
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Key is that of the trailers.
const Key = "Orchestra-Intent"

// Trailer is one line at the end of a message.
type Trailer struct{ Key, Value string }

// maxMessage bounds a message and what is compared with it, in bytes.
const maxMessage = 16 << 20

// scissors begins what git commit --verbose shows and takes out again; the comment character is the user's.
var scissors = regexp.MustCompile(`(?m)^\S{1,8} -{24} >8 -{24}$`)

// Add puts trailers into the message in a file, each unless it is there.
func Add(ctx context.Context, r Repository, file string, trailers []Trailer) error {
	if len(trailers) == 0 {
		return nil
	}
	content, err := durable.ReadRegular(file, maxMessage)
	if err != nil {
		return err
	}
	message, err := r.stripped(ctx, string(content))
	if err != nil || message == "" || r.isTemplate(ctx, message) {
		return err
	}
	args := []string{"interpret-trailers", "--in-place", "--no-divider", "--where", "end", "--if-exists", "addIfDifferent", "--if-missing", "add"}
	for _, t := range trailers {
		args = append(args, "--trailer", t.Key+": "+t.Value)
	}
	_, err = r.git(ctx, "", append(args, file)...)
	return err
}

// stripped is the message as git sees it when it asks whether there is one.
func (r Repository) stripped(ctx context.Context, content string) (string, error) {
	if cut := scissors.FindStringIndex(content); cut != nil {
		content = content[:cut[0]]
	}
	return r.git(ctx, content, "stripspace", "--strip-comments")
}

// isTemplate reports whether nobody has touched the template that git began with: git gives up such a commit.
func (r Repository) isTemplate(ctx context.Context, message string) bool {
	name, err := r.git(ctx, "", "config", "--type=path", "commit.template")
	if err != nil {
		return false
	}
	name = strings.TrimSuffix(name, "\n")
	if !strings.HasPrefix(name, "/") {
		name = r.Dir + "/" + name
	}
	content, err := durable.ReadRegular(name, maxMessage)
	if err != nil {
		return false
	}
	template, err := r.stripped(ctx, string(content))
	return err == nil && template == message
}
