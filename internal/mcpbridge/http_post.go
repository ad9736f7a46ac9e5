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
func (h *HTTPHandler) servePost(w http.ResponseWriter, r *http.Request, principal string) {
	q := h.quotas.of(principal)
	body, held, ok := h.readBody(w, r, q)
	if !ok {
		return
	}
	held = held.shrink(len(body)) // what is not announced was reserved in full
	post := &post{h: h, w: w, r: r, quota: q, principal: principal, held: held}
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
	h         *HTTPHandler
	w         http.ResponseWriter
	r         *http.Request
	quota     *quota
	principal string
	held      place
	session   *session // nil where there is none
	began     bool     // a call has what is held, and gives it back
}

// release gives back what no call has taken over.
func (p *post) release() {
	if !p.began {
		p.leave()
		p.held.release()
	}
}

func (p *post) leave() {
	if p.session != nil {
		p.h.sessions.leave(p.session)
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
	p.answer(m, declared)
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
	names, _ := servedParams(m.method)
	if err := mcp.ValidateStandardHeaders(header.Get, declared.version, mcp.MCPMethod(m.method), m.params.only(names)); err != nil {
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
		p.h.open(w, m, p.principal)
		return
	}
	if version := r.Header.Get(headerVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		writeError(w, http.StatusBadRequest, m.id, unsupportedVersion(version))
		return
	}
	s, ok := p.h.session(w, r, p.principal)
	if !ok {
		return
	}
	p.session = s
	switch m.kind {
	case notificationMessage:
		if m.method == "notifications/cancelled" {
			s.peer.cancelled(m)
		}
		w.WriteHeader(http.StatusAccepted)
	case responseMessage:
		s.peer.answered(m)
		w.WriteHeader(http.StatusAccepted)
	default:
		p.h.sessions.works(s)
		p.answer(m, declared)
	}
}

// open serves initialize.
func (h *HTTPHandler) open(w http.ResponseWriter, m message, principal string) {
	p := newPeer()
	answer, ok := h.server.initialize(h.calls, m, p, principal)
	if !ok {
		writeJSON(w, http.StatusBadRequest, answer)
		return
	}
	s, ok := h.sessions.open(principal, p, nil)
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
func (h *HTTPHandler) session(w http.ResponseWriter, r *http.Request, principal string) (*session, bool) {
	ids := r.Header.Values(headerSession)
	if len(ids) != 1 {
		http.Error(w, "bad request: send initialize first, then its "+headerSession+" with each request", http.StatusBadRequest)
		return nil, false
	}
	s := h.sessions.use(ids[0], principal)
	if s != nil && s.conn != nil {
		h.sessions.leave(s)
		s = nil
	}
	if s == nil {
		http.Error(w, "session not found: send initialize again", http.StatusNotFound)
		return nil, false
	}
	return s, true
}

// peer is nil where there is no session.
func (p *post) peer() *peer {
	if p.session == nil {
		return nil
	}
	return p.session.peer
}

// answer runs a request and answers it. A call can go on when this returns.
func (p *post) answer(m message, declared meta) {
	to := &line{w: p.w, ended: make(chan struct{})}
	out := newCallStream(p.r, to)
	if !out.json && !out.events {
		http.Error(p.w, "not acceptable: accept application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	req, failure := p.h.server.admit(m, declared, p.peer(), p.principal)
	if failure == nil && !p.join(req) {
		tooMuch(p.w)
		return
	}
	if failure == nil {
		failure = p.begin(req, out)
	}
	if failure != nil {
		out.finish(failureStatus(failure, declared.modern), encodeError(m.id, failure))
		return
	}
	out.attend(p.r, to)
}

// join counts the request among those of its client.
func (p *post) join(req *request) (ok bool) {
	client := p.h.clientOf(p.r, p.principal)
	if agent := p.h.server.config.Agent; req.caller.Modern && req.call != nil && agent != nil {
		if name := agent(req.call.call.Arguments); name != "" {
			client = "agent " + name
		}
	}
	p.held, ok = p.quota.join(p.held, client)
	return ok
}

func tooMuch(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "too much is in flight; wait for answers, then send it again", http.StatusServiceUnavailable)
}

// begin starts a request, which gives back what it holds when it has ended.
func (p *post) begin(req *request, out *callStream) *rpcError {
	from, server := p.peer(), p.h.server
	if !p.h.running.reserve(0) {
		return errorf(codeBusy, "the server is ending")
	}
	f, failure := from.begin(p.h.calls, req)
	if failure != nil {
		p.h.running.release(0)
		return failure
	}
	out.wanted, out.cancel = func() bool { return from.wanted(f) }, f.cancel
	if from != nil && req.call != nil && out.events {
		out.tape = p.quota.tapes.open(out, from, req.caller.ProtocolVersion, req.token != nil)
	}
	if failure = server.arrive(req, out, f, p.held, newElicitor(req, from, out, f, p.held)); failure != nil {
		from.end(req, f)
		out.tape.forget()
		p.h.running.release(0)
		return failure
	}
	if req.call != nil {
		out.open()
		if out.tape != nil && !out.tape.primes {
			req.call.progress.report("started", 0, 0) // the event to resume from
		}
	}
	p.began = true
	go func() {
		defer p.h.running.release(0)
		defer p.held.release()
		answer := server.serve(f.ctx, req)
		if !from.end(req, f) {
			answer = nil
		}
		p.leave() // first, so that who has the answer finds the session free
		out.finish(http.StatusOK, answer)
	}()
	return nil
}

// failureStatus is the HTTP status of an answer to a request that was not run. The initialize era has JSON-RPC errors
// in successful responses.
func failureStatus(failure *rpcError, modern bool) int {
	if modern && failure.Code == codeMethodNotFound {
		return http.StatusNotFound
	}
	return http.StatusOK
}

func (h *HTTPHandler) serveDelete(w http.ResponseWriter, r *http.Request, principal string) {
	if mcp.IsModernProtocol(r.Header.Get(headerVersion)) {
		methodNotAllowed(w, "POST")
		return
	}
	s, ok := h.session(w, r, principal)
	if !ok {
		return
	}
	defer h.sessions.leave(s)
	h.sessions.end(s)
	w.WriteHeader(http.StatusNoContent)
}
