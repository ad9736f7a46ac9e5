package settings

import "time"

// Defaults returns what holds where nothing is set. Each call returns a value of its own.
func Defaults() Settings {
	return Settings{
		Uninitialized: Refuse,
		Transport:     TransportStdio,
		Sandbox:       Best,
		MutationClass: Warn,
		Durability:    Full,
		Results:       Results{Text: Full},
		Write:         Write{Blind: Refuse},
		Diff:          Diff{Threshold: 1},
		Approvals: Approvals{
			ScopeViolation: Elicit,
			MissingIntent:  Refuse,
			IgnoredPath:    Refuse,
			ProgramConfig:  Ask,
			SelectIntent:   Never,
			Wait:           30 * time.Second,
			Lifetime:       15 * time.Minute,
		},
		Commands: Commands{
			Default:     Allow,
			Unjudged:    Auto,
			Network:     Allow,
			Git:         Allow,
			Timeout:     2 * time.Minute,
			MaxTimeout:  30 * time.Minute,
			OutputCap:   64 << 20,
			OutputTotal: 512 << 20,

			MaxProcesses: 2048,
		},
		Ledger:  Ledger{Layout: Single, Git: Ref, SegmentSize: 16 << 20, Marks: On, OnFailure: Refuse},
		Undo:    Undo{KeepSize: 256 << 20, KeepAge: 720 * time.Hour},
		Session: Session{Idle: 24 * time.Hour},
		HTTP:    HTTP{Listen: "127.0.0.1:7428"},
		Brain:   Brain{File: ".orchestration/AGENT.md"},
		Lessons: Lessons{FailedChecks: true},
		Limits:  Limits{FileSize: 32 << 20, RequestSize: 16 << 20, ContextSize: 24 << 10, Rate: 100},
		Log:     Log{Level: LevelInfo},
	}
}
