package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

var errForeign = errors.New("the file is another session's")

// saveLocked makes sel the session's state: on disk first, so that a selection that was answered survives a restart;
// where there is no .orchestration, in memory only. On an error nothing has changed. It needs the session's lock.
func (sess *Session) saveLocked(sel selection, used time.Time) error {
	data, err := json.Marshal(sel)
	if err != nil {
		return err
	}
	info, err := sess.store.disk.write(sess.key.selectionFile(), append(data, '\n'), used)
	if err != nil && !errors.Is(err, errUninitialised) {
		return err
	}
	sess.selection.Store(&sel)
	sess.used.Store(used.UnixNano())
	sess.onDisk, sess.renewed = info, used
	return nil
}

// refresh takes over what another process selected in this session, and what was seen there. A file
// that is not there is no news: the state has never been on disk, or state/ was cleared.
func (sess *Session) refresh() error {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	info, err := sess.store.disk.stat(sess.key.selectionFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !unchanged(info, sess.onDisk) {
		if err := sess.reload(); err != nil {
			return err
		}
	}
	sess.refreshViews()
	return nil
}

func (sess *Session) reload() error {
	sel, info, err := sess.store.disk.readSelection(sess.key.selectionFile())
	if err != nil {
		return err
	}
	known := sess.selection.Load()
	if sel.PublicID != known.PublicID || sel.Principal != known.Principal {
		return fmt.Errorf("%s: %w", sess.key.selectionFile(), errForeign)
	}
	sess.selection.Store(&sel)
	sess.used.Store(max(sess.used.Load(), info.ModTime().UnixNano()))
	sess.onDisk, sess.renewed = info, info.ModTime()
	return nil
}

// refreshViews merges what is on disk into what is known here. What cannot be read was not seen.
func (sess *Session) refreshViews() {
	name := sess.key.viewsFile()
	info, err := sess.store.disk.glance(name)
	if err != nil || unchanged(info, sess.viewsDisk) {
		return
	}
	data, info, err := sess.store.disk.read(name, maxViewsSize)
	if err == nil {
		var files map[string]View
		if files, err = parseViews(data); err == nil {
			sess.merge(files)
		}
		sess.viewsDisk = info // also of what does not parse: it is not read again and again
	}
	if err != nil {
		sess.store.Logger.Warn().Err(err).Str("session", sess.PublicID()).Msg("what the session has seen cannot be read, and counts as not seen")
	}
}

// saveViews writes what was seen, merged with what another process has saved meanwhile. A session
// whose selection is not on disk keeps its views in memory.
func (sess *Session) saveViews() error {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.onDisk == nil {
		return nil
	}
	sess.refreshViews()
	data, err := encodeViews(sess.snapshot())
	if err != nil {
		return err
	}
	info, err := sess.store.disk.write(sess.key.viewsFile(), data, time.Now())
	if err != nil {
		return err
	}
	sess.viewsDisk = info
	return nil
}

// use renews the idle lifetime. On disk only the modification time is set, so that a selection that
// another process is making in this session is not undone.
func (sess *Session) use() {
	now := sess.store.Clock()
	sess.used.Store(now.UnixNano())
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if now.Sub(sess.renewed).Abs() < renewEvery {
		return
	}
	sess.renewed = now
	if err := sess.renew(now); err != nil {
		sess.store.Logger.Warn().Err(err).Str("session", sess.PublicID()).Msg("the session's lifetime could not be renewed on disk")
	}
}

func (sess *Session) renew(now time.Time) error {
	info, err := sess.store.disk.touch(sess.key.selectionFile(), now)
	if errors.Is(err, fs.ErrNotExist) {
		return sess.saveLocked(*sess.selection.Load(), now)
	}
	if err != nil {
		return err
	}
	if sess.onDisk != nil && os.SameFile(info, sess.onDisk) && info.ModTime().Equal(now) {
		sess.onDisk = info
	}
	return nil
}

// end ends the selection of an intent. The session stays known, so that the agent is told why its
// call is refused, and keeps what was seen for the next selection. It ends in memory in any case.
func (sess *Session) end(intentID string) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sel := *sess.selection.Load()
	if sel.IntentID != intentID || sel.Ended {
		return
	}
	sel.Ended = true
	if err := sess.saveLocked(sel, time.Unix(0, sess.used.Load())); err != nil {
		sess.selection.Store(&sel)
		sess.store.Logger.Warn().Err(err).Str("session", sess.PublicID()).Msg("the end of a selection could not be saved")
	}
}
