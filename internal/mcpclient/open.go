package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

const (
	modernRevision = "2026-07-28"
	// maxInstructions bounds what is kept of a server's instructions, in bytes.
	maxInstructions = 32 << 10
	// maxCapabilities bounds what a server can declare; more is as if it declared nothing.
	maxCapabilities = 64 << 10
	maxRevisions    = 100
)

// legacyRevisions are those of the initialize era, the newest first.
func legacyRevisions() []string {
	return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

// errLegacy: the server speaks no revision without a handshake.
var errLegacy = errors.New("initialize era")

// open finds out which era the server is of. The protocol has a client ask in the newer one first, and take whatever is no
// answer of it for the older one.
func (c *Client) open(ctx context.Context) error {
	modern := c.modernState()
	var found *state
	var err error
	if c.options.Initialize {
		found, err = c.initialize(ctx)
	} else {
		found, err = c.probe(ctx, modern)
	}
	if err == nil {
		err = c.link.opened(ctx, found)
	}
	if err == nil && found.Modern {
		go c.subscribe(found)
	}
	return err
}

// probe asks for discovery and, where that stays without an answer, sends the handshake too. A server that is still starting
// finds both. If it then knows both eras, the handshake counts: it may serve only what began with it.
func (c *Client) probe(ctx context.Context, modern *state) (*state, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	discovered := make(chan outcome, 1)
	go func() {
		s, err := c.discover(ctx, modern)
		discovered <- outcome{s, err}
	}()
	silence := time.NewTimer(c.patience)
	defer silence.Stop()
	select {
	case d := <-discovered:
		if errors.Is(d.err, errLegacy) {
			return c.initialize(ctx)
		}
		return d.state, c.whyProbed(d.err)
	case <-silence.C:
	}
	s, err := c.initialize(ctx)
	if err == nil {
		return s, nil
	}
	silence.Reset(c.patience)
	select {
	case d := <-discovered:
		if d.err == nil {
			return d.state, nil
		}
	case <-silence.C: // it has said no to the one, and nothing to what came before
	}
	return nil, c.whyProbed(err)
}

type outcome struct {
	state *state
	err   error
}

// whyProbed tells the end of a server at the question from other ends.
func (c *Client) whyProbed(err error) error {
	if errors.Is(err, ErrEnded) {
		return fmt.Errorf("%w: %w", ErrProbed, err)
	}
	return err
}

// discover is errLegacy if the server is of the initialize era.
func (c *Client) discover(ctx context.Context, modern *state) (*state, error) {
	p := prepared{}
	a := c.do(ctx, c.newCall(modern, "server/discover", p, retry{}, Handlers{}))
	var failure *Error
	var status *StatusError
	switch {
	case a.err == nil:
		return discovered(modern, a.result)
	case errors.As(a.err, &failure) && failure.Code == codeUnsupportedVersion:
		return nil, choose(modern, texts(member(failure.Data, "supported")), failure)
	case errors.As(a.err, &failure) && (failure.Code == codeHeaderMismatch || failure.Code == codeMissingCapability):
		return nil, failure
	case errors.As(a.err, &failure), errors.As(a.err, &status), errors.Is(a.err, ErrAnswer), errors.Is(a.err, ErrLost):
		return nil, errLegacy
	}
	return nil, a.err
}

// Codes of revision 2026-07-28.
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

func discovered(modern *state, result json.RawMessage) (*state, error) {
	if err := choose(modern, texts(member(result, "supportedVersions")), nil); err != nil {
		return nil, err
	}
	s := *modern
	s.describe(member(member(result, "_meta"), "io.modelcontextprotocol/serverInfo"), result)
	return &s, nil
}

// choose is nil if the server speaks the modern revision, errLegacy if it speaks one of the others, or does not say.
func choose(modern *state, supported []string, failure *Error) error {
	switch {
	case failure == nil && slices.Contains(supported, modern.Revision):
		return nil
	case len(supported) == 0 && failure == nil:
		return errLegacy
	}
	for _, revision := range legacyRevisions() {
		if slices.Contains(supported, revision) {
			return errLegacy
		}
	}
	return fmt.Errorf("%w: it speaks the revisions %s", ErrForeign, shown(fmt.Sprint(supported)))
}

// initialize is the handshake of the older era, but for the notification at its end.
func (c *Client) initialize(ctx context.Context) (*state, error) {
	params, err := prepare(fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"elicitation":{}},"clientInfo":%s}`, legacyRevisions()[0], c.clientInfo()), nil)
	if err != nil {
		return nil, err
	}
	begun := c.newCall(&state{}, "initialize", params, retry{}, Handlers{})
	a := c.do(ctx, begun)
	if a.err != nil {
		return nil, fmt.Errorf("initialize: %w", a.err)
	}
	s := &state{session: begun.session}
	s.Revision, _ = rawjson.Text(member(a.result, "protocolVersion"))
	if !slices.Contains(legacyRevisions(), s.Revision) {
		return nil, fmt.Errorf("%w: it speaks the revision %q", ErrForeign, shorten(s.Revision, 100))
	}
	s.describe(member(a.result, "serverInfo"), a.result)
	return s, nil
}

func (s *state) describe(info, result json.RawMessage) {
	text := func(from json.RawMessage, of string) string {
		value, _ := rawjson.Text(member(from, of))
		return value
	}
	s.Name, s.Version, s.Title = label(text(info, "name")), label(text(info, "version")), label(text(info, "title"))
	s.Instructions = shorten(text(result, "instructions"), maxInstructions)
	s.Capabilities = json.RawMessage("{}")
	if capabilities := member(result, "capabilities"); len(capabilities) <= maxCapabilities && isObject(capabilities) == nil {
		s.Capabilities = bytes.Clone(capabilities)
	}
}

func (c *Client) modernState() *state {
	s := &state{Identity: Identity{Revision: modernRevision, Modern: true}}
	meta := func(capabilities string) []byte {
		return fmt.Appendf(nil, `"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":%s,"io.modelcontextprotocol/clientCapabilities":%s`,
			modernRevision, c.clientInfo(), capabilities)
	}
	s.meta, s.metaAsks = meta("{}"), meta(`{"elicitation":{"form":{}}}`)
	return s
}

func (c *Client) clientInfo() []byte {
	b := append(rawjson.AppendText([]byte(`{"name":`), c.options.Name), `,"version":`...)
	return append(rawjson.AppendText(b, c.options.Version), '}')
}

// texts are the strings of an array.
func texts(raw json.RawMessage) (found []string) {
	elements, err := rawjson.Elements(raw, maxRevisions)
	if err != nil {
		return nil
	}
	for _, element := range elements {
		if text, is := rawjson.Text(element); is {
			found = append(found, text)
		}
	}
	return found
}
