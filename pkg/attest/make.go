package attest

import (
	"context"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// Make signs a statement about what the commits of head add to those of base in the workspace at root, and gives its
// envelope. version is that of the program. The errors are those of [review.Run] and of this package.
func Make(ctx context.Context, root *os.Root, base, head, version string, by Signer) (text []byte, st Statement, err error) {
	err = review.Inspect(ctx, root, review.Options{Base: base, Head: head}, nil, func(e *review.Evidence) error {
		s := &source{evidence: e}
		if s.objects, err = openObjects(ctx, root.Name()); err != nil {
			return err
		}
		defer s.close()
		if err := s.checkObjects(e.MergeBase, e.Head); err != nil {
			return err
		}
		if st, err = s.statement(version); err != nil {
			return err
		}
		payload, err := encode(st)
		if err != nil {
			return err
		}
		text, err = wrap(payload, by)
		return err
	})
	return text, st, err
}
