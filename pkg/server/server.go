package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Name is how the server calls itself.
const Name = "orchestra-mcp"

// OutputDir is where the output of commands is kept, in the workspace.
const OutputDir = ".orchestration/cache/output"

// Options are what a Server is made of.
type Options struct {
	// Dir is the workspace.
	Dir string
	// Settings come from settings.Load or settings.Defaults.
	Settings settings.Settings
	// Version appears in the protocol and in the ledger; "" is "dev".
	Version string
	// Logger gets what an operator should know. It must not write to standard output, which belongs to the protocol.
	Logger zerolog.Logger
	// Clock is for tests; nil is time.Now.
	Clock func() time.Time
	// UserDir is the directory of the user's own settings, outside of the workspace, where the key of approvals lies; "" is
	// that of the process's environment.
	UserDir string
	// Trusted reports whether the operator has trusted a content of this workspace by its hash; nil trusts nothing. It is
	// asked by several calls at a time.
	Trusted func(hash string) bool
	// Withheld is what the workspace's settings say and what waits for trust, a line each. The first refusal says so.
	Withheld []string
	// ModelOf tells the model that a client runs, by the client's name, as the environment says that it gave to this
	// process; "" if it says nothing. Nil where no client has started the process.
	ModelOf func(client string) string
	// AdoptOrphans lets the server be the parent of what a command leaves behind. It is for a process that does nothing else.
	AdoptOrphans bool
	// Chosen tells the intent that a person has chosen for the calls of clients' own tools from a terminal, and whether that
	// hangs on the branch; "" for none. Nil: nobody has.
	Chosen func(terminal string) (intentID string, byBranch bool)
	// Hooks becomes the server that answers the hooks of clients in this workspace, beside its own transport, once it has given
	// its first answer. Nil: it answers none.
	Hooks func() (*hookdoor.Listener, error)
	// Ability is what the sandbox can do here; nil finds it out when the first
	// command comes. It is for tests of levels below the machine's.
	Ability func() sandbox.Ability

	// handOver is tools.HandOverTime, layerBytes staging.MaxBytes, and limits mutation.DefaultLimits, for tests.
	handOver   time.Duration
	layerBytes int64
	limits     *mutation.Limits
}

// Server governs one workspace.
type Server struct {
	options    Options
	workspace  *workspace.Workspace
	intents    *intent.Store
	sessions   *session.Store
	ledger     *ledger.Ledger
	journal    *journal.Journal
	contents   *kept.Store
	recorder   *trace.Recorder
	maps       *trace.MapKeeper
	asks       *ask.Service
	jobs       *command.Jobs
	abandoned  func() // ends what a killed server has left of its commands, once; who asks meanwhile waits for that
	settlement settlement
	presence   presenceOf
	observed   observed
	runner     *command.Runner // nil where commands cannot run
	upstreams  *upstreams      // nil where there are none
	engine     *hooks.Engine
	operator   []hooks.Step // what a call of the operator has to pass
	tools      tools.Families
	added      additions
	profiles   *profile.Builder
	policies   *policies.Keeper
	log        zerolog.Logger
	ends       []func() error // of what was opened, in that order

	hooksOnce sync.Once
	hooksEnd  context.CancelFunc // nil: clients' hooks are not answered
	hooks     sync.WaitGroup

	bridgeOnce sync.Once
	bridge     *mcpbridge.Server
	offered    offered // with the bridge
	bridgeErr  error
}

// New opens a workspace. It does no work that a first call does not need, and changes nothing in the workspace.
func New(o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.UserDir == "" {
		o.UserDir = settings.UserDir(os.Environ())
	}
	o.Ability = o.Settings.Ability(o.Ability)
	s := &Server{options: o, log: o.Logger, abandoned: func() {}}
	s.presence.id = presence.NewID()
	err := s.open()
	if err == nil {
		err = s.assemble()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open opens what lies in the workspace.
func (s *Server) open() error {
	o := s.options
	durability := workspace.Full
	ledgerDurability := ledger.DurabilityFull
	if o.Settings.Durability == settings.OS {
		durability, ledgerDurability = workspace.OS, ledger.DurabilityOS
	}
	var err error
	s.workspace, err = workspace.Open(o.Dir, workspace.WithLogger(s.log), workspace.WithDurability(durability),
		workspace.WithPlaces(keptPlaces(o.UserDir)))
	if err != nil {
		return err
	}
	s.ends = append(s.ends, s.workspace.Close)
	root := s.workspace.Root()
	s.intents = intent.Open(root).TrustedBy(o.Trusted)
	s.journal = journal.Open(journal.Options{
		State: s.workspace.State, Durable: durability == workspace.Full, Logger: s.log, Written: s.journaled,
	})
	s.ends = append(s.ends, s.journal.Close)
	s.ledger, err = ledger.Open(root, ledger.Options{
		Layout: ledger.Layout(o.Settings.Ledger.Layout), Beside: o.Settings.Ledger.Git != settings.Tree, Durability: ledgerDurability, SegmentSize: int64(o.Settings.Ledger.SegmentSize),
		Version: o.Version, Principal: auth.Local, Clock: o.Clock, Logger: s.log,
		Lost: func(id string) { s.recorder.Lost(id) }, Written: s.recorded,
	})
	if err != nil {
		return err
	}
	s.ends = append(s.ends, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		return s.ledger.Close(ctx)
	})
	s.sessions = session.Open(root, session.Options{
		Lifetime: o.Settings.Session.Idle, Clock: o.Clock, Logger: s.log, Ended: s.ended,
		Server: s.presence.id,
	})
	s.ends = append(s.ends, s.sessions.Close)
	s.contents = kept.Open(root, kept.Options{
		Size: int64(o.Settings.Undo.KeepSize), Age: o.Settings.Undo.KeepAge, Largest: int64(o.Settings.Limits.FileSize),
		Secrets: s.intents.Secrets, Clock: o.Clock, Logger: s.log,
	})
	s.ends = append(s.ends, s.contents.Close)
	return nil
}

// maxCompared bounds a file that a command changed and that is compared line by line, in bytes.
const maxCompared = 8 << 20

// ended tells the session store which intents are done or blocked.
func (s *Server) ended(intentID string) bool {
	set, err := s.intents.Load()
	if err != nil {
		return false
	}
	in, ok := set.Get(intentID)
	return ok && !in.Status.Selectable()
}

// assemble makes the parts that calls go through, each of those that it needs.
func (s *Server) assemble() error {
	o := s.options
	root := s.workspace.Root()
	policy, err := policies.Of(o.Settings).Gate(filepath.ToSlash(s.workspace.Dir()), o.Ability)
	if err != nil {
		return err
	}
	artifacts := command.NewArtifacts(root, OutputDir, int64(o.Settings.Commands.OutputTotal))
	runner, err := command.NewRunner(command.Options{
		Artifacts: artifacts, MaxProcesses: o.Settings.Commands.MaxProcesses, AdoptOrphans: o.AdoptOrphans,
	})
	if err != nil {
		s.log.Warn().Err(err).Msg("execute_command is not available")
	} else if o.AdoptOrphans {
		s.abandoned = sync.OnceFunc(func() { s.endAbandoned(runner) })
	}
	programs, err := s.programs(runner)
	if err != nil {
		return err
	}
	notify, err := s.notifies(runner)
	if err != nil {
		return err
	}
	recorder := trace.NewRecorder(s.recording())
	asks := ask.New(ask.Options{
		Store: approval.Open(root, approval.Options{
			UserDir: o.UserDir, Lifetime: o.Settings.Approvals.Lifetime, Clock: o.Clock, Expired: s.requestExpired,
		}),
		Recorder: recorder, Wait: o.Settings.Approvals.Wait, Lifetime: o.Settings.Approvals.Lifetime, Notify: notify, Logger: s.log,
	})
	maps, fresh := trace.NewMapKeeper(s.writeMap, o.Clock, s.log), gate.NewFreshness(o.Settings.Write.Blind == settings.Allow)
	agents := &gate.Gate{
		Intents: &keptFromSecrets{Store: s.intents, contents: s.contents, snapshots: recorder.Snapshots(), root: root, log: s.log},
		Fresh:   fresh, Ledger: recorder, Policy: policy,
	}
	engine := hooks.NewEngine(hooks.Options{
		Sessions: s.sessions, Recorder: recorder, Asker: asks, Logger: s.log, Workspace: s.workspace,
		Gate: slices.Concat(agents.Hooks(false), programs.agent), Stale: fresh.Stale, QuietClass: policy.QuietClass,
		Observers: []hooks.PostHook{trace.Seen(fresh.Remember), maps, asks}, Programs: programs.post,
		OnRefusal: programs.refused, AddToRefusal: s.firstRefusal(), Limits: o.limits, Watch: s.watch,
	})
	jobs, profiles := command.NewJobs(o.Clock), profile.New(s.workspace.Dir(), os.Environ())
	families := s.families(recorder, fresh, asks, tools.Commands{
		Runner: runner, Artifacts: artifacts, Jobs: jobs, Profiles: profiles, Want: policy.Sandbox, Policy: policy,
	})
	for _, t := range tools.All(families, engine) {
		if err := engine.AddTool(t); err != nil {
			return err
		}
	}
	s.runner, s.recorder, s.asks, s.maps, s.engine, s.jobs, s.profiles, s.tools = runner, recorder, asks, maps, engine, jobs, profiles, families
	s.operator = slices.Concat((&gate.Gate{Intents: s.intents, Ledger: s.ledger, Policy: policy}).Hooks(true), programs.operator)
	if err := s.openUpstreams(runner, profiles, policy.Sandbox, families.Commands); err != nil {
		return err
	}
	time.AfterFunc(startTime, s.abandoned)
	s.ends = append(s.ends, s.endObserved, s.endCalls) // the calls first: they are told of
	return nil
}

// endTime bounds what the end of a server waits for the ledger, and for commands in the background, which are asked to
// end, killed and recorded.
const endTime = 5 * time.Second

// endCalls ends the commands in the background, and writes what is pending.
func (s *Server) endCalls() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	s.endHooks()
	var upstreams error
	ended := make(chan struct{})
	go func() { // beside the commands: both take their time to end
		defer close(ended)
		if s.upstreams != nil {
			upstreams = s.upstreams.fleet.Close()
		}
	}()
	err := s.jobs.Close(ctx)
	<-ended
	s.settlement.close()
	s.presence.end()
	s.abandoned()
	s.maps.Close()
	s.recorder.Close()
	return errors.Join(err, upstreams)
}

// recording is how calls are recorded, and the changes of commands found.
func (s *Server) recording() trace.Options {
	o := s.options.Settings
	s.policies = policies.NewKeeper(policies.Book{
		Root: s.workspace.Root(), Beside: o.Ledger.Git != settings.Tree, Durable: o.Durability != settings.OS,
	}, policies.Of(o), s.options.Version, s.intents.Texts)
	return trace.Options{
		Policy: s.policies.Digest, Sandbox: s.options.Ability,
		Ledger: s.ledger, Journal: s.journal, Workspace: s.workspace, Logger: s.log, Contents: s.contents, Ignore: s.intents.Ignore,
		MarkLines: o.Ledger.Marks == settings.On && !slices.Contains(o.Ledger.Withhold, "marks"),
		Await:     func() { s.abandoned() }, Elsewhere: history.Elsewhere(s.workspace.Root()), Bring: s.bringRecords,
		Changes: snapshot.Options{
			Root: s.workspace.Root(), NewBlobHash: gitdir.New(s.workspace.Dir()).NewBlobHash, Contents: s.contents, Secrets: s.intents.Secrets,
			Largest: min(int64(o.Limits.FileSize), maxCompared), State: s.workspace.State, Durable: o.Durability != settings.OS,
		},
		Degraded: o.Ledger.OnFailure == settings.Degraded,
	}
}

// bringRecords takes in what git has fetched of others' records. Where that fails, the answer is from what was here before.
func (s *Server) bringRecords(ctx context.Context) {
	switch done, err := gitref.Import(ctx, s.workspace.Root()); {
	case errors.Is(err, gitref.ErrNoRepository):
	case err != nil:
		s.log.Warn().Err(err).Msg("records that git fetched are left out")
	case len(done.Aside) > 0:
		s.log.Warn().Int("files", len(done.Aside)).Msg("records that git fetched are set aside, not believed; orchestra-mcp sync names them")
	}
}

// startTime is after the start, which a look at all processes of the machine would slow down.
const startTime = 100 * time.Millisecond

// endAbandoned ends what a server that was killed has left of its commands. It does not hold up the start.
func (s *Server) endAbandoned(runner *command.Runner) {
	if ended := runner.EndAbandoned(); len(ended) > 0 {
		s.log.Warn().Ints("pids", ended).Msg("ended what a server that was killed had left of its commands")
	}
}

// requestExpired records that nobody answered a request in time.
func (s *Server) requestExpired(r approval.Request) {
	if s.ledger.Writable(context.Background()) == nil {
		s.ledger.AppendSoon(ask.Record(r, ask.Decision(r, ask.Expired), approval.Inbox))
	}
}

// AddTool adds a tool, which is governed like the shipped ones: one without a class counts as destructive.
func (s *Server) AddTool(t hooks.Tool) error { return s.engine.AddTool(t) }

// AddPreHook adds a hook that runs after the shipped gate, on the plan.
func (s *Server) AddPreHook(h hooks.PreHook) { s.engine.AddPreHook(h) }

// AddPostHook adds a hook that sees the outcome.
func (s *Server) AddPostHook(h hooks.PostHook) { s.engine.AddPostHook(h) }

// Workspace is the governed directory.
func (s *Server) Workspace() *workspace.Workspace { return s.workspace }

// Ledger is the workspace's ledger.
func (s *Server) Ledger() *ledger.Ledger { return s.ledger }

// Specs describes the tools in the order of tools/list.
func (s *Server) Specs() []hooks.Spec { return s.engine.Specs() }

// ServeStdio serves one client on a pair of streams until the input ends or
// ctx is done; calls in flight are given a second to finish.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	b, err := s.protocol()
	if err != nil {
		return err
	}
	if err := s.observe(false); err != nil {
		return err
	}
	s.presence.transport = "stdio"
	return b.ServeStdio(ctx, in, answering{out, s.answered}, mcpbridge.StdioOptions{MaxLine: int(s.options.Settings.Limits.RequestSize)})
}

// Close ends the commands in the background, writes what is pending and gives everything back.
func (s *Server) Close() error {
	var errs []error
	for _, end := range slices.Backward(s.ends) {
		errs = append(errs, end())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the workspace: %w", err)
	}
	return nil
}
