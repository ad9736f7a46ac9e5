package mcpbridge

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxClientText bounds what is kept of a client's name and version.
const maxClientText = 200

// meta is what a request says about itself in params._meta.
type meta struct {
	raw           members
	model         string
	version       string // declared protocol revision, "" if none
	modern        bool
	client        Client
	canElicit     bool
	showsApps     bool
	progressToken json.RawMessage
	trace         TraceContext
}

// metaNames are the members of _meta that the protocol has.
func metaNames() []string {
	return []string{
		"progressToken",
		mcp.MetaKeyProtocolVersion,
		mcp.MetaKeyClientInfo,
		mcp.MetaKeyClientCapabilities,
		mcp.MetaKeyLogLevel,
	}
}

// readMeta decides the era of a request: it is of 2026-07-28 or later exactly if its _meta declares such a revision.
func readMeta(params members) (meta, *rpcError) {
	raw := params.get("_meta")
	if raw == nil {
		return meta{}, nil
	}
	var m meta
	var err error
	if m.raw, err = readMembers(raw); err != nil {
		return m, errorf(codeInvalidParams, "bad _meta: %v", err)
	}
	if err := m.raw.checkNames(metaNames()); err != nil {
		return m, errorf(codeInvalidParams, "bad _meta: %v", err)
	}
	m.model = readModel(m.raw)
	m.trace = readTrace(m.raw)
	m.progressToken = m.raw.get("progressToken")
	if m.progressToken != nil {
		if _, err := idKey(m.progressToken); err != nil {
			return m, errorf(codeInvalidParams, "bad progressToken: %v", err)
		}
	}
	failure := m.readVersion()
	return m, failure
}

func (m *meta) readVersion() *rpcError {
	declared := m.raw.get(mcp.MetaKeyProtocolVersion)
	if declared == nil {
		return nil
	}
	var ok bool
	if m.version, ok = unquote(declared); !ok {
		return errorf(codeInvalidParams, "missing or invalid _meta field %s", mcp.MetaKeyProtocolVersion)
	}
	known := mcp.IsValidProtocolVersion(m.version)
	// Only modern revisions declare themselves in the body, so one that is not known is a later one.
	m.modern = !known || mcp.IsModernProtocol(m.version)
	if !known {
		return unsupportedVersion(m.version)
	}
	if m.modern {
		return m.readClient()
	}
	return nil
}

func (m *meta) readClient() *rpcError {
	capabilities := m.raw.get(mcp.MetaKeyClientCapabilities)
	var ok bool
	if m.canElicit, ok = declaresElicitation(capabilities); !ok || json.Unmarshal(capabilities, new(mcp.ClientCapabilities)) != nil {
		return errorf(codeInvalidParams, "missing or invalid _meta field %s", mcp.MetaKeyClientCapabilities)
	}
	m.showsApps = declaresApps(capabilities)
	m.client = readClientInfo(m.raw.get(mcp.MetaKeyClientInfo))
	return nil
}

// declaresElicitation tells whether the client can show its user a form. An empty declaration means forms; one with
// "url" alone does not. It is not ok if capabilities is not an object.
func declaresElicitation(capabilities json.RawMessage) (can, ok bool) {
	declared, err := readMembers(capabilities)
	if err != nil {
		return false, false
	}
	modes, err := readMembers(declared.get("elicitation"))
	return err == nil && (modes.get("form") != nil || modes.get("url") == nil), true
}

// readClientInfo takes what it can get: the field is optional and unverified.
func readClientInfo(raw json.RawMessage) Client {
	info, _ := readMembers(raw) // none where it is no object
	name, _ := info.text("name")
	version, _ := info.text("version")
	return Client{Name: shorten(name), Version: shorten(version), Model: readModel(info)}
}

// readModel takes a model's name where a client gives one. No revision of the protocol has a field for it.
func readModel(from members) string {
	for _, key := range []string{"model", "model_id", "modelId"} {
		if model, ok := from.text(key); ok && model != "" {
			return shorten(model)
		}
	}
	return ""
}

// The longest that is taken of a trace context, in bytes: more than W3C Trace Context has in version 00.
const (
	maxTraceParent = 128
	maxTraceState  = 512
)

// readTrace takes the trace context that _meta carries. Values are not checked; what is too long is none.
func readTrace(from members) (t TraceContext) {
	if parent, ok := from.text("traceparent"); ok && len(parent) <= maxTraceParent {
		t.Parent = parent
	}
	if state, ok := from.text("tracestate"); ok && len(state) <= maxTraceState {
		t.State = state
	}
	return t
}

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= maxClientText {
		return text
	}
	return string(runes[:maxClientText]) + "…"
}

func unsupportedVersion(requested string) *rpcError {
	failure := errorf(codeUnsupportedVersion, "Unsupported protocol version")
	failure.Data = encode(map[string]any{
		"supported": mcp.ValidProtocolVersions,
		"requested": shorten(requested),
	})
	return failure
}
