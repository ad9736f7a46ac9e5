package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// codeLife is how long a link can be used.
	codeLife = 15 * time.Minute
	// maxCodes bounds the links that wait to be used, and maxLogins the browsers that are in.
	maxCodes  = 8
	maxLogins = 16
	// keyHeader bears the key that the page holds.
	keyHeader = "X-Orchestra-Key"
)

// door knows who may come in. Codes, cookies and keys are random, of 128 bits and more, and are kept as hashes.
type door struct {
	now func() time.Time
	at  net.Addr // where the console listens; set before the first request

	mu     sync.Mutex
	codes  map[[sha256.Size]byte]time.Time // until when they are good
	logins map[[sha256.Size]byte]login     // by the cookie's hash
}

// login is a browser that was let in.
type login struct {
	key  [sha256.Size]byte
	left chan struct{} // closed when it is let out
}

func newDoor(now func() time.Time) *door {
	return &door{now: now, codes: map[[sha256.Size]byte]time.Time{}, logins: map[[sha256.Size]byte]login{}}
}

func hashOf(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// newCode makes a code that lets one browser in. The oldest of too many gives way.
func (d *door) newCode() string {
	code := rand.Text()
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.codes, func(_ [sha256.Size]byte, until time.Time) bool { return !d.now().Before(until) })
	for len(d.codes) >= maxCodes {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(d.codes)), func(a, b [sha256.Size]byte) int { return d.codes[a].Compare(d.codes[b]) })
		delete(d.codes, oldest)
	}
	d.codes[hashOf(code)] = d.now().Add(codeLife)
	return code
}

// enter takes a code, which is good once, and gives the two secrets of a new login.
func (d *door) enter(code string) (cookie, key string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash := hashOf(code)
	until, known := d.codes[hash]
	delete(d.codes, hash)
	if !known || !d.now().Before(until) || len(d.logins) >= maxLogins {
		return "", "", false
	}
	cookie, key = rand.Text(), rand.Text()
	d.logins[hashOf(cookie)] = login{hashOf(key), make(chan struct{})}
	return cookie, key, true
}

// who is the login of a request that shows both secrets.
func (d *door) who(r *http.Request) (l login, ok bool) {
	cookie, err := r.Cookie(d.cookieName())
	if err != nil {
		return login{}, false
	}
	key := hashOf(r.Header.Get(keyHeader))
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok = d.logins[hashOf(cookie.Value)]
	return l, ok && subtle.ConstantTimeCompare(l.key[:], key[:]) == 1
}

// leave ends the login of a request.
func (d *door) leave(r *http.Request) {
	cookie, err := r.Cookie(d.cookieName())
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	hash := hashOf(cookie.Value)
	if l, ok := d.logins[hash]; ok {
		close(l.left)
		delete(d.logins, hash)
	}
}

// cookieName has the port in it: browsers give a cookie of one port to all.
func (d *door) cookieName() string {
	_, port, _ := net.SplitHostPort(d.at.String())
	return "orchestra-console-" + port
}

// setCookie gives a cookie out, or takes it back where it is empty.
func (d *door) setCookie(w http.ResponseWriter, value string) {
	cookie := &http.Cookie{Name: d.cookieName(), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// login answers the page's POST of its code with the key.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Code string `json:"code"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, "bad request: a login is a JSON object with a code", http.StatusBadRequest)
		return
	}
	cookie, key, ok := c.door.enter(strings.TrimSpace(asked.Code))
	if !ok {
		c.Logger.Warn().Msg("somebody came with a link that is not good, or no more")
		http.Error(w, "This link was used already, or is too old.", http.StatusForbidden)
		return
	}
	c.Logger.Info().Str("browser", r.UserAgent()).Msg("a browser was let in")
	c.door.setCookie(w, cookie)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{%q:%q}", "key", key)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	c.door.leave(r)
	c.door.setCookie(w, "")
	w.WriteHeader(http.StatusNoContent)
}
