package operator

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/backtest"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Proposed are files that stand in the place of the workspace's, nil where its own do. They count as trusted.
type Proposed struct {
	Intents *settings.File // of active_intents.yaml
	Ignore  *settings.File // of both .intentignore files
	Config  *settings.File // of config.yaml
}

// Replay judges the calls of the ledger again, by what is proposed; see backtest.Run. A file that does not parse is an
// *intent.UnreadableError, or an error of package settings, with its name and place.
func (w *Workspace) Replay(ctx context.Context, p Proposed, since, until time.Time) (*backtest.Report, error) {
	policy, err := w.policy(p)
	if err != nil {
		return nil, err
	}
	content, done := backtest.Contents(ctx, w.Root)
	defer done()
	dir, err := filepath.EvalSymlinks(w.Dir)
	if err != nil {
		return nil, err
	}
	return backtest.Run(ctx, backtest.Options{
		Dir: filepath.ToSlash(dir), Ledger: w.Ledger, Book: policies.Book{Root: w.Root}, Policy: policy, Content: content, Since: since, Until: until,
	})
}

// policy is what the proposed files say, and the workspace's where none is.
func (w *Workspace) policy(p Proposed) (*policies.Policy, error) {
	loaded, err := settings.Load(settings.LoadOptions{
		WorkspaceRoot: w.Root, WorkspaceDir: w.Dir, SystemDir: settings.SystemDir, UserDir: w.UserDir(), Environ: w.Environ, Proposed: p.Config,
	})
	if err != nil {
		return nil, err
	}
	files, names := map[string][]byte{}, map[string]string{}
	propose := func(path string, f *settings.File, content []byte) {
		if f != nil {
			files[path], names[path] = content, f.Name
		}
	}
	if p.Intents != nil {
		propose(intent.FilePath, p.Intents, p.Intents.Content)
	}
	for _, path := range intent.IgnorePaths() {
		propose(path, p.Ignore, nil)
	}
	if p.Ignore != nil {
		files[intent.IgnorePaths()[0]] = p.Ignore.Content // for both
	}
	texts := intent.Open(w.Root).TrustedBy(settings.TrustList{UserDir: w.UserDir()}.Of(w.Dir)).Proposed(files)
	if _, err := intent.OpenTexts(texts).Load(); len(files) > 0 && err != nil {
		if at, is := errors.AsType[*intent.UnreadableError](err); is && names[at.File] != "" {
			at.File = names[at.File]
		}
		return nil, err
	}
	return &policies.Policy{Intents: texts, Settings: policies.Of(loaded.Settings)}, nil
}
