package e2e_test

import (
	"context"
	"encoding/json"
)

// user is the person at a client: it is shown a form, and says what it does
// with it. ctx is done when nobody waits for the form any more. It may be
// called concurrently.
type user func(ctx context.Context, f form) reply

// form is what a server wants to have filled in.
type form struct {
	message string
	schema  json.RawMessage
}

// reply is what a user does with a form.
type reply struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
	// fails has the client itself fail.
	fails string
}

func accepts(content args) reply { return reply{Action: "accept", Content: content} }

// always does the same with every form.
func always(r reply) user { return func(context.Context, form) reply { return r } }

// never leaves every form open until it is taken back; each is sent to shown.
func never(shown chan<- form) user {
	return func(ctx context.Context, f form) reply {
		shown <- f
		<-ctx.Done()
		return reply{Action: "cancel"}
	}
}

// onceTold shows each form to who holds the channels, and does what is said.
func onceTold(shown chan<- form, told <-chan reply) user {
	return func(ctx context.Context, f form) reply {
		shown <- f
		select {
		case r := <-told:
			return r
		case <-ctx.Done():
			return reply{Action: "cancel"}
		}
	}
}
