package server

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe/outside"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// hidden is what commands do not see of what this program keeps outside of the workspace's own .orchestration.
func (s *Server) hidden() []string {
	hidden := []string{s.options.UserDir, hookdoor.Find(os.Getenv).Dir()}
	if beside := locate.Beside(s.workspace.Dir()); beside != "" {
		hidden = append(hidden, filepath.Join(beside, orchdir.Name, "state"), filepath.Join(beside, orchdir.Name, "cache"))
	}
	return hidden
}

// families are what the tools work on: what commands run in is completed by the settings.
func (s *Server) families(recorder *trace.Recorder, fresh *gate.Freshness, asks *ask.Service, commands tools.Commands) tools.Families {
	o := s.options.Settings
	files := &tools.Files{
		Workspace: s.workspace, Fresh: fresh, Limit: int64(o.Limits.FileSize), Match: edit.Options{Threshold: o.Diff.Threshold},
		RecordReads: o.Ledger.RecordReads, ShortText: o.Results.Text == settings.Short,
	}
	brain := &tools.Brain{Files: files, Intents: s.intents, File: o.Brain.File, Clock: s.options.Clock}
	commands.Files, commands.Intents = files, s.intents
	commands.Observer = observe.New(observe.Options{
		Workspace: s.workspace, Snapshots: recorder.Snapshots(), Ledger: recorder, Outside: sync.OnceValue(s.watchedPlaces), Revert: o.Commands.RevertViolations,
		Git: &replay.Repository{Repository: gitread.Repository{Dir: s.workspace.Dir()}, Workspace: s.workspace, NewBlobHash: gitdir.New(s.workspace.Dir()).NewBlobHash, Writable: o.Commands.Writable},
	})
	commands.Git = map[settings.Choice]profile.Git{settings.Allow: profile.GitOpen, settings.Trust: profile.GitTrusted}[o.Commands.Git]
	commands.Stage, commands.LayerBytes = tools.Stage(o.Commands.Stage), s.options.layerBytes
	commands.Writable, commands.Hidden = o.Commands.Writable, s.hidden()
	if profile.CacheDir(os.Environ()) != "" { // else there are no other servers, of no workspace
		commands.Hidden = append(commands.Hidden, fleet.Directory(os.Environ()))
	}
	commands.Clock, commands.HandOver = s.options.Clock, cmp.Or(s.options.handOver, tools.HandOverTime)
	commands.CommandTimeout, commands.MaxCommandTimeout = o.Commands.Timeout, o.Commands.MaxTimeout
	commands.KeepEnv, commands.OutputCap = o.Commands.Env, int64(o.Commands.OutputCap)
	return tools.Families{
		Files: files, Brain: brain, Asks: asks, Aliases: o.Tools.RooAliases, Commands: &commands,
		Intents: &tools.Intents{
			Store: s.intents, Sessions: s.sessions, Ledger: recorder, Brain: brain, Clock: s.options.Clock, ContextLimit: int(o.Limits.ContextSize),
		},
	}
}

// keptPlaces are those that keep their protection where the workspace is a home directory, or has one in it.
func keptPlaces(userDir string) []workspace.Place {
	places := []workspace.Place{
		{Path: userDir, Protection: workspace.ProtectOwn},
		{Path: settings.SystemDir, Protection: workspace.ProtectOwn},
		{Path: profile.CacheDir(os.Environ()), Protection: workspace.ProtectOwn, Commands: true},
	}
	for _, p := range outside.Known(os.Environ(), userName(), "") {
		if p.Path != userDir && p.Path != settings.SystemDir {
			places = append(places, workspace.Place{Path: p.Path, Protection: workspace.ProtectProgramConfig})
		}
	}
	return places
}

// watchedPlaces are those outside of the workspace that commands could reach.
func (s *Server) watchedPlaces() []outside.Place {
	return outside.Places(os.Environ(), userName(), s.options.UserDir, s.workspace.Dir())
}

func userName() string {
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return ""
}

// untrustedShown bounds how many lines the first refusal lists.
const untrustedShown = 20

// firstRefusal adds to the first refusal of this server what the workspace's own files say and what has no effect before the
// operator has trusted it (SPEC 15): who counts on it would not understand the refusal otherwise.
func (s *Server) firstRefusal() func(*refusal.Refusal) *refusal.Refusal {
	var once sync.Once
	return func(r *refusal.Refusal) *refusal.Refusal {
		once.Do(func() {
			waiting := s.untrusted()
			if len(waiting) == 0 {
				return
			}
			s.log.Warn().Strs("untrusted", waiting).Msg("what files of the workspace weaken has no effect until orchestra-mcp trust")
			shown := waiting[:min(len(waiting), untrustedShown)]
			r = r.With("untrusted_settings", shown).Suggest("%s (Files of this workspace weaken defaults or start programs, %d entries in details.untrusted_settings; "+
				"none has effect until the operator has looked at it with: orchestra-mcp trust)", r.Suggestion(), len(waiting))
		})
		return r
	}
}

// untrusted lists what waits for trust.
func (s *Server) untrusted() []string {
	lines := slices.Clone(s.options.Withheld)
	for _, w := range s.intents.Weakenings() {
		if w.Trusted {
			continue
		}
		for _, e := range w.Entries {
			lines = append(lines, fmt.Sprintf("%s:%d: %s", w.File, e.Line, e.Text))
		}
	}
	return lines
}

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
