package review

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// judge compares the files of a call among those of HEAD, as far as these tell what an import means and of which type a
// name is; a later change can have taken that from them, so the merge base may tell it too. Whether another file has a
// name that changed is not asked: for a claim it makes no difference.
func (r *review) judge(ctx context.Context, files []mutation.File) mutation.Verdict {
	v := mutation.JudgeAmong(ctx, files, committed{r, r.head.commit}, mutation.DefaultLimits())
	if v.Evidence != mutation.Unproven || r.fork.commit == r.head.commit {
		return v
	}
	if before := mutation.JudgeAmong(ctx, files, committed{r, r.fork.commit}, mutation.DefaultLimits()); before.Evidence != mutation.Unproven {
		return before
	}
	return v
}

// committed are the files of a commit.
type committed struct {
	*review
	commit string
}

var (
	_            mutation.OtherFiles = committed{}
	errNotLooked                     = errors.New("a review does not look for names")
)

func (c committed) Mention(context.Context, *mutation.Words, func(string) bool) (*mutation.Mention, error) {
	return nil, errNotLooked
}

// maxSmall bounds what Read reads, in bytes.
const maxSmall = 1 << 20

func (c committed) Read(path string) ([]byte, error) {
	if strings.ContainsAny(path, "\n\x00") {
		return nil, fs.ErrNotExist
	}
	found, err := c.objects.Open(c.commit + ":" + c.prefix + path)
	switch {
	case err != nil:
		return nil, err
	case found.Kind != "blob":
		return nil, fs.ErrNotExist
	case found.Size > maxSmall:
		return nil, errTooLong
	}
	return io.ReadAll(c.objects)
}

var errTooLong = errors.New("it is too long")
