package mcpbridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"
)

// Config is what a [Server] offers. All of it is required but Title and Beside.
type Config struct {
	// Name and Version identify the server to clients; Title is shown to people.
	Name, Version, Title string
	// Instructions is asked at initialize and at server/discover for the text that tells the model how to use the
	// server. It must be quick.
	Instructions func() string
	// Tools, Prompts, Resources and ResourceTemplates are listed in this order, the same for every caller but for apps.
	Tools                        []Tool
	Prompts                      []Prompt
	Resources, ResourceTemplates []Resource
	// Handler runs the calls of all tools.
	Handler ToolHandler
	// Beside is what is offered behind all of that; nil for nothing. Only with it do lists change, and is there logging.
	Beside Beside
	// Complete returns all values that fit an argument of that name, best first; the client is sent at most 100.
	Complete func(argument, value string) []string
	// Disconnected is called when a [Caller.Connection] has ended: no call will bear it again.
	Disconnected func(connection string)
	// Busy tells whether something runs for a [Caller.Connection] that has no call in flight: an HTTP
	// session that is busy never makes room for another. It must be quick.
	Busy func(connection string) bool
	// Logger gets what an operator should know; never what was in a message.
	Logger zerolog.Logger
}

// Server serves one set of tools, prompts and resources over any number of connections. Its methods are safe for
// concurrent use.
type Server struct {
	config    Config
	identity  mcp.Implementation
	log       zerolog.Logger
	tools     map[string]Tool
	listed    func() ([]mcp.Tool, error) // made when somebody asks: the schemas are many
	templates []mcp.ResourceTemplate
	stateKey  []byte // of what only this server may have made
	news      news   // of lists that change

	toldMu sync.Mutex
	told   map[string]bool // what of Beside was left out and has been logged
}

// New makes a server, or says which of its tools cannot be offered.
func New(config Config) (*Server, error) {
	s := &Server{
		config: config, identity: mcp.Implementation{Name: config.Name, Version: config.Version, Title: config.Title},
		log: config.Logger, tools: make(map[string]Tool), templates: templatesOf(config.ResourceTemplates), stateKey: make([]byte, 32),
		told: make(map[string]bool),
	}
	_, _ = rand.Read(s.stateKey) // which never fails
	for _, tool := range config.Tools {
		switch {
		case tool.Name == "":
			return nil, errors.New("mcpbridge: a tool needs a name")
		case tool.InputSchema == nil:
			return nil, fmt.Errorf("mcpbridge: tool %q has no input schema", tool.Name)
		}
		s.tools[tool.Name] = tool
	}
	s.listed = sync.OnceValues(func() ([]mcp.Tool, error) {
		list := []mcp.Tool{}
		for _, tool := range config.Tools {
			definition, err := tool.definition()
			if err != nil {
				return nil, fmt.Errorf("tool %q: %w", tool.Name, err)
			}
			list = append(list, definition)
		}
		return list, nil
	})
	return s, nil
}

func (t Tool) definition() (mcp.Tool, error) {
	d := mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, RawInputSchema: t.InputSchema(),
		Annotations: mcp.ToolAnnotation{
			Title: t.Title, ReadOnlyHint: &t.ReadOnly, DestructiveHint: &t.Destructive, IdempotentHint: &t.Idempotent, OpenWorldHint: &t.OpenWorld,
		},
	}
	if err := checkObjectSchema(d.RawInputSchema); err != nil {
		return d, fmt.Errorf("input schema: %w", err)
	}
	if bytes.Contains(d.RawInputSchema, []byte(`"x-mcp-header"`)) {
		return d, errors.New("it asks for arguments in headers (x-mcp-header), which the bridge does not check; leave it out")
	}
	if t.OutputSchema == nil {
		return d, nil
	}
	d.RawOutputSchema = t.OutputSchema()
	if err := checkObjectSchema(d.RawOutputSchema); err != nil {
		return d, fmt.Errorf("output schema: %w", err)
	}
	return d, nil
}

// ProtocolRevisions lists the revisions of the protocol that are spoken, the newest first.
func ProtocolRevisions() []string { return slices.Clone(mcp.ValidProtocolVersions) }

// checkObjectSchema holds a schema to what 2025-11-25 requires of its root; clients drop tools, or the whole list,
// over anything else.
func checkObjectSchema(schema json.RawMessage) error {
	var root struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("not a JSON object: %v", err)
	}
	if root.Type != "object" {
		return fmt.Errorf(`its root must have "type": "object", not %q`, root.Type)
	}
	return nil
}

// ErrNotFound is what a resource's Read returns (or wraps) for a thing that does not exist; the client is told so with
// the error code of its era. Every other error is reported as an internal one, with its text.
var ErrNotFound = errors.New("not found")

// Tool is the definition of a tool as tools/list shows it.
type Tool struct {
	// Name identifies the tool; it is unique within a server.
	Name string
	// Title is shown to people, Description to the model.
	Title, Description string
	// InputSchema makes the JSON Schema of the arguments, when the tools are first listed. It is required, and the
	// schema's root has "type": "object".
	InputSchema func() json.RawMessage
	// OutputSchema makes the JSON Schema of [Result.Structured], likewise; nil for none.
	OutputSchema func() json.RawMessage
	// ReadOnly, Destructive, Idempotent and OpenWorld are the annotations of the same names. All four are always
	// sent: the protocol's defaults for absent ones are not false.
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Asks: the tool is of no use to a client that cannot show its user a form. One of 2026-07-28 is told so in place of a
	// call.
	Asks bool
	// App is the URI of the resource that clients which show apps show beside the tool's results; "" for none.
	App string
}

// Client is how a client names itself. It is unverified.
type Client struct {
	Name, Version string
	// Model is what it says that it runs; "" if it says nothing.
	Model string
}

// TraceContext is what the client does at this moment, in the form of W3C Trace Context, as the protocol has it in _meta
// (traceparent, tracestate); "" where it says nothing. Its baggage is for what a server calls in turn, which is nothing here.
type TraceContext struct{ Parent, State string }

// inCommon is what two clients behind one connection both call themselves.
func (c Client) inCommon(other Client) Client {
	switch {
	case c == other:
		return c
	case c.Name == other.Name:
		return Client{Name: c.Name}
	}
	return Client{}
}

// Caller is what is known about who sent a request.
type Caller struct {
	// Connection identifies the protocol session (HTTP) or the process's standard streams (stdio) of an
	// initialize-era client. It is unguessable, never shown to the client, and empty for a 2026-07-28 request, which
	// has no connection by the protocol's definition.
	Connection string
	// Modern is true for a request of revision 2026-07-28 or later.
	Modern bool
	// Principal is who the HTTP bearer token belongs to; empty on stdio.
	Principal string
	// Role is what that may do: [Identity.Role].
	Role string
	// Client is what the client calls itself; empty where clients of different names share a connection.
	Client Client
	// CanElicit is true if the client declared that it can show its user a form, in a revision that has forms.
	CanElicit bool
	// ShowsApps is true if the client declared that it shows apps ([AppMIMEType]).
	ShowsApps bool
	// ProtocolVersion is the revision in use for this request.
	ProtocolVersion string
}

// Call is one tools/call request.
type Call struct {
	Tool string
	// Arguments are the bytes of params.arguments exactly as sent, a JSON object in valid UTF-8; `{}` if they were
	// absent or null. Names in it may be repeated or miscased: whoever decodes it decides.
	Arguments json.RawMessage
	Caller    Caller
	// Model is what params._meta says that the client runs, as "model" or "model_id"; "" if it says nothing. It is
	// unverified.
	Model string
	// Trace is what params._meta says that the call is a part of. It is unverified.
	Trace TraceContext
	// Progress tells the client how far the call is; while nothing is reported, it is told now and then that the call
	// still runs. It waits while the client does not read, may be called concurrently and after the end, and does
	// nothing if the client did not ask for progress. A total of 0 means unknown. Values that do not increase are
	// raised a little, as the protocol demands.
	Progress func(message string, done, total float64)
	// Log sends the client a log message: a level of the protocol's (another one is sent as info), the logger's name or "",
	// and any JSON value. It is nil where the client wants none. Messages below the client's level, too many and too long
	// ones are left out, and what was is said at the end. It may block and be called as Progress.
	Log func(level, logger string, data json.RawMessage)
	// LogLevel is the level that the client has asked for when the call began, "" for none.
	LogLevel string
	// Elicit puts a form to the client's user and waits for the answer: until ctx is done, the client cancels the call,
	// leaves or closes its end, or the call ends. It is nil where the client cannot be asked while the call runs: it
	// has not declared that it shows forms, its sender answers nothing ([Identity.Unasked]), or its revision has no such
	// request. One call asks one question at a time.
	//
	// While it waits, the call's place is free for others; it comes back when there is one. An error means that there
	// is no answer, and what to make of it: ErrBadAnswer, ErrTooManyQuestions, ErrCannotAnswer, or that of a context.
	Elicit func(ctx context.Context, form Form) (Answer, error)
	// Ask puts a form of the tool's own to the client's user, under a key that is the question's own within the call. What
	// the client sends as its answer is not proven to be a person's. Where the answer can only come with the call's
	// repetition (2026-07-28), it is ErrUnanswered at first: the call is then to end with [Result.Unanswered].
	Ask func(ctx context.Context, key string, q Question) (Reply, error)
	// Aside runs wait, which waits for a person elsewhere, while the call's place is free for others. With
	// ErrTooManyQuestions it has not run: as many calls wait as may. It is not to be used while Elicit is.
	Aside func(wait func()) error
	// Behind runs wait, which waits for earlier calls, while others run in the call's place.
	Behind func(wait func())
	// Fragile is true if the call ends when its client closes, or loses, the response, and nothing can bring the
	// answer back: HTTP in 2026-07-28, and before where the stream has no event to resume from. What takes long
	// should then answer before clients give up.
	Fragile bool
	// Resumed is what a client of 2026-07-28 sent as its answer to an earlier [InputRequired]; nil if it sent none.
	// Nothing of it has been verified.
	Resumed *Resumption
}

// ToolHandler takes tool calls apart.
type ToolHandler interface {
	// Read takes the arguments of a call of a tool apart, once.
	Read(tool string, arguments json.RawMessage) Incoming
}

// Incoming is a call whose arguments have been read.
type Incoming interface {
	// Agent tells which of the agents behind one principal makes the call, where the protocol does not say (HTTP in
	// 2026-07-28): none of them may use all that the principal may. "" is an agent that cannot be told.
	Agent() string
	// Arrive is called once for each call of a known tool, in the order in which the calls came in on their
	// connection, by the goroutine that reads it: it must not block. Calls of different connections, and of different
	// HTTP requests, arrive concurrently. The returned function is then called exactly once, on a goroutine of its
	// own, possibly after waiting for a free place.
	//
	// If the call was cancelled before it could start, the function gets a context that is already done: it must then
	// start nothing, only give back what Arrive took.
	//
	// A panic in either is logged and answered with an internal error.
	Arrive(call Call) func(ctx context.Context) Result
}

// Result is the outcome of a tool call.
type Result struct {
	// Text is sent as the first content block, unless it is empty and there are others.
	Text string
	// Content is sent behind it.
	Content []Content
	// Structured is the structuredContent, a JSON object, or nil. Checked says that it is known to be one, in one line.
	Structured json.RawMessage
	Checked    bool
	// IsError marks a refusal or a failure.
	IsError bool
	// Meta is added to the result's _meta, which clients do not give to the model. Names have a prefix, such as name/part.
	Meta map[string]any
	// Raw, if not nil, is the whole result object as another server has sent it, and goes out as it is, with Meta added to
	// its _meta, and Text, if there is any, behind its content. It takes the place of Content, Structured and IsError. Its
	// type is complete: what would have the client asked is an internal error, and so is one of more than 16 MiB.
	Raw json.RawMessage
	// InputRequired, if not nil, is sent in place of all of the above: the call ends with a question. Only for a
	// caller that is Modern and CanElicit; for others the call fails with an internal error.
	InputRequired *InputRequired
	// Unanswered sends what [Call.Ask] could not answer, in place of all of the above.
	Unanswered bool
}

// Content is a block of a result: an image or audio by its MIME type, or, where it has a URI, a resource: embedded as a
// text, or as data, or where it has neither a link to it.
type Content struct {
	MIMEType, Data  string // in base64
	URI, Name, Text string
}

// Prompt is a prompt that the server offers.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// Get returns the text of the prompt's single user message.
	Get func(arguments map[string]string) string

	foreign func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) // in place of Get
}

// PromptArgument is a named value that a prompt takes: Name, Description and Required are used.
type PromptArgument = mcp.PromptArgument

// Resource is a text that the server offers under a fixed URI, or a family of them under an RFC 6570 template. One whose URI
// begins with ui:// is an app: it is listed for clients that show apps, and has them let it reach nothing.
type Resource struct {
	URI, Name, Title, Description, MIMEType string
	// Read returns the present text; variables are those of a template as they were matched in the URI.
	Read func(ctx context.Context, variables map[string]string) (string, error)

	foreign func(ctx context.Context, uri string, variables map[string][]string) ([]mcp.ResourceContents, error) // in place of Read
}
