package watch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/internal/check"
)

const second = time.Second

func TestKeysAnswerWhatIsOnTheScreen(t *testing.T) {
	one, two := request(1), request(2)
	for name, c := range map[string]struct {
		keys []string
		want []given
	}{
		"once":                  {[]string{"a", "y"}, []given{{one.ID, watch.Once, ""}}},
		"for the intent":        {[]string{"i", "y"}, []given{{one.ID, watch.ForIntent, ""}}},
		"deny":                  {[]string{"d", "n", "o", "enter"}, []given{{one.ID, watch.Deny, "no"}}},
		"deny without a reason": {[]string{"d", "enter"}, []given{{one.ID, watch.Deny, ""}}},
		"deny, taken back":      {[]string{"d", "n", "esc"}, nil},
		"not confirmed":         {[]string{"a", "n"}, nil},
		"a is no yes":           {[]string{"a", "a"}, nil},
		"enter is no yes":       {[]string{"a", "enter"}, nil},
		"a request is no grant": {[]string{"r", "y"}, nil},
		"y alone":               {[]string{"y"}, nil},
		"the second":            {[]string{"down"}, nil},
		"help takes any key":    {[]string{"?", "a", "y"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, 80, 24, one, two)
			d.wait(second).press(c.keys...)
			d.expectGiven(c.want...)
		})
	}
}

func TestKeyIsNotHeardBeforeARequestWasSeen(t *testing.T) {
	d := start(t, 80, 24)
	d.expect("Nothing waits")
	d.press("a", "y")
	d.src.items = append(d.src.items, request(1))
	d.wait(second).poll()
	d.expect("the body of apr_00000000000000000000000001")
	d.wait(watch.Arming-1).press("a", "y")
	d.expect("came on the screen just now")
	d.expectGiven()
	d.wait(1).press("a", "y")
	d.expectGiven(given{request(1).ID, watch.Once, ""})
}

func TestWhatComesDoesNotMoveTheSelection(t *testing.T) {
	one, two := request(1), request(2)
	d := start(t, 80, 24, two)
	d.wait(second)
	d.src.items = []watch.Item{one, two, request(3)}
	d.poll()
	d.expect("the body of "+two.ID, "3 pending")
	d.press("a", "y")
	d.expectGiven(given{two.ID, watch.Once, ""})
}

// The next one slides in below the finger that has answered the first.
func TestWhatFollowsAnAnswerIsNotAnsweredByTheSameKeys(t *testing.T) {
	d := start(t, 80, 24, request(1), request(2), request(3))
	d.wait(second).press("a", "y", "a", "y", "d", "enter", "a", "y")
	d.expectGiven(given{request(1).ID, watch.Once, ""})
	d.expect("the body of " + request(2).ID)
	d.wait(second).press("d", "enter")
	d.expectGiven(given{request(1).ID, watch.Once, ""}, given{request(2).ID, watch.Deny, ""})
}

func TestWhatIsAnsweredElsewhereStaysUntilTheOperatorGoesOn(t *testing.T) {
	for _, keys := range [][]string{{"a", "y"}, {"y"}, {"d", "enter"}} {
		d := start(t, 80, 24, request(1), request(2))
		d.wait(second)
		if len(keys) == 1 {
			d.press("a") // asked, and then it goes away
		}
		d.src.items = d.src.items[1:]
		d.poll()
		d.press(keys...)
		d.expectGiven()
		d.expect("the body of "+request(1).ID, "answered elsewhere")
		d.press("down").expect("the body of " + request(2).ID)
	}
	d := start(t, 80, 24, request(1))
	d.src.items = nil
	d.wait(2 * time.Hour).poll()
	d.expect("it expired")
}

func TestHeldKeysAndPastedTextAnswerNothing(t *testing.T) {
	d := start(t, 80, 24, request(1))
	d.wait(second)
	held := keyOf("a")
	held.IsRepeat = true
	d.send(held)
	d.press("y")
	d.send(tea.PasteMsg{Content: "ay"})
	d.press("y").press("a")
	again := keyOf("y")
	again.IsRepeat = true
	if cmd := d.send(again); cmd != nil {
		d.send(cmd())
	}
	d.expectGiven()
	d.press("d")
	d.send(tea.PasteMsg{Content: "two\nlines\x1b[2J"})
	d.expect(`> two lines\x1b[2J_`)
	d.press("enter")
	d.expectGiven(given{request(1).ID, watch.Deny, "two lines\x1b[2J"})
}

func TestGrantsAreRevokedOnly(t *testing.T) {
	d := start(t, 80, 24, grant(1))
	d.wait(second).press("a", "y", "i", "y", "d", "enter")
	d.expectGiven()
	d.expect("r revoke")
	d.press("r", "y")
	d.expectGiven(given{grant(1).ID, watch.Revoke, ""})
}

func TestWhatCanBeApprovedOnceOnly(t *testing.T) {
	item := request(1)
	item.OnlyOnce = "it is a protected file"
	d := start(t, 80, 24, item)
	d.wait(second).press("i", "y").expect("It can be approved once only: it is a protected file")
	d.expectGiven()
}

func TestAnAnswerThatFails(t *testing.T) {
	d := start(t, 80, 24, request(1))
	d.src.err = errors.New("the disk is full")
	d.wait(second).press("a", "y")
	d.expect("the disk is full", "the body of "+request(1).ID)
	d.src.err = nil
	d.press("a", "y")
	d.expectGiven(given{request(1).ID, watch.Once, ""})
}

// While one answer is written, another key does not answer as well.
func TestOneAnswerAtATime(t *testing.T) {
	d := start(t, 80, 24, request(1), request(2))
	d.wait(second).press("a")
	writing := d.send(keyOf("y"))
	d.press("down").wait(second).press("d")
	d.expect("still being written")
	d.send(writing())
	d.expectGiven(given{request(1).ID, watch.Once, ""})
	d.expect("the body of " + request(2).ID)
}

// Who leaves while an answer is written leaves when it is, and stays to read why it could not be.
func TestLeavingWaitsForTheAnswer(t *testing.T) {
	for _, fails := range []bool{false, true} {
		d := start(t, 80, 24, request(1))
		d.wait(second).press("a")
		writing := d.send(keyOf("y"))
		if cmd := d.send(keyOf("q")); cmd != nil {
			t.Fatalf("it left before the answer was written: %v", cmd())
		}
		if fails {
			d.src.err = errors.New("the disk is full")
		}
		cmd := d.send(writing())
		check.That(t, fails == (cmd == nil), "the answer fails: %v, and it leaves: %v", fails, cmd != nil)
	}
	d := start(t, 80, 24, request(1))
	d.wait(second).press("a")
	d.send(keyOf("y"))
	d.send(keyOf("q"))
	cmd := d.send(keyOf("q"))
	check.That(t, cmd != nil, "it does not leave when asked twice")
}

func TestWhatWasNotScrolledToIsSaid(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d.", i))
	}
	d := start(t, 80, 24, request(1, lines...))
	d.wait(second).press("a").expect("You have not seen its last")
	d.press("n", "G").expect("line 99.")
	d.press("a")
	check.That(t, !strings.Contains(d.screen(), "not seen"), "%v", d.screen())
	d.send(tea.WindowSizeMsg{Width: 60, Height: 24}) // other rows: what was seen begins anew
	d.expect("You have not seen its last")
}

func TestReadErrorsAreShownAndPass(t *testing.T) {
	d := start(t, 80, 24, request(1))
	d.src.readErr = errors.New("permission denied\x1b[2J")
	d.poll()
	d.expect(`cannot be read: permission denied\x1b[2J`, "the body of "+request(1).ID)
	d.src.readErr = nil
	d.poll()
	check.That(t, !strings.Contains(d.screen(), "cannot be read"), "%v", d.screen())
}

func TestQuit(t *testing.T) {
	ctrlC := tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	for name, keys := range map[string][]string{"browsing": nil, "confirming": {"a"}, "giving": {"d"}, "helping": {"?"}} {
		d := start(t, 80, 24, request(1))
		d.wait(second).press(keys...)
		cmd := d.send(ctrlC)
		check.Must(t, cmd != nil, "%s: Ctrl-C does nothing", name)
		_, quits := cmd().(tea.QuitMsg)
		check.That(t, quits, "%s: Ctrl-C does not quit", name)
		d.expectGiven()
	}
}
