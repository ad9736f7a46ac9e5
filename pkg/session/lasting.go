package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// What belongs to a lasting connection (Caller.Lasting) lies beside the sessions, named by a SHA-256 each:
//
//	<sha256 of the connection>.link.json   {"version":1,"session":"<sha256 of the handle>","joined":true}    what it works under
//	<sha256 of a code>.join.json           {"version":1,"connection":"<sha256>"}               until the code is used
const (
	linkSuffix = ".link.json"
	joinSuffix = ".join.json"
	joinPrefix = "join_"

	linkLife = 30 * 24 * time.Hour // of a link that nobody writes again
	joinLife = time.Hour           // of a code
)

// ErrCode: a code is unknown, used or older than an hour. The three are not told apart.
var ErrCode = errors.New("the code is unknown, was used already, or is older than an hour: make the call that was refused again to get a new one")

type linkRecord struct {
	Version    int    `json:"version"`
	Session    string `json:"session,omitempty"`
	Joined     bool   `json:"joined,omitempty"` // by a code
	Connection string `json:"connection,omitempty"`
}

// mark names a lasting connection in files.
func (id connectionID) mark() string {
	sum := sha256.Sum256([]byte(id.orderName()))
	return hex.EncodeToString(sum[:])
}

// linked is what a lasting connection works under.
func (s *Store) linked(c Caller) []selected {
	record, err := s.readLink(c.connectionID().mark() + linkSuffix)
	if err != nil {
		return nil
	}
	var key digest
	if n, err := hex.Decode(key[:], []byte(record.Session)); err != nil || n != len(key) {
		return nil
	}
	return []selected{{key: key}}
}

func (s *Store) readLink(name string) (record linkRecord, err error) {
	data, info, err := s.disk.read(name, maxSelectionSize)
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	switch {
	case err != nil:
		return record, err
	case record.Version != formatVersion:
		return record, fmt.Errorf("format version %d, this server reads %d", record.Version, formatVersion)
	case strings.HasSuffix(name, joinSuffix) && outlived(s.Clock().Sub(info.ModTime()), joinLife):
		return record, fs.ErrNotExist
	}
	return record, nil
}

func (s *Store) writeLink(name string, record linkRecord) error {
	record.Version = formatVersion
	data, err := json.Marshal(record)
	if err == nil {
		_, err = s.disk.write(name, append(data, '\n'), s.Clock())
	}
	return err
}

// Joined reports whether the agent itself has chosen what a lasting connection works under, by a code.
func (s *Store) Joined(c Caller) bool {
	record, err := s.readLink(c.connectionID().mark() + linkSuffix)
	return err == nil && record.Joined
}

// link has a lasting connection work under a session from now on.
func (s *Store) link(connection string, sess *Session, joined bool) {
	if err := s.writeLink(connection+linkSuffix, linkRecord{Session: sess.key.String(), Joined: joined}); err != nil {
		s.Logger.Warn().Err(err).Msg("the client's own tools could not be joined to the selection")
	}
}

// JoinCode mints a code by which a session can be joined to a lasting connection: who makes a call on that connection is
// told it, and nobody else. It is good once.
func (s *Store) JoinCode(c Caller) (string, error) {
	code := joinPrefix + strings.TrimPrefix(mintHandle(), handlePrefix)
	return code, s.writeLink(codeFile(code), linkRecord{Connection: c.connectionID().mark()})
}

func codeFile(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:]) + joinSuffix
}

// Join uses a code up: the lasting connection that it was minted for works under the session from now on, and under what the
// caller's connection selects later. ErrCode where it is not good.
func (s *Store) Join(c Caller, code string, sess *Session) error {
	record, err := s.readLink(codeFile(code))
	if err != nil || len(record.Connection) != hex.EncodedLen(sha256.Size) {
		return ErrCode
	}
	dir, err := s.disk.confirmed(false)
	if err != nil || dir.Remove(codeFile(code)) != nil { // of two that use it, one removes it
		return ErrCode
	}
	s.link(record.Connection, sess, true)
	if !c.connected() || c.Lasting {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connection(c.connectionID()).joined = record.Connection
	return nil
}
