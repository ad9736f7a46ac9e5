package oauth

import "time"

// RetryAfter, RefreshAfter and KeyLife are what package tests turn the clock by.
const (
	RetryAfter   = retryAfter
	RefreshAfter = refreshAfter
	KeyLife      = keyLife
)

// Leeway is how far clocks may be apart.
const Leeway time.Duration = leeway
