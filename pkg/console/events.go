package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// event is one server-sent event.
type event struct {
	Name string
	Data any // becomes JSON
}

// maxWaitingEvents bounds what waits for a page that does not read; it loses the rest, and asks anew when it reads again.
const maxWaitingEvents = 64

// hub hands events to the pages that are open.
type hub struct {
	mu    sync.Mutex
	pages map[chan event]bool
}

func newHub() *hub { return &hub{pages: map[chan event]bool{}} }

func (h *hub) listening() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pages) > 0
}

func (h *hub) join() chan event {
	page := make(chan event, maxWaitingEvents)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages[page] = true
	return page
}

func (h *hub) leave(page chan event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pages, page)
}

func (h *hub) tell(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for page := range h.pages {
		select {
		case page <- e:
		default:
		}
	}
}

// beat is how often a stream says something, so that a page finds out that the console is gone.
const beat = 10 * time.Second

// events streams what changes to a page, until it or its login goes. It begins with what waits.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	login, ok := c.door.who(r)
	if !ok {
		return // it was let out meanwhile
	}
	page := c.hub.join()
	defer c.hub.leave(page)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(e event) error {
		data, err := json.Marshal(e.Data)
		if err == nil {
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Name, data)
		}
		if err != nil {
			return err
		}
		return out.Flush()
	}
	all, _ := c.places.all()
	err := send(event{"waiting", c.whatWaits(all)})
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-login.left:
			return
		case e := <-page:
			err = send(e)
		case <-tick.C:
			err = send(event{"beat", nil})
		}
	}
}
