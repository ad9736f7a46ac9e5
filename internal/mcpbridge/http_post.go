package mcpbridge

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// servePost serves a POST to the MCP endpoint: one message, answered on the
// response.
func (h *HTTPHandler) servePost(w http.ResponseWriter, r *http.Request, principal string) {
	q := h.quotas.of(principal)
	body, held, ok := h.readBody(w, r, q)
	if !ok {
		return
	}
	defer held.release()
	m, failure := parseMessage(body)
	if failure != nil {
		writeJSON(w, http.StatusBadRequest, encodeError(m.id, failure))
		return
	}
	declared, failure := readMeta(m.params)
	if declared.modern {
		if mismatch := checkVersionHeader(r.Header, declared); mismatch != nil {
			failure = mismatch
		}
	}
	if failure != nil {
		writeJSON(w, http.StatusBadRequest, encodeError(m.id, failure))
		return
	}
	if declared.modern || mcp.IsModernProtocol(r.Header.Get(headerVersion)) {
		h.postModern(w, r, m, declared, principal, held)
		return
	}
	h.postLegacy(w, r, m, declared, principal, held)
}

// postModern serves a message of 2026-07-28. There is no session: nothing that
// is sent here can touch another request, and Mcp-Session-Id is ignored.
func (h *HTTPHandler) postModern(w http.ResponseWriter, r *http.Request, m message, declared meta, principal string, held place) {
	switch m.kind {
	case notificationMessage:
		// The revision defines none for HTTP. Cancelling is closing the
		// response, so notifications/cancelled is accepted and does nothing.
		w.WriteHeader(http.StatusAccepted)
		return
	case responseMessage:
		writeJSON(w, http.StatusBadRequest, encodeError(nil, errorf(codeInvalidRequest, "responses are not part of revision %s", r.Header.Get(headerVersion))))
		return
	}
	if failure := checkModernHeaders(r.Header, m, declared); failure != nil {
		writeJSON(w, http.StatusBadRequest, encodeError(m.id, failure))
		return
	}
	if m.method == "initialize" || m.method == "ping" {
		writeJSON(w, http.StatusNotFound, encodeError(m.id, errorf(codeMethodNotFound, "%s is not part of revision %s", m.method, declared.version)))
		return
	}
	h.answer(w, r, m, declared, nil, principal, held)
}

// checkModernHeaders holds the headers that mirror the body to it: what a
// proxy decided on must be what is run.
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
	params := forwardParams(m, names)
	if err := mcp.ValidateStandardHeaders(header.Get, declared.version, mcp.MCPMethod(m.method), params); err != nil {
		return errorf(codeHeaderMismatch, "%v", err)
	}
	return nil
}

// checkVersionHeader comes before the question whether the revision is one that
// is known: what differs was not sent by one client.
func checkVersionHeader(header http.Header, declared meta) *rpcError {
	if stated := header.Get(headerVersion); stated != declared.version {
		return errorf(codeHeaderMismatch, "Header mismatch: %s header %.40q does not match body value %.40q", headerVersion, stated, declared.version)
	}
	return nil
}

// postLegacy serves a message of the initialize era, which belongs to a
// session that this server opened for this principal.
func (h *HTTPHandler) postLegacy(w http.ResponseWriter, r *http.Request, m message, declared meta, principal string, held place) {
	if m.kind == requestMessage && m.method == "initialize" {
		h.open(w, m, principal)
		return
	}
	if version := r.Header.Get(headerVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		writeJSON(w, http.StatusBadRequest, encodeError(m.id, unsupportedVersion(version)))
		return
	}
	s, ok := h.session(w, r, principal)
	if !ok {
		return
	}
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
		h.answer(w, r, m, declared, s.peer, principal, held)
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
	w.Header().Set(headerSession, h.sessions.open(principal, p, nil).id)
	writeJSON(w, http.StatusOK, answer)
}

// session finds the session of a request, or answers it.
func (h *HTTPHandler) session(w http.ResponseWriter, r *http.Request, principal string) (*session, bool) {
	ids := r.Header.Values(headerSession)
	if len(ids) != 1 {
		http.Error(w, "bad request: send initialize first, then its "+headerSession+" with each request", http.StatusBadRequest)
		return nil, false
	}
	s := h.sessions.use(ids[0], principal)
	if s == nil || s.conn != nil {
		http.Error(w, "session not found: send initialize again", http.StatusNotFound)
		return nil, false
	}
	return s, true
}

// answer runs a request and answers it. The client's leaving cancels it.
func (h *HTTPHandler) answer(w http.ResponseWriter, r *http.Request, m message, declared meta, from *peer, principal string, held place) {
	out := newPostStream(w, r)
	if out == nil {
		http.Error(w, "not acceptable: accept application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	req, failure := h.server.admit(m, declared, from, principal)
	var f *flight
	if failure == nil {
		f, failure = from.begin(r.Context(), req)
	}
	if failure == nil {
		stop := context.AfterFunc(h.calls, f.cancel)
		defer stop()
		out.wanted = func() bool { return from.wanted(f) }
		if failure = h.server.arrive(req, out, f, held, newElicitor(req, from, out, f, held)); failure != nil {
			from.end(req, f)
		}
	}
	if failure != nil {
		out.finish(failureStatus(failure, declared.modern), encodeError(m.id, failure))
		return
	}
	answer := h.server.serve(f.ctx, req, out)
	if from.end(req, f) {
		out.finish(http.StatusOK, answer)
		return
	}
	out.finish(http.StatusOK, nil)
}

// failureStatus is the HTTP status of an answer to a request that was not run.
// The initialize era has JSON-RPC errors in successful responses.
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
	h.sessions.end(s)
	w.WriteHeader(http.StatusNoContent)
}
