package treesitter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Errors of Parse.
var (
	// ErrLanguage: there is no grammar for the language.
	ErrLanguage = errors.New("no grammar for this language")
	// ErrTooLarge: the text is longer than MaxText.
	ErrTooLarge = errors.New("the text is too large to be parsed")
	// ErrTime: the parser was stopped, by the context or at the time limit.
	ErrTime = errors.New("the parser was stopped when its time was up")
	// ErrFault: the parser ran out of its memory or failed on its own.
	ErrFault = errors.New("the parser failed")
)

const (
	// MaxText is the length in bytes from which on a text is not parsed.
	MaxText = 2 << 20
	// maxTime is what one text may take at most.
	maxTime = 5 * time.Second
	// memoryPages of 64 KiB are what one parser may hold at most: 512 MiB. A text of MaxText needs up to 300.
	memoryPages = 512 << 20 >> 16
	// keptMemory is the largest memory in bytes that is used again.
	keptMemory = 64 << 20
	// atOnce bounds the parsers at work at any time, and with them the memory.
	atOnce = 2
	// idle is how long compiled modules wait for the next text.
	idle = 5 * time.Minute
)

// Parsers holds the compiled modules. The zero value is ready; it may be used by several goroutines.
type Parsers struct {
	// guard is read-locked by what uses the runtime and locked to replace it.
	guard   sync.RWMutex
	runtime wazero.Runtime
	timer   *time.Timer

	compiling sync.Mutex
	grammars  map[string]*compiled

	memories  memories
	slots     chan struct{}
	makeSlots sync.Once
}

type compiled struct {
	module  wazero.CompiledModule
	grammar *Grammar
}

// Parse parses one text. The errors are those of this package, wrapped. The
// tree keeps the text. Not even a panic of the runtime gets out.
func (p *Parsers) Parse(ctx context.Context, language string, text []byte) (tree *Tree, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			tree, err = nil, fmt.Errorf("%w: %v", ErrFault, fault)
		}
	}()
	if len(text) >= MaxText {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(text), MaxText)
	}
	if ctx.Err() != nil {
		return nil, ErrTime
	}
	p.start()
	defer p.guard.RUnlock()
	c, err := p.compile(ctx, language)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime) // without the time to compile, which on a busy machine is long
	defer cancel()
	if err := p.takeSlot(ctx); err != nil {
		return nil, err
	}
	defer func() { <-p.slots }()
	err = p.instance(ctx, c.module, func(m api.Module) error {
		nodes, err := parse(ctx, m, text)
		tree = &Tree{Text: text, Nodes: nodes, Grammar: c.grammar}
		return err
	})
	if err != nil {
		return nil, err
	}
	return tree, nil
}

// Prepare compiles the module of a language, if that was not done yet. It takes longer than most texts do, on a busy
// machine seconds: who limits the time of Parse should not count it.
func (p *Parsers) Prepare(ctx context.Context, language string) error {
	p.start()
	defer p.guard.RUnlock()
	_, err := p.compile(ctx, language)
	return err
}

func (p *Parsers) takeSlot(ctx context.Context) error {
	p.makeSlots.Do(func() { p.slots = make(chan struct{}, atOnce) })
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: other texts were being parsed", ErrTime)
	}
}

// start makes the runtime if there is none, and returns with guard read-locked.
func (p *Parsers) start() {
	for {
		p.guard.RLock()
		if p.runtime != nil {
			p.timer.Reset(idle)
			return
		}
		p.guard.RUnlock()
		p.guard.Lock()
		if p.runtime == nil {
			p.runtime = newRuntime()
			p.grammars = map[string]*compiled{}
			p.timer = time.AfterFunc(idle, p.Release)
		}
		p.guard.Unlock()
	}
}

func newRuntime() wazero.Runtime {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages))
	stop := api.GoFunc(func(ctx context.Context, stack []uint64) {
		stack[0] = 0
		if ctx.Err() != nil {
			stack[0] = 1
		}
	})
	// Without it no module can be instantiated: Parse reports that.
	_, _ = r.NewHostModuleBuilder("host").NewFunctionBuilder().
		WithGoFunction(stop, nil, []api.ValueType{api.ValueTypeI32}).Export("stop").Instantiate(ctx)
	return r
}

// Release lets go of the compiled modules. The next text compiles again.
func (p *Parsers) Release() {
	p.guard.Lock()
	defer p.guard.Unlock()
	if p.runtime == nil {
		return
	}
	p.timer.Stop()
	_ = p.runtime.Close(context.Background()) // frees memory only: nothing can be lost
	p.runtime, p.grammars, p.timer = nil, nil, nil
}

// compile is called with guard read-locked.
func (p *Parsers) compile(ctx context.Context, language string) (*compiled, error) {
	p.compiling.Lock()
	defer p.compiling.Unlock()
	if c := p.grammars[language]; c != nil {
		return c, nil
	}
	binary, err := module(language)
	if err != nil {
		return nil, err
	}
	// Somebody waits: one more core, if there is one, makes it half the time.
	m, err := p.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, min(2, runtime.GOMAXPROCS(0))), binary)
	if err != nil {
		return nil, fmt.Errorf("compiling the module for %s: %w", language, fault(ctx, err))
	}
	c := &compiled{module: m}
	err = p.instance(ctx, m, func(m api.Module) (err error) {
		c.grammar, err = readGrammar(ctx, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.grammars[language] = c
	return c, nil
}

// instance runs use with a module in fresh memory.
func (p *Parsers) instance(ctx context.Context, m wazero.CompiledModule, use func(api.Module) error) error {
	instance, err := p.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, &p.memories), m, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return fault(ctx, err)
	}
	defer instance.Close(context.Background())
	return use(instance)
}

// fault tells a stop by the clock from a failure of the parser.
func fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrTime
	}
	return fmt.Errorf("%w: %v", ErrFault, err)
}
