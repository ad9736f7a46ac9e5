package watch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/internal/check"
)

// given is an answer that reached the source.
type given struct {
	id       string
	decision watch.Decision
	reason   string
}

// source is an inbox in memory. It fails the test when something is answered that it does not have.
type source struct {
	t       *testing.T
	items   []watch.Item
	readErr error
	given   []given
	err     error
}

func (s *source) Items() ([]watch.Item, error) { return slices.Clone(s.items), s.readErr }

func (s *source) Answer(id string, decision watch.Decision, reason string) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	at := slices.IndexFunc(s.items, func(i watch.Item) bool { return i.ID == id })
	check.That(s.t, at >= 0, "%s was answered, but is not there", id)
	s.items = slices.Delete(s.items, at, at+1)
	s.given = append(s.given, given{id, decision, reason})
	return "done with " + id, nil
}

// driver is a model with a clock, driven as bubbletea does, but step by step.
type driver struct {
	t     *testing.T
	src   *source
	model watch.Model
	now   time.Time
}

var noon = time.Date(2026, 2, 18, 12, 0, 0, 0, time.UTC)

func start(t *testing.T, width, height int, items ...watch.Item) *driver {
	d := &driver{t: t, src: &source{t: t, items: items}, now: noon}
	d.model = watch.New(d.src, watch.Options{Title: "project", Bell: true, Now: func() time.Time { return d.now }})
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
	d.poll()
	return d
}

// send updates the model, and runs what comes of it but the wait for the next poll.
func (d *driver) send(msg tea.Msg) tea.Cmd {
	model, cmd := d.model.Update(msg)
	d.model = model.(watch.Model)
	return cmd
}

// poll reads the source once; of what follows only the bell is looked at, because the rest waits for the clock.
func (d *driver) poll() {
	cmd := d.send(d.model.Init()())
	check.Must(d.t, cmd != nil, "nothing reads the source again")
}

// press presses keys one after the other, and lets the source carry out what they say.
func (d *driver) press(keys ...string) *driver {
	for _, key := range keys {
		if cmd := d.send(keyOf(key)); cmd != nil {
			d.send(cmd())
		}
	}
	return d
}

func keyOf(name string) tea.KeyPressMsg {
	switch name {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "up":
		return tea.KeyPressMsg{Code: tea.KeyUp}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func (d *driver) write(text string) {
	for _, r := range text {
		if r == ' ' {
			d.press("space")
			continue
		}
		d.press(string(r))
	}
}

func (d *driver) wait(by time.Duration) *driver { d.now = d.now.Add(by); return d }

func (d *driver) screen() string { return strings.Join(d.model.Screen(), "\n") }

func (d *driver) expect(parts ...string) {
	d.t.Helper()
	for _, part := range parts {
		check.That(d.t, strings.Contains(d.screen(), part), "%q is not on the screen:\n%s", part, d.screen())
	}
}

func (d *driver) expectGiven(want ...given) {
	d.t.Helper()
	check.That(d.t, slices.Equal(d.src.given, want), "answered %v, want %v; the screen:\n%s", d.src.given, want, d.screen())
}

func request(n int, lines ...string) watch.Item {
	item := watch.Item{
		ID: fmt.Sprintf("apr_%026d", n), Created: noon.Add(time.Duration(n-100) * time.Second), Expires: noon.Add(time.Hour),
		Tool: "write_to_file", IntentID: "INT-001", Subject: fmt.Sprintf("src/%d.go", n),
	}
	for _, line := range append([]string{"the body of " + item.ID}, lines...) {
		item.Body = append(item.Body, watch.Line{Text: line})
	}
	return item
}

func grant(n int) watch.Item {
	item := request(n)
	item.ID, item.Grant, item.Expires = fmt.Sprintf("grt_%026d", n), true, time.Time{}
	return item
}

func timeNoon() time.Time { return noon }
