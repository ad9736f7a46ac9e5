package backtest

import (
	"errors"
	"slices"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// law is a policy that calls can be judged by. It is not changed.
type law struct {
	policy gate.Policy
	blind  bool

	set       *intent.Set
	setErr    error
	ignore    *intent.Ignore
	ignoreErr error
}

var _ gate.Intents = (*law)(nil)

// Load implements gate.Intents.
func (l *law) Load() (*intent.Set, error) { return l.set, l.setErr }

// Ignore implements gate.Intents.
func (l *law) Ignore() (*intent.Ignore, error) { return l.ignore, l.ignoreErr }

// rules are those for a call under an intent.
func (l *law) rules(intentID string) []*rule.Rule {
	all := slices.Clip(l.policy.Rules)
	if l.set != nil {
		if in, ok := l.set.Get(intentID); ok {
			all = append(all, in.CompiledRules()...)
		}
	}
	return all
}

// laws are the policies of the records, each compiled once.
type laws struct {
	options *Options
	given   *law // that all calls are judged by; nil: each by its own

	mu    sync.Mutex
	known map[string]*law
}

func newLaws(o *Options) *laws { return &laws{options: o, known: map[string]*law{}} }

func (ls *laws) compile(p *policies.Policy) (*law, error) {
	policy, err := p.Settings.Gate(ls.options.Dir, nil)
	if err != nil {
		return nil, err
	}
	store := intent.OpenTexts(p.Intents)
	l := &law{policy: policy, blind: p.Settings.Blind == settings.Allow}
	l.set, l.setErr = store.Load()
	l.ignore, l.ignoreErr = store.Ignore()
	return l, nil
}

// own is what a record's call was judged by; nil where that is not known, or not kept.
func (ls *laws) own(digest string) (*law, error) {
	if digest == "" {
		return nil, nil
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l, known := ls.known[digest]; known {
		return l, nil
	}
	p, err := ls.options.Book.Get(digest)
	var l *law
	if err == nil {
		l, err = ls.compile(p)
	}
	if err != nil && !errors.Is(err, policies.ErrGone) {
		return nil, err
	}
	ls.known[digest] = l
	return l, nil
}
