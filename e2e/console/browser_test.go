package console_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// patience bounds what is waited for; the driver gives up before, and says what the page shows.
const patience = 90 * time.Second

// driver is a process of drive.mjs, with the one browser of all tests.
type driver struct {
	cmd  *exec.Cmd
	read chan struct{} // closed with its output

	mu      sync.Mutex
	in      io.WriteCloser
	sent    int
	waiting map[int]chan said // nil when the driver has ended
}

// said is a line of the driver.
type said struct {
	ID    int             `json:"id"`
	Value json.RawMessage `json:"value"`
	Error string          `json:"error"`
	Shown string          `json:"shown"`
}

// browser starts at the first use, and ends in TestMain by endBrowser.
var (
	browser = sync.OnceValues(func() (*driver, error) {
		d, err := newDriver()
		if err == nil {
			endBrowser = d.end
		}
		return d, err
	})
	endBrowser = func() error { return nil }
)

// chromium finds the browser, and what drives it.
func chromium() (string, error) {
	for _, name := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join("node_modules", name)); err != nil {
			return "", errors.New("what drives the browser is not installed: run `npm ci` in e2e/console")
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	return exec.LookPath(cmp.Or(os.Getenv("CHROMIUM"), "chromium"))
}

func newDriver() (*driver, error) {
	path, err := chromium()
	if err != nil {
		return nil, err
	}
	d := &driver{cmd: exec.Command("node", "drive.mjs", path), read: make(chan struct{}), waiting: map[int]chan said{}}
	d.cmd.Env, d.cmd.Stderr = append(os.Environ(), "HOME="+filepath.Dir(program), "TMPDIR="+filepath.Dir(program)), os.Stderr
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go d.listen(out)
	return d, nil
}

// end closes the input, at which the driver ends its browser and itself.
func (d *driver) end() error {
	d.in.Close()
	timeout := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() }) // the browser ends with the pipe to it
	defer timeout.Stop()
	<-d.read // Wait closes the pipe, and what was not read is lost
	return d.cmd.Wait()
}

// listen hands answers out until the end of the process, when those that are waited for come to nothing.
func (d *driver) listen(out io.Reader) {
	defer close(d.read)
	for r := bufio.NewReader(out); ; {
		raw, err := r.ReadBytes('\n')
		var line said
		if err == nil {
			err = json.Unmarshal(raw, &line)
		}
		d.mu.Lock()
		if err != nil {
			for _, answered := range d.waiting {
				close(answered)
			}
			d.waiting = nil
			d.mu.Unlock()
			return
		}
		answered := d.waiting[line.ID]
		delete(d.waiting, line.ID)
		d.mu.Unlock()
		answered <- line
	}
}

// ask sends a line, and gives its number and the answer.
func (d *driver) ask(line map[string]any) (int, json.RawMessage, error) {
	answered := make(chan said, 1)
	d.mu.Lock()
	if d.waiting == nil {
		d.mu.Unlock()
		return 0, nil, errors.New("the driver has ended")
	}
	d.sent++
	number := d.sent
	d.waiting[number] = answered
	line["id"] = number
	raw, err := json.Marshal(line)
	if err == nil {
		_, err = d.in.Write(append(raw, '\n'))
	}
	d.mu.Unlock()
	if err != nil {
		return number, nil, err
	}
	select {
	case s, ok := <-answered:
		switch {
		case !ok:
			return number, nil, errors.New("the driver has ended")
		case s.Error != "":
			return number, nil, fmt.Errorf("%s\n--- shown at %s\n---", s.Error, s.Shown)
		}
		return number, s.Value, nil
	case <-time.After(patience):
		return number, nil, errors.New("the browser does not answer")
	}
}

// needsBrowser skips the test where there is no browser. Where CI is set it fails instead.
func needsBrowser(t *testing.T) *driver {
	t.Helper()
	_, err := chromium()
	switch {
	case err == nil:
		return check.Value(browser())(t)
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return nil
}
