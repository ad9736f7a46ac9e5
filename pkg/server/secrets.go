package server

import (
	"os"
	"sync"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// keptFromSecrets are the intents as the gate asks for them, which is the first that a call does. Where the secret rules are
// others than at the last call, what is stored of paths that they cover is deleted before the call goes on.
type keptFromSecrets struct {
	*intent.Store
	contents  *kept.Store
	snapshots *snapshot.Keeper
	root      *os.Root
	log       zerolog.Logger

	mu     sync.Mutex
	last   *intent.Set
	obeyed string
	warn   sync.Once
}

// Load implements gate.Intents.
func (k *keptFromSecrets) Load() (*intent.Set, error) {
	set, err := k.Store.Load()
	k.mu.Lock()
	defer k.mu.Unlock()
	if set != nil && set == k.last { // the same files
		return set, err
	}
	if k.obey() {
		k.last = set
	}
	return set, err
}

func (k *keptFromSecrets) obey() bool {
	is, digest := k.Secrets()
	if digest == "" || digest == k.obeyed {
		return true // what they are is not known, and no command runs
	}
	secret := func(path string, _ *os.File) bool { return is != nil && is(path) }
	if k.contents.Obey() || k.obeyed != "" { // what was taken away can be a copy
		secret = k.snapshots.Secret
	}
	if err := observe.DropSecrets(k.root, secret); err != nil {
		k.warn.Do(func() {
			k.log.Warn().Err(err).Msg("what is secret now could not be deleted from .orchestration/cache/removed: delete that directory")
		})
		return false
	}
	k.obeyed = digest
	return true
}
