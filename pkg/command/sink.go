package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"strconv"
)

// sink takes the output as it comes: everything into the hash, up to the cap into the artifact, and cleaned into the
// window and to the progress.
type sink struct {
	artifact *ArtifactWriter // nil: none is kept
	progress *progress       // nil: nobody watches

	hash    hash.Hash
	bytes   int64
	cleaner Cleaner
	cleaned []byte
	window  window
}

func newSink(artifact *ArtifactWriter, progress *progress) *sink {
	return &sink{artifact: artifact, progress: progress, hash: sha256.New()}
}

func (s *sink) artifactID() string {
	if s.artifact == nil {
		return ""
	}
	return s.artifact.ID()
}

// readFrom empties the pipe until it ends or its deadline passes.
func (s *sink) readFrom(pipe *os.File) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := pipe.Read(buffer)
		if n > 0 {
			s.write(buffer[:n])
		}
		if err != nil {
			return // the end, or the deadline: in both cases there is no more to come
		}
	}
}

func (s *sink) write(p []byte) {
	s.bytes += int64(len(p))
	s.hash.Write(p)
	if s.artifact != nil {
		s.artifact.Write(p) // a failure is kept for Close
	}
	s.cleaned = s.cleaner.Append(s.cleaned[:0], p)
	s.show(s.cleaned)
}

func (s *sink) show(text []byte) {
	s.window.write(text)
	if s.progress != nil {
		s.progress.add(text)
	}
}

// finish closes the artifact and fills in what the result says about the output.
func (s *sink) finish(result *Result) {
	result.OutputBytes = s.bytes
	result.OutputHash = "sha256:" + hex.EncodeToString(s.hash.Sum(nil))
	if s.artifact != nil {
		if err := s.artifact.Close(); err != nil {
			result.Warnings = append(result.Warnings, fmt.Sprintf("The output is not kept as it should be: %v", err))
		}
		result.ArtifactID, result.ArtifactBytes = s.artifact.ID(), s.artifact.Kept()
	}
	result.Output = s.text(result)
	result.Truncated = s.window.split
}

// text ends the stream, and is what it held, as far as it is shown.
func (s *sink) text(result *Result) string {
	s.show(s.cleaner.Flush(s.cleaned[:0]))
	return s.window.text(func(omitted int64) string { return omission(omitted, result) })
}

// omission is what stands between head and tail.
func omission(omitted int64, result *Result) string {
	where := "the whole is not kept"
	switch {
	case result.ArtifactID != "" && result.ArtifactBytes < result.OutputBytes:
		where = "its first " + strconv.FormatInt(result.ArtifactBytes, 10) + " bytes: read_command_output " + result.ArtifactID
	case result.ArtifactID != "":
		where = "the whole: read_command_output " + result.ArtifactID
	}
	return fmt.Sprintf("\n[... %d characters left out; %s ...]\n", omitted, where)
}
