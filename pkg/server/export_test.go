package server

import (
	"context"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// TakeTime lets changes be judged for as long as a busy machine needs.
func (o *Options) TakeTime() {
	limits := mutation.DefaultLimits()
	limits.Time, limits.Search = 10*time.Minute, 10*time.Minute
	o.limits = &limits
}

// SelectWith selects an intent with a recorder around the server's.
func (s *Server) SelectWith(ctx context.Context, intentID string, around func(hooks.Recorder) hooks.Recorder) hooks.Result {
	engine := hooks.NewEngine(hooks.Options{Sessions: s.sessions, Recorder: around(s.recorder), Logger: s.log})
	for _, tool := range tools.All(s.tools, engine) {
		if err := engine.AddTool(tool); err != nil {
			panic(err)
		}
	}
	arguments, err := hooks.MakeArguments(map[string]string{"intent_id": intentID})
	if err != nil {
		panic(err)
	}
	return engine.Do(ctx, hooks.Request{Tool: "select_active_intent", Arguments: arguments})
}

// StepWith is UpdateIntent with a recorder around the server's.
func (s *Server) StepWith(ctx context.Context, step IntentStep, around func(hooks.Recorder) hooks.Recorder) hooks.Result {
	engine := hooks.NewEngine(hooks.Options{Sessions: s.sessions, Recorder: around(s.recorder), Logger: s.log, Gate: s.operator})
	for _, tool := range tools.Operator(s.tools, engine, step.SkipVerify) {
		if err := engine.AddTool(tool); err != nil {
			panic(err)
		}
	}
	arguments, err := hooks.MakeArguments(map[string]string{"intent_id": step.IntentID, "status": string(step.Status)})
	if err != nil {
		panic(err)
	}
	return engine.Do(ctx, hooks.Request{Tool: "update_intent", Arguments: arguments, Operator: true})
}

// BoundLayers replaces staging.MaxBytes.
func (o *Options) BoundLayers(bytes int64) { o.layerBytes = bytes }

// HandOverAfter replaces tools.HandOverTime.
func (o *Options) HandOverAfter(d time.Duration) { o.handOver = d }

// EndTelemetry ends what tells of calls, and returns when all has been sent.
func (s *Server) EndTelemetry(ctx context.Context) error {
	if t := s.observed.by.Swap(nil); t != nil {
		return t.Shutdown(ctx)
	}
	return nil
}

// StartTelemetry begins what a transport begins.
func (s *Server) StartTelemetry() error { return s.observe(false) }
