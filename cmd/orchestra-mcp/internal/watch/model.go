package watch

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Arming is how long a request must have been on the screen before a key can answer it. People need longer than a
// quarter of a second to react to something new, and longer still to choose: whoever pressed a key within half a second
// meant what was there before.
const Arming = 500 * time.Millisecond

// pollInterval is how often the source is read. It bounds what a waiting agent loses, and costs a directory listing.
const pollInterval = 500 * time.Millisecond

// Options are what a view needs.
type Options struct {
	// Title names the workspace.
	Title string
	// Color puts differences in colour.
	Color bool
	// Bell rings when a new request comes.
	Bell bool
	// Now is the clock.
	Now func() time.Time
}

// mode is what the keys mean.
type mode int

const (
	browsing mode = iota
	confirming
	giving // a reason
	helping
)

// Model is the state of the view; it implements tea.Model. Its functions change nothing but what they return.
type Model struct {
	source Source
	opts   Options

	width, height int
	items         []Item
	loaded        bool
	loadErr       error

	// current is the item on the screen, kept after it has gone from items; shownAt is since when.
	current Item
	shown   bool
	gone    bool
	shownAt time.Time
	// body is current.Body in rows of the present width; scroll is its first row on the screen, seen the number of rows
	// from the top that were.
	body         []row
	scroll, seen int

	mode   mode
	choice Decision // while confirming
	input  string   // while giving
	busy   string   // the id that is being answered

	leaving bool // when that is done

	note    string
	failure bool // note tells of one
}

var _ tea.Model = Model{}

// New is the view before anything was read.
func New(source Source, opts Options) Model { return Model{source: source, opts: opts} }

type (
	itemsMsg struct {
		items []Item
		err   error
	}
	tickMsg     struct{}
	answeredMsg struct {
		id, text string
		err      error
	}
)

// Init implements tea.Model.
func (m Model) Init() tea.Cmd { return m.read() }

func (m Model) read() tea.Cmd {
	return func() tea.Msg {
		items, err := m.source.Items()
		return itemsMsg{items, err}
	}
}

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m = m.resized(msg.Width, msg.Height)
	case itemsMsg:
		m, cmd = m.received(msg)
	case tickMsg:
		cmd = m.read()
	case answeredMsg:
		m = m.answered(msg)
		if m.leaving && msg.err == nil {
			cmd = tea.Quit
		}
		m.leaving = false
	case tea.PasteMsg:
		m = m.pasted(msg.Content)
	case tea.KeyPressMsg:
		m, cmd = m.pressed(msg)
	}
	return m.looked(), cmd
}

// resized starts anew what was seen: the rows are others.
func (m Model) resized(width, height int) Model {
	m.width, m.height = width, height
	m.shownAt = m.opts.Now()
	return m.laidOut()
}

// laidOut puts the body into rows.
func (m Model) laidOut() Model {
	m.body = rows(m.current.Body, m.layout().detailWidth)
	m.scroll, m.seen = 0, 0
	return m
}

// looked notes what is on the screen after an update.
func (m Model) looked() Model {
	height := m.layout().detailHeight
	m.scroll = min(max(0, m.scroll), max(0, len(m.body)-height))
	m.seen = min(max(m.seen, m.scroll+height), len(m.body))
	return m
}

// received takes what the source gave over, and asks for the next.
func (m Model) received(msg itemsMsg) (Model, tea.Cmd) {
	next := tea.Tick(pollInterval, func(time.Time) tea.Msg { return tickMsg{} })
	m.loadErr = msg.err
	if msg.err != nil {
		return m, next
	}
	if m.opts.Bell && m.loaded && hasNew(m.items, msg.items) {
		next = tea.Batch(next, tea.Raw("\a"))
	}
	m.items, m.loaded = msg.items, true
	return m.follow(), next
}

func hasNew(before, now []Item) bool {
	return slices.ContainsFunc(now, func(i Item) bool {
		return !i.Grant && !slices.ContainsFunc(before, func(b Item) bool { return b.ID == i.ID })
	})
}

// follow keeps the selection at its id. One that has gone stays on the screen, and what it was being asked about is
// dropped.
func (m Model) follow() Model {
	if !m.shown {
		return m.showAt(0)
	}
	m.gone = m.position() < 0
	if m.gone && (m.mode == confirming || m.mode == giving) {
		m.mode, m.input = browsing, ""
		return m.fail("It went away while you were asked; nothing was answered.")
	}
	return m
}

// showAt puts an item on the screen.
func (m Model) showAt(at int) Model {
	if len(m.items) == 0 {
		m.current, m.shown, m.gone = Item{}, false, false
		return m.laidOut()
	}
	item := m.items[min(max(0, at), len(m.items)-1)]
	if m.shown && item.ID == m.current.ID {
		return m
	}
	m.current, m.shown, m.gone, m.shownAt = item, true, false, m.opts.Now()
	return m.laidOut()
}

// position is the place of the current item, -1 if it is not there.
func (m Model) position() int {
	return slices.IndexFunc(m.items, func(i Item) bool { return m.shown && i.ID == m.current.ID })
}

// answered tells what became of an answer, and goes on to what comes next: the answered one is nothing to look at.
func (m Model) answered(msg answeredMsg) Model {
	m.busy = ""
	if msg.err != nil {
		return m.fail(msg.err.Error())
	}
	m.note, m.failure = msg.text, false
	at := max(0, m.position())
	m.items = slices.DeleteFunc(slices.Clone(m.items), func(i Item) bool { return i.ID == msg.id })
	if m.current.ID != msg.id {
		return m
	}
	return m.showAt(at)
}

func (m Model) fail(text string) Model {
	m.note, m.failure = text, true
	return m
}
