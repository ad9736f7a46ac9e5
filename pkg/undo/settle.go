package undo

import (
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// settle carries out the step that waits on a file: the file has the content that the step begins from, or has its end
// already, or both are merged.
func (t *tree) settle(f *file) error {
	s := f.step
	if s == nil || f.conflict != nil {
		return nil
	}
	f.step = nil
	was := f.now
	if err := t.settleContent(f, s); err != nil || f.conflict != nil {
		return err
	}
	f.settleMode(s, was)
	return nil
}

func (t *tree) settleContent(f *file, s *step) error {
	switch f.now.Hash {
	case s.to.Hash: // it is so already
		return nil
	case s.from.Hash:
		return t.restore(f, s)
	case "":
		return t.conflict(f, s.newest, s.path, "the file is gone")
	}
	switch "" {
	case s.from.Hash:
		return t.conflict(f, s.newest, s.path, "another file stands at the path of the one that was deleted")
	case s.to.Hash:
		return t.changedSince(f, s)
	}
	return t.merge(f, s)
}

func (t *tree) restore(f *file, s *step) error {
	if _, err := t.contentOf(s.to); err != nil {
		t.refuse(f, s.newest, s.path, "its content before the change "+err.Error())
		return nil
	}
	f.now.Hash, f.now.OID = s.to.Hash, s.to.OID
	return nil
}

// settleMode gives back the permissions that the change took, unless somebody has set others since.
func (f *file) settleMode(s *step, was change.Version) {
	switch want := plainMode(s.to.Mode); {
	case f.now.Hash == "":
		f.now.Mode = ""
	case want == "":
	case was.Hash == "":
		f.now.Mode = want
		f.specialMode(s)
	case s.from.Mode == "" || s.from.Mode == s.to.Mode:
	case was.Mode == s.from.Mode:
		f.now.Mode = want
		f.specialMode(s)
	case was.Mode != want:
		f.note(fmt.Sprintf("its permissions have changed since, and stay %s", was.Mode))
	}
}

func (f *file) specialMode(s *step) {
	if plainMode(s.to.Mode) != s.to.Mode {
		f.note(fmt.Sprintf("it had the mode %s: the set-user-ID, set-group-ID and sticky bits are not set again", s.to.Mode))
	}
}

// plainMode leaves out the bits that no undo gives: a ledger line could make a program run as somebody else with them.
func plainMode(m change.Mode) change.Mode {
	mode, ok := m.FileMode()
	if !ok {
		return ""
	}
	return change.ModeOf(mode.Perm())
}

// merge keeps what came after the change. Line endings and encoding are the present file's.
func (t *tree) merge(f *file, s *step) error {
	texts, err := t.texts(s.from, f.now, s.to)
	if err != nil {
		return t.conflict(f, s.newest, s.path, "the file has changed since, and "+err.Error())
	}
	from, now, to := texts[0], texts[1], texts[2]
	if from.Encoding != to.Encoding || from.BOM != to.BOM {
		return t.conflict(f, s.newest, s.path, "the file has changed since, and the record changed its encoding")
	}
	merged, clashes := edit.MergeLoosely(from.String, now.String, to.String, record.Squeeze)
	if len(clashes) > 0 {
		return t.clash(f, s, clashes)
	}
	content, err := now.Encode(merged)
	if err != nil {
		return t.conflict(f, s.newest, s.path, fmt.Sprintf("the merged text cannot be written: %v", err))
	}
	if int64(len(content)) > t.Largest {
		return t.conflict(f, s.newest, s.path, "the merged text is larger than the limit for files (limits.file_size)")
	}
	f.now.Hash, f.now.OID, f.merged = workspace.HashOf(content), "", true
	if err := t.know(f.now.Hash, content); err != nil {
		t.refuse(f, s.newest, s.path, "the merged text "+err.Error())
	}
	return nil
}

// changedSince is a file that was created, and then changed by somebody else: to delete it would lose that.
func (t *tree) changedSince(f *file, s *step) error {
	texts, err := t.texts(s.from, f.now)
	if err != nil {
		return t.conflict(f, s.newest, s.path, "the file was created by the record and has changed since, so it is not deleted")
	}
	lines := edit.RawLines(texts[1].String)
	var clashes []edit.Clash
	for _, h := range edit.Hunks(texts[0].String, texts[1].String) {
		c := edit.Clash{BaseLine: h[0], OursLine: h[2]}
		if h[3] > 0 {
			c.Ours = lines[h[2]-1 : h[2]-1+h[3]]
		}
		clashes = append(clashes, c)
	}
	return t.clash(f, s, clashes)
}

// texts decodes contents.
func (t *tree) texts(versions ...change.Version) ([]workspace.Text, error) {
	var texts []workspace.Text
	for i, v := range versions {
		content, err := t.contentOf(v)
		if err != nil {
			return nil, fmt.Errorf("%s %w", [...]string{"the content that the record left", "the file", "the content before the record"}[i], err)
		}
		text, err := workspace.Decode(content)
		if err != nil {
			return nil, errors.New("it is binary, which cannot be merged")
		}
		texts = append(texts, text)
	}
	return texts, nil
}
