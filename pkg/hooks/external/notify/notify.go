// Package notify tells the operator, by a program or a webhook of the operator's, that an agent has asked for something.
//
// # Promise
//
//   - Each new request is told once to each notice, beside the call and never in its way: in bounded time, a bounded number
//     at once, and no longer than the server runs. What fails, or finds no room, is logged.
//   - The request is data: one JSON document ([Document]) on standard input or as the body, and a few variables. Nothing of
//     it stands in a command line. Every text in it is as approval.ViewOf has it, safe to print, and without what looks
//     like a secret, since it may leave the machine.
//   - A webhook is posted to its own address alone: no redirect is followed, and of that address only scheme and host are
//     logged.
//
// # Not promised
//
// That somebody sees it: nothing is tried again. Who gets it cannot answer by it; the command that answers stands in it, for
// a terminal. A program runs with the operator's rights, outside of every sandbox.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
)

const (
	programTime = 30 * time.Second
	webhookTime = 10 * time.Second
	// maxRunning is how many are told at a time, and maxWaiting how many may be on their way: an agent that asks without
	// end starts no more.
	maxRunning = 4
	maxWaiting = 100
)

// Notice is one way to tell the operator: a shell line, run in the workspace root, or the address of a webhook.
type Notice struct{ Command, URL string }

// Options are what a Notifier is made of.
type Options struct {
	// Programs is what shell lines run with.
	Programs external.Options
	Notices  []Notice
	Logger   zerolog.Logger
}

// Notifier tells of requests. It is safe for concurrent use.
type Notifier struct {
	Options
	client *http.Client

	mu               sync.Mutex // of calls against Close
	ctx              context.Context
	cancel           context.CancelFunc
	calls            sync.WaitGroup
	running, waiting chan struct{}
}

// New makes a Notifier. It starts nothing.
func New(o Options) *Notifier {
	n := &Notifier{Options: o, running: make(chan struct{}, maxRunning), waiting: make(chan struct{}, maxWaiting)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.client = &http.Client{
		Timeout: webhookTime, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return n
}

// Tell has every notice told of a request, and returns at once.
func (n *Notifier) Tell(r approval.Request) {
	d := documentOf(r, n.Programs.Workspace.Dir())
	body, err := json.Marshal(d)
	if err != nil {
		n.failed(Notice{}, r.ID, err)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, notice := range n.Notices {
		select {
		case <-n.ctx.Done():
			return
		case n.waiting <- struct{}{}:
			n.calls.Go(func() { n.tell(notice, d, body) })
		default:
			n.failed(notice, r.ID, fmt.Errorf("%d notices are on their way already", maxWaiting))
		}
	}
}

// Close ends what is on its way, and waits until that has ended.
func (n *Notifier) Close() {
	n.mu.Lock()
	n.cancel()
	n.mu.Unlock()
	n.calls.Wait()
}

func (n *Notifier) tell(notice Notice, d Document, body []byte) {
	defer func() { <-n.waiting }()
	select {
	case n.running <- struct{}{}:
		defer func() { <-n.running }()
	case <-n.ctx.Done():
		return
	}
	send := n.post
	if notice.Command != "" {
		send = n.run
	}
	if err := send(notice, d, body); err != nil && n.ctx.Err() == nil {
		n.failed(notice, d.ID, err)
	}
}

func (n *Notifier) failed(notice Notice, id string, err error) {
	n.Logger.Warn().Err(err).Str("notice", notice.name()).Str("approval", id).Msg("the operator was not notified of a request")
}

// name is a notice without what may be a secret of it.
func (notice Notice) name() string {
	if notice.Command != "" {
		return printable.Clip(redact.Text(notice.Command), 200)
	}
	if u, err := url.Parse(notice.URL); err == nil {
		return u.Scheme + "://" + u.Host
	}
	return "a webhook"
}

func (n *Notifier) run(notice Notice, d Document, body []byte) error {
	result, err := n.Programs.Run(n.ctx, command.Spec{Command: notice.Command, Input: append(body, '\n'), Unkept: true, Timeout: programTime},
		"APPROVAL_ID="+d.ID, "APPROVAL_TOOL="+d.Tool, "APPROVAL_INTENT="+d.Intent, "APPROVAL_TITLE="+d.Title)
	switch {
	case err != nil:
		return err
	case result.TimedOut:
		return fmt.Errorf("it did not end within %s", programTime)
	case result.ExitCode != 0:
		return fmt.Errorf("it ended with exit code %d", result.ExitCode)
	}
	return nil
}

func (n *Notifier) post(notice Notice, _ Document, body []byte) error {
	request, err := http.NewRequestWithContext(n.ctx, http.MethodPost, notice.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "orchestra-mcp")
	response, err := n.client.Do(request)
	if failed, is := errors.AsType[*url.Error](err); is {
		return failed.Err // without the address
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("it answered %d", response.StatusCode)
	}
	return nil
}
