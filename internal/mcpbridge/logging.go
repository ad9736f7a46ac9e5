package mcpbridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/time/rate"
)

const (
	// logsPerSecond and logBurst bound the log messages to one connection, session, or request without one.
	logsPerSecond = 20
	logBurst      = 100
	// maxLogData bounds the data of one, in bytes.
	maxLogData = 16 << 10
)

// logLevels are those of the protocol, the least grave first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// readLogLevel takes the level of a logging/setLevel, or of the _meta of a request of 2026-07-28; "" for none.
func readLogLevel(raw json.RawMessage) (string, *rpcError) {
	if raw == nil {
		return "", nil
	}
	level, _ := unquote(raw)
	if !slices.Contains(logLevels, level) {
		return "", errorf(codeInvalidParams, "bad log level %.40q: it must be one of %v", level, logLevels)
	}
	return level, nil
}

// logs sends a request's log messages.
type logs struct {
	of *flight

	mu      sync.Mutex
	stopped bool
	left    int // out
}

// level is from which on the client wants messages: of a request of 2026-07-28 as that says, else as the connection does, which
// can change meanwhile.
func (f *flight) level() string {
	if f.caller.Modern {
		return f.logLevel
	}
	return f.from.logLevel()
}

// logger is what sends log messages for a request; nil where the client wants none.
func (f *flight) logger() func(level, logger string, data json.RawMessage) {
	if f.level() == "" {
		return nil
	}
	return f.logs.report
}

type logParams struct {
	Level  string          `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

func (l *logs) report(level, logger string, data json.RawMessage) {
	if !slices.Contains(logLevels, level) {
		level = "info"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || !l.wanted(level) {
		return
	}
	data, err := logData(data)
	if err != nil || !l.of.from.mayLog() {
		l.left++
		return
	}
	l.of.notify("notifications/message", logParams{level, shorten(logger), data})
}

func (l *logs) wanted(level string) bool {
	from := l.of.level()
	return from != "" && slices.Index(logLevels, level) >= slices.Index(logLevels, from)
}

// logData is a message's data in one line. What is too long is said in its place.
func logData(data json.RawMessage) (json.RawMessage, error) {
	if len(data) > maxLogData {
		return encode(fmt.Sprintf("[a message of %d bytes is left out]", len(data))), nil
	}
	data, err := inOneLine(data)
	if err != nil {
		return nil, err
	}
	if err := checkValue(data); err != nil {
		return nil, err
	}
	return data, nil
}

// stop ends the messages: a later one would belong to nothing.
func (l *logs) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left > 0 && !l.stopped && l.wanted("warning") {
		l.of.notify("notifications/message", logParams{"warning", l.of.server.identity.Name, encode(fmt.Sprintf("%d log messages were left out", l.left))})
	}
	l.stopped = true
}

// setLogLevel is what logging/setLevel does; where several clients share a connection, the last one's holds.
func (p *peer) setLogLevel(level string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.level = level
}

func (p *peer) logLevel() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.level
}

// mayLog tells whether the peer may be sent a log message now.
func (p *peer) mayLog() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logRate == nil {
		p.logRate = rate.NewLimiter(logsPerSecond, logBurst)
	}
	return p.logRate.Allow()
}

// logLevelOf is the level that a request of 2026-07-28 asks for.
func logLevelOf(declared meta) json.RawMessage {
	return declared.raw.get(mcp.MetaKeyLogLevel)
}
