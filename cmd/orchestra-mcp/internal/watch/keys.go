package watch

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// maxInput bounds what is typed, in characters; it is the bound of a reason.
const maxInput = 1000

// pressed is a key. What it means depends on the mode.
func (m Model) pressed(key tea.KeyPressMsg) (Model, tea.Cmd) {
	if key.String() == "ctrl+c" {
		return m.leave()
	}
	switch m.mode {
	case confirming:
		return m.confirmed(key)
	case giving:
		return m.typed(key)
	case helping:
		m.mode = browsing
		return m, nil
	}
	if decision, ok := answers[key.String()]; ok {
		return m.chosen(key, decision), nil
	}
	if key.String() == "q" {
		return m.leave()
	}
	return m.browsed(key.String()), nil
}

// leave ends the view, and with it the program: while an answer is being written it waits for that, unless it is asked twice.
func (m Model) leave() (Model, tea.Cmd) {
	if m.busy == "" || m.leaving {
		return m, tea.Quit
	}
	m.leaving, m.note, m.failure = true, "Leaving when the answer is written …", false
	return m, nil
}

// answers are the keys that answer.
var answers = map[string]Decision{"a": Once, "i": ForIntent, "d": Deny, "r": Revoke}

// browsed moves about.
func (m Model) browsed(key string) Model {
	page := max(1, m.layout().detailHeight-1)
	before := m.note
	m.note = ""
	switch key {
	case "up", "k":
		return m.step(-1)
	case "down", "j":
		return m.step(+1)
	case "K", "shift+up":
		m.scroll--
	case "J", "shift+down", "enter":
		m.scroll++
	case "pgup", "b", "ctrl+u":
		m.scroll -= page
	case "pgdown", "space", "f", "ctrl+d":
		m.scroll += page
	case "home", "g":
		m.scroll = 0
	case "end", "G":
		m.scroll = len(m.body)
	case "?":
		m.mode = helping
	default: // a key that means nothing does not wipe out what was said
		m.note = before
	}
	return m
}

// step goes to another item; from one that has gone, to what is there.
func (m Model) step(by int) Model {
	at := m.position()
	if at < 0 {
		return m.showAt(0)
	}
	return m.showAt(at + by)
}

// chosen is a key that answers: it is heard for what the operator can have seen, and asks once more.
func (m Model) chosen(key tea.KeyPressMsg, decision Decision) Model {
	if why := m.deaf(key, decision); why != "" {
		return m.fail(why)
	}
	m.choice, m.input, m.note = decision, "", ""
	if m.mode = confirming; decision == Deny {
		m.mode = giving
	}
	return m
}

// deaf says why a key that answers is not heard; "" if it is.
func (m Model) deaf(key tea.KeyPressMsg, decision Decision) string {
	switch {
	case !m.shown:
		return "Nothing is selected."
	case m.busy != "":
		return "The last answer is still being written."
	case m.gone:
		return "It is no longer there: " + m.whyGone() + " Go on with the arrow keys."
	case m.layout().small:
		return "Make the terminal larger, so that it shows what you answer."
	case key.IsRepeat || m.opts.Now().Sub(m.shownAt) < Arming:
		return fmt.Sprintf("This came on the screen just now. Look at it, then press %s again.", key)
	case m.current.Grant && decision != Revoke:
		return "This is a grant that stands: r revokes it."
	case !m.current.Grant && decision == Revoke:
		return "This is a request: r revokes grants only; d denies it."
	case decision == ForIntent && m.current.OnlyOnce != "":
		return "It can be approved once only: " + m.current.OnlyOnce
	}
	return ""
}

func (m Model) whyGone() string {
	if !m.current.Expires.IsZero() && !m.opts.Now().Before(m.current.Expires) {
		return "it expired."
	}
	if m.current.Grant {
		return "it was revoked elsewhere, or its intent has ended."
	}
	return "it was answered elsewhere, or withdrawn."
}

// confirmed is the second key; anything but y is a no.
func (m Model) confirmed(key tea.KeyPressMsg) (Model, tea.Cmd) {
	m.mode = browsing
	if key.String() != "y" || key.IsRepeat {
		m.note, m.failure = "Nothing was answered.", false
		return m, nil
	}
	return m.answer(m.choice, "")
}

// answer carries a decision about the current item out.
func (m Model) answer(decision Decision, reason string) (Model, tea.Cmd) {
	id, source := m.current.ID, m.source
	m.busy, m.note, m.failure = id, "Writing the answer …", false
	return m, func() tea.Msg {
		text, err := source.Answer(id, decision, reason)
		return answeredMsg{id, text, err}
	}
}

// typed is a key of a line of input.
func (m Model) typed(key tea.KeyPressMsg) (Model, tea.Cmd) {
	switch key.String() {
	case "enter":
		reason := strings.TrimSpace(m.input)
		m.mode, m.input = browsing, ""
		return m.answer(Deny, reason)
	case "esc":
		m.mode, m.input = browsing, ""
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.input)
		m.input = m.input[:len(m.input)-size]
	case "ctrl+u":
		m.input = ""
	case "ctrl+w":
		m.input = withoutWord(m.input)
	default:
		m = m.insert(key.Text)
	}
	return m, nil
}

func withoutWord(text string) string {
	text = strings.TrimRight(text, " ")
	return text[:strings.LastIndexByte(text, ' ')+1]
}

func (m Model) insert(text string) Model {
	if utf8.RuneCountInString(m.input+text) <= maxInput {
		m.input += text
	}
	return m
}

// pasted goes into a line of input; anywhere else it means nothing, whatever keys it looks like.
func (m Model) pasted(text string) Model {
	if m.mode != giving {
		return m.fail("What was pasted is not taken for keys.")
	}
	return m.insert(strings.Join(strings.Fields(text), " "))
}
