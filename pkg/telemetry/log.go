package telemetry

import (
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
)

// seldom logs what fails again and again.
type seldom struct {
	log zerolog.Logger

	mu     sync.Mutex
	logged time.Time
}

// logTime is how long after a failure was logged others are not.
const logTime = 10 * time.Minute

func (s *seldom) warn(err error, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.logged) >= logTime {
		s.logged = time.Now()
		s.log.Warn().Err(err).Msg(what)
	}
}

// TakeErrors has the errors of OpenTelemetry's libraries logged, in the whole process, for which it is set once by a program.
// What is about the environment is dropped, for its values are in it, and so is what the libraries say beside errors.
func TakeErrors(log zerolog.Logger) {
	into := &seldom{log: log}
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if !errors.Is(err, resource.ErrPartialResource) {
			into.warn(err, "telemetry has failed in part")
		}
	}))
}
