package workspace

import (
	"sync"

	"github.com/rs/zerolog"
)

// onceLog says each thing once: what a file system cannot do is true of every later call too.
type onceLog struct {
	log  zerolog.Logger
	said sync.Map
}

func (l *onceLog) once(topic, text string, err error) {
	if _, before := l.said.LoadOrStore(topic, true); before {
		return
	}
	l.log.Warn().Str("topic", topic).AnErr("reason", err).Msg(text)
}
