package rule

// Facts are what a condition is evaluated over: one effect of one call. They are only read.
type Facts struct {
	Tool    string
	Paths   []string
	Effect  Effect
	Command Command
	// Upstream is nil for what this server does itself.
	Upstream *Upstream
	Intent   Intent
	Session  Session
	Class    Class
}

// Effect is one file that the call changes, the command that it runs, or what it has another server do. The functions are called only by conditions that
// ask, and may be called several times; a nil one stands for nothing.
type Effect struct {
	Kind, Path, From      string
	Before, After         func() string
	Added, Removed        func() []string
	BeforeSize, AfterSize int
	Binary                func() bool
	// Missed is set to true where a content was asked for that is not there; nil: all are.
	Missed *bool
}

// Command is the command of the call.
type Command struct {
	Line, Cwd  string
	Background bool
	// Programs are the simple commands, each its name and arguments.
	Programs [][]string
}

// Upstream is a call that another server carries out. Arguments are decoded only for conditions that ask.
type Upstream struct {
	Server, Tool   string
	Arguments      func() map[string]any
	URLs, Commands []string
	// Missed is set to true where arguments are asked for that are not there; nil: they are.
	Missed *bool
}

// Intent is the selected intent.
type Intent struct {
	ID, Name, Status, Agent string
	OwnedScope              []string
}

// Session is who calls.
type Session struct {
	Client, ClientVersion, Model string
}

// Class is the mutation class. The functions are called only by conditions that ask; a nil one stands for nothing.
type Class struct {
	Declared           string
	Computed, Evidence func() string
}
