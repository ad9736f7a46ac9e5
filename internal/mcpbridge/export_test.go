package mcpbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Admitted reads a message as a transport does and returns what its method
// would get of it, what the tool handler would get, and whether it was refused.
func Admitted(raw []byte) (params, arguments json.RawMessage, method string, ok bool) {
	s := &Server{tools: map[string]Tool{"echo": {}}, config: Config{Handler: unread{}}}
	p := newPeer()
	p.initialize(Caller{ProtocolVersion: "2025-11-25"})
	m, failure := parseMessage(raw)
	if failure != nil || m.kind != requestMessage {
		return nil, nil, "", false
	}
	declared, failure := readMeta(m.params)
	if failure != nil {
		return nil, nil, "", false
	}
	r, failure := s.admit(m, declared, p, Identity{})
	if failure != nil {
		return nil, nil, "", false
	}
	if r.call != nil {
		arguments = r.call.Arguments
	}
	return r.params, arguments, m.method, true
}

type unread struct{}

func (unread) Read(string, json.RawMessage) Incoming { return nil }

// ConnTable is the table of connections of a server that may have max.
type ConnTable struct{ table *connTable }

func NewConnTable(max int) ConnTable { return ConnTable{newConnTable(max)} }

// Open has a connection come in.
func (t ConnTable) Open(conn net.Conn) { t.table.watch(conn, http.StateNew) }

// Show has a request on it show a token, and end.
func (t ConnTable) Show(conn net.Conn) {
	t.table.watch(conn, http.StateActive)
	t.table.know(withConn(context.Background(), conn))
	t.table.watch(conn, http.StateIdle)
}

// LimitsAsDocumented are parts of README.md, made of the constants.
func LimitsAsDocumented() []string {
	kib, mib := 1<<10, 1<<20
	o := HTTPOptions{}.withDefaults()
	connections := newConnTable(o.MaxConnections).max
	return []string{
		fmt.Sprintf("| line, body | %d MiB |", defaultMaxMessage/mib),
		fmt.Sprintf("| messages in flight: one HTTP principal | %d × that |", heldMessages),
		fmt.Sprintf("| messages in flight: all HTTP principals | %d × that |", principalsHeld*heldMessages),
		fmt.Sprintf("| HTTP principals | %s; the one idle longest makes room", grouped(o.MaxPrincipals)),
		fmt.Sprintf("stdio or SSE connection | %d × that for calls that change files", heldMessages),
		fmt.Sprintf("of commands %d run, of tools that only read %d, of other servers %d (their prompts, resources and completions among them), of the others %d; of each kind %s run or wait |",
			maxRunningOutside, maxRunningReads, maxRunning, maxRunning, grouped(maxReserved)),
		fmt.Sprintf("| subscriptions | %d of one connection (stdio, SSE); %d of an HTTP principal", maxListens, principalListens),
		fmt.Sprintf("| a list of other servers | %s definitions, %d MiB |", grouped(maxBeside), besideBytes/mib),
		fmt.Sprintf("| a result of another server | %d MiB |", maxRaw/mib),
		fmt.Sprintf("| log messages | %d KiB; %d at once and %d a second to one", maxLogData/kib, logBurst, logsPerSecond),
		fmt.Sprintf("a list may be kept for %d s,", besideTTL/1000),
		fmt.Sprintf("Changes are gathered for %v s", settleTime.Seconds()),
		fmt.Sprintf("| other requests of one connection | %d run |", maxRunningReads),
		fmt.Sprintf("| HTTP requests without an answer | %d of one client, and not more than it leaves free; %d of all clients", o.MaxInFlight, clientsInFlight*o.MaxInFlight),
		fmt.Sprintf("| HTTP requests | %v a second and %d at once of one client", o.RequestsPerSecond, o.Burst),
		fmt.Sprintf("| HTTP sessions and SSE streams of one principal | %d; %v h idle ends one |", o.MaxSessions, o.SessionIdle.Hours()),
		fmt.Sprintf("| questions open | %d on one connection (stdio, SSE), of one client over HTTP; %d of all clients", maxQuestions, clientsInFlight*maxQuestions),
		fmt.Sprintf("| the last %d, and %d KiB |", keptEvents, keptEventBytes/kib),
		fmt.Sprintf("| %d, and %d MiB; the oldest go first; none longer than %v minutes |", maxKept, keptBytes/mib, resumeTime.Minutes()),
		fmt.Sprintf("| HTTP headers | %d KiB, %v s to arrive |", maxHeaderBytes/kib, o.ReadTimeout.Seconds()),
		fmt.Sprintf("| a request without a token | %v s in all;", o.ReadTimeout.Seconds()),
		fmt.Sprintf("| HTTP body | %v s, and the time that what has come of it takes at %d KiB a second;", o.ReadTimeout.Seconds(), bodyRate/kib),
		fmt.Sprintf("| an idle HTTP connection | %v min |", time.Duration(idleTimeout).Minutes()),
		fmt.Sprintf("| an event or answer that the client does not read | %v s |", writeTimeout.Seconds()),
		fmt.Sprintf("| HTTP connections | %s; %d of one client address, %d on which", grouped(connections), connections/clientShare, connections/anonymousShare),
		fmt.Sprintf("nesting over %d levels", maxDepth),
		fmt.Sprintf("over %s bytes; an id that is in flight", grouped(maxIDLength)),
		fmt.Sprintf("over %d KiB of what a method takes", maxParams/kib),
		fmt.Sprintf("No event stream is silent for longer than %v s", keepAlive.Seconds()),
		fmt.Sprintf("for **%v minutes** after each loss", resumeTime.Minutes()),
		fmt.Sprintf("what is in flight has %v s, then its context is cancelled,\n  and after at most %v s more", o.Drain.Seconds(), drainGrace.Seconds()),
		fmt.Sprintf("%d questions can be open at once", maxQuestions),
		fmt.Sprintf("`requestState` is bounded at %d KiB", MaxState/kib),
	}
}

// grouped writes 4096 as 4,096.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// PassedOn is a result of another server as clients of an era get it, and a definition of a tool.
func PassedOn(raw, definition []byte, modern bool) (result, tool json.RawMessage) {
	s := &Server{}
	caller := Caller{Modern: modern, ShowsApps: modern}
	answer, err := s.rawResult(json.RawMessage("1"), raw, added{text: "ours", cacheable: true}, caller)
	if err != nil {
		answer = nil
	}
	list, _ := besideLists("tools/list")
	_, tool, err = list.read(definition, caller)
	if err != nil {
		tool = nil
	}
	return answer, tool
}
