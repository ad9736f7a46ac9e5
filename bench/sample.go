package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// samples are the durations of one measurement, in no order.
type samples []time.Duration

func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func (s samples) p50() time.Duration { return s.quantile(0.50) }
func (s samples) p99() time.Duration { return s.quantile(0.99) }

func (s samples) String() string {
	return fmt.Sprintf("p50 %s, p99 %s of %d", short(s.p50()), short(s.p99()), len(s))
}

// short renders a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// action is one thing that is measured; it says itself how long it took, so that what it prepares and checks does not
// count.
type action func() time.Duration

// interleave lets the actions take turns, n rounds after some to warm up.
func (s *suite) interleave(n int, actions ...action) []samples {
	taken := make([]samples, len(actions))
	warm := min(n/10+1, 50)
	for round := range n + warm {
		for i, act := range actions {
			check(s.ctx.Err())
			if took := act(); round >= warm {
				taken[i] = append(taken[i], took)
			}
		}
	}
	return taken
}

// timed makes an action of a function that is measured as a whole.
func timed(fn func()) action {
	return func() time.Duration {
		start := time.Now()
		fn()
		return time.Since(start)
	}
}

// rate is how often the workers, each calling its own function again and again for some time, got through in a second.
func rate(ctx context.Context, duration time.Duration, workers []func() error) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for _, work := range workers {
		all.Go(func() {
			for ctx.Err() == nil && time.Since(start) < duration {
				if err := work(); err != nil {
					cancel(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(start).Seconds(), context.Cause(ctx)
}

// scaling is the rate of all workers over that of the first, as the median over rounds in which both take turns.
func (s *suite) scaling(workers []func() error) (ratio float64, detail string) {
	var ratios, ones, alls []float64
	each := pick(s.short, 300*time.Millisecond, 1500*time.Millisecond)
	for range pick(s.short, 1, 5) {
		single := must(rate(s.ctx, each, workers[:1]))
		together := must(rate(s.ctx, each, workers))
		ratios, ones, alls = append(ratios, together/single), append(ones, single), append(alls, together)
	}
	return median(ratios), fmt.Sprintf("%.0f/s with 8, %.0f/s with 1", median(alls), median(ones))
}

func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
