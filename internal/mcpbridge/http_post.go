package mcpbridge

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"

	headerLastEvent = "Last-Event-Id"
)

// servePost serves a POST to the MCP endpoint: one message, answered on the response.
func (h *HTTPHandler) servePost(w http.ResponseWriter, r *http.Request, from sender) {
	body, held, ok := h.readBody(w, r, from.principal)
	if !ok {
		return
	}
	held = held.shrink(len(body)) // what is not announced was reserved in full
	post := &post{sender: from, w: w, r: r, held: held}
	defer post.release()
	m, failure := parseMessage(body)
	var declared meta
	if failure == nil {
		declared, failure = readMeta(m.params)
	}
	if declared.modern {
		failure = cmp.Or(checkVersionHeader(r.Header, declared), failure)
	}
	if failure != nil {
		writeError(w, http.StatusBadRequest, m.id, failure)
		return
	}
	if declared.modern || mcp.IsModernProtocol(r.Header.Get(headerVersion)) {
		post.modern(m, declared)
		return
	}
	post.legacy(m, declared)
}

// post is one POST, with what it holds until it is answered, or until the call that it began has ended.
type post struct {
	sender
	w     http.ResponseWriter
	r     *http.Request
	held  place
	in    *session // nil where there is none
	began bool     // a call has what is held, and gives it back
}

// release gives back what no call has taken over.
func (p *post) release() {
	if !p.began {
		p.leaveSession()
		p.held.release()
	}
}

func (p *post) leaveSession() {
	if p.in != nil {
		p.leave(p.in)
	}
}

// modern serves a message of 2026-07-28. There is no session: nothing that is sent here can touch another request,
// and Mcp-Session-Id is ignored.
func (p *post) modern(m message, declared meta) {
	w, r := p.w, p.r
	switch m.kind {
	case notificationMessage:
		// The revision defines none for HTTP. Cancelling is closing the response, so notifications/cancelled is
		// accepted and does nothing.
		w.WriteHeader(http.StatusAccepted)
		return
	case responseMessage:
		writeError(w, http.StatusBadRequest, nil, errorf(codeInvalidRequest, "responses are not part of revision %s", r.Header.Get(headerVersion)))
		return
	}
	if failure := checkModernHeaders(r.Header, m, declared); failure != nil {
		writeError(w, http.StatusBadRequest, m.id, failure)
		return
	}
	if m.method == "initialize" || m.method == "ping" {
		writeError(w, http.StatusNotFound, m.id, errorf(codeMethodNotFound, "%s is not part of revision %s", m.method, declared.version))
		return
	}
	p.answer(newPeer(), m, declared)
}

// checkModernHeaders holds the headers that mirror the body to it: what a proxy decided on must be what is run.
func checkModernHeaders(header http.Header, m message, declared meta) *rpcError {
	for _, name := range []string{headerVersion, headerMethod, headerName} {
		if len(header.Values(name)) > 1 {
			return errorf(codeHeaderMismatch, "Header mismatch: %s appears more than once", name)
		}
	}
	if declared.version == "" {
		return errorf(codeInvalidParams, "missing or invalid _meta field %s", mcp.MetaKeyProtocolVersion)
	}
	if failure := checkVersionHeader(header, declared); failure != nil {
		return failure
	}
	params := m.params.only(servedParams[m.method])
	if err := mcp.ValidateStandardHeaders(header.Get, declared.version, mcp.MCPMethod(m.method), params); err != nil {
		return errorf(codeHeaderMismatch, "%v", err)
	}
	return nil
}

// checkVersionHeader comes before the question whether the revision is one that is known: what differs was not sent
// by one client.
func checkVersionHeader(header http.Header, declared meta) *rpcError {
	if stated := header.Get(headerVersion); stated != declared.version {
		return errorf(codeHeaderMismatch, "Header mismatch: %s header %.40q does not match body value %.40q", headerVersion, stated, declared.version)
	}
	return nil
}

// legacy serves a message of the initialize era, which belongs to a session that this server opened for this principal.
func (p *post) legacy(m message, declared meta) {
	w, r := p.w, p.r
	if m.kind == requestMessage && m.method == "initialize" {
		p.initialize(w, m)
		return
	}
	if version := r.Header.Get(headerVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		writeError(w, http.StatusBadRequest, m.id, unsupportedVersion(version))
		return
	}
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	p.in = s
	switch m.kind {
	case notificationMessage:
		if m.method == "notifications/cancelled" {
			s.peer.cancelled(m)
		}
		w.WriteHeader(http.StatusAccepted)
	case responseMessage:
		if !p.who.Unasked {
			s.peer.answered(m)
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		s.worked.Store(true)
		p.answer(s.peer, m, declared)
	}
}

// initialize opens a session.
func (p *post) initialize(w http.ResponseWriter, m message) {
	from := newPeer()
	answer, ok := p.h.server.initialize(p.h.calls, m, from, p.who)
	if !ok {
		writeJSON(w, http.StatusBadRequest, answer)
		return
	}
	s, ok := p.open(from, nil)
	if !ok {
		noSession(w, m.id)
		return
	}
	w.Header().Set(headerSession, s.id)
	writeJSON(w, http.StatusOK, answer)
}

// noSession answers who cannot have a session because all are in use.
func noSession(w http.ResponseWriter, id json.RawMessage) {
	w.Header().Set("Retry-After", "1")
	writeError(w, http.StatusServiceUnavailable, id, errorf(codeBusy,
		"every session that this token may have runs a call or a command or has an open stream; end one (DELETE with its %s), or wait until one is idle", headerSession))
}

// session finds the session of a request, or answers it. Who gets it leaves it.
func (p *principal) session(w http.ResponseWriter, r *http.Request) (*session, bool) {
	ids := r.Header.Values(headerSession)
	if len(ids) != 1 {
		http.Error(w, "bad request: send initialize first, then its "+headerSession+" with each request", http.StatusBadRequest)
		return nil, false
	}
	s := p.use(ids[0], false)
	if s == nil {
		http.Error(w, "session not found: send initialize again", http.StatusNotFound)
		return nil, false
	}
	return s, true
}

// answer runs a request and answers it. A call can go on when this returns.
func (p *post) answer(from *peer, m message, declared meta) {
	to := &line{w: p.w, ended: make(chan struct{})}
	out := newCallStream(p.r, to)
	if !out.events && (!out.json || m.method == listenMethod) {
		http.Error(p.w, "not acceptable: accept application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	req, failure := p.h.server.admit(m, declared, from, p.who)
	if failure == nil && !p.join(req) {
		tooMuch(p.w)
		return
	}
	if failure == nil {
		failure = p.begin(from, req, out)
	}
	if failure != nil {
		status := http.StatusOK // the initialize era has errors in successful responses
		switch {
		case declared.modern && failure.Code == codeMethodNotFound:
			status = http.StatusNotFound
		case failure.Code == codeMissingCapability:
			status = http.StatusBadRequest
		}
		out.finish(status, encodeError(m.id, failure))
		return
	}
	out.attend(p.r, to)
}

// join counts the request among those of its client.
func (p *post) join(req *request) (ok bool) {
	client := p.clientOf(p.r)
	if req.caller.Modern && req.call != nil {
		if name := req.incoming.Agent(); name != "" {
			client = "agent " + name
		}
	}
	if req.method == listenMethod {
		return p.subscribe()
	}
	p.held, ok = p.held.join(client, p.h.options.MaxInFlight)
	return ok
}

// subscribe has the request hold a place among the subscriptions of its principal, in place of one among what is to be answered.
func (p *post) subscribe() (ok bool) {
	held, ok := p.listens.reserve(0)
	if ok {
		p.held.release()
		p.held = held
	}
	return ok
}

func tooMuch(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "too much is in flight; wait for answers, then send it again", http.StatusServiceUnavailable)
}

// begin starts a request, which gives back what it holds when it has ended.
func (p *post) begin(from *peer, req *request, out *callStream) *rpcError {
	running, ok := p.h.running.reserve(0)
	if !ok {
		return errorf(codeBusy, "the server is ending")
	}
	f, failure := from.begin(p.h.calls, p.h.server, req)
	if failure != nil {
		running.release()
		return failure
	}
	out.cancel = f.cancel
	if p.in != nil && req.call != nil && out.events {
		p.kept.add(out, from, req.caller.ProtocolVersion, req.token != nil)
	}
	// A client that takes a JSON object only gets the answer.
	f.held, f.send, f.asks, f.fragile, f.ending = p.held, out.send, out.events, out.fragile(), p.h.streams.Done()
	if failure = f.arrive(); failure != nil {
		from.end(f)
		out.kept.forget(out)
		running.release()
		return failure
	}
	if req.call != nil {
		out.open()
		if out.kept != nil && !out.primes {
			f.progress.report("started", 0, 0) // the event to resume from
		}
	}
	p.began = true
	go func() {
		defer running.release()
		defer p.held.release()
		answer := f.serve()
		p.leaveSession() // first, so that who has the answer finds the session free
		out.finish(http.StatusOK, answer)
	}()
	return nil
}

func (h *HTTPHandler) serveDelete(w http.ResponseWriter, r *http.Request, p *principal) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	defer p.leave(s)
	p.end(s)
	w.WriteHeader(http.StatusNoContent)
}
