package stats

import "time"

// Other stands for all names of a table that came when it was full.
const Other = "(other)"

// Tally is how much was changed.
type Tally struct {
	Records      int `json:"records"`       // that changed files
	Changes      int `json:"changes"`       // files changed, once for each record
	LinesAdded   int `json:"lines_added"`   //
	LinesRemoved int `json:"lines_removed"` //
}

func (t *Tally) add(other Tally) {
	t.Records += other.Records
	t.Changes += other.Changes
	t.LinesAdded += other.LinesAdded
	t.LinesRemoved += other.LinesRemoved
}

// Report is what was counted.
type Report struct {
	Records  int        `json:"records"` // of every kind
	Sessions int        `json:"sessions"`
	First    *time.Time `json:"first"` // null without records
	Last     *time.Time `json:"last"`
	Changed  Tally      `json:"changed"`
	// Foreign are lines of other tools; they count in nothing else.
	Foreign int `json:"foreign"`

	Kinds        []Kind        `json:"kinds"`
	Intents      []Intent      `json:"intents"`
	Classes      []Class       `json:"classes"`
	Contributors []Contributor `json:"contributors"`
	Models       []Model       `json:"models"`
	Paths        []Path        `json:"paths"`
	Refusals     []Refusal     `json:"refusals"`
	Days         []Day         `json:"days"`
	Decisions    Decisions     `json:"decisions"`
	Commands     Commands      `json:"commands"`

	// Omitted has for each list that was cut how many rows it lacks.
	Omitted map[string]int `json:"omitted"`
	// Merged names the lists in which names were counted together as Other.
	Merged []string `json:"merged"`
}

// Kind is a kind of record.
type Kind struct {
	Kind    string `json:"kind"`
	Records int    `json:"records"`
}

// Intent is what was done under an intent; an empty id is none.
type Intent struct {
	IntentID string `json:"intent_id"`
	Tally
	Refactor  Tally     `json:"refactor"`  // AST_REFACTOR
	Evolution Tally     `json:"evolution"` // INTENT_EVOLUTION
	Refused   int       `json:"refused"`
	Commands  int       `json:"commands"`
	Last      time.Time `json:"last"`
}

// Class is a mutation class, and how records came to it.
type Class struct {
	MutationClass string `json:"mutation_class"`
	Tally
	// Evidence counts records by what stands behind their class: proven, proven-local, unproven, declared (the agent's
	// word, where no parser knows the language), none.
	Evidence map[string]int `json:"evidence"`
	// Overruled are records that the agent had declared to be of the other class.
	Overruled int `json:"overruled"`
}

// Contributor is a type of contributor: ai, human, mixed, unknown.
type Contributor struct {
	Type string `json:"type"`
	Tally
}

// Model is a model by its id; an empty one is not known. Humans have none.
type Model struct {
	ModelID string `json:"model_id"`
	Tally
	Refactor  Tally `json:"refactor"`
	Evolution Tally `json:"evolution"`
	Refused   int   `json:"refused"`
}

// Path is a file that was changed.
type Path struct {
	Path string `json:"path"`
	Tally
	Last time.Time `json:"last"`
}

// Refusal is how often a code was the answer.
type Refusal struct {
	ErrorType string `json:"error_type"`
	Count     int    `json:"count"`
}

// Day is a day in UTC, as 2006-01-02.
type Day struct {
	Day string `json:"day"`
	Tally
	Refused int `json:"refused"`
}

// Decisions counts decisions by their outcome.
type Decisions struct {
	Refused  int `json:"refused"`
	Asked    int `json:"asked"`
	Approved int `json:"approved"`
	Denied   int `json:"denied"`
}

// Commands counts commands that ran.
type Commands struct {
	Runs       int `json:"runs"`
	Failed     int `json:"failed"`     // ended with another code than 0, or not in time
	TimedOut   int `json:"timed_out"`  //
	Violations int `json:"violations"` // changes out of scope
}
