package record

import "encoding/json"

// DetailUpstream is the key of an Upstream in a record's detail.
const DetailUpstream = "upstream"

// Upstream is what a record says of a call that another server carried out. Its fields are in the order that a detail has.
type Upstream struct {
	// Arguments is the digest of what the server was given, whatever the order of its members: sha256: and 64 hex digits. Under
	// ArgumentsArtifact they are kept in that form, "" where they are not.
	Arguments         string `json:"arguments"`
	ArgumentsArtifact string `json:"arguments_artifact,omitzero"`
	// Definition is the hash of all that the server had said of the tool.
	Definition string `json:"definition"`
	// IsError: the server says that it failed, or gave no answer, which Problem tells then.
	IsError bool   `json:"is_error,omitzero"`
	Problem string `json:"problem,omitzero"`
	// Result is the digest of the whole result as it was sent; "" where there is none. Under ResultArtifact it is kept.
	Result         string `json:"result,omitzero"`
	ResultArtifact string `json:"result_artifact,omitzero"`
	Server         string `json:"server"` // by the operator's name
	// Targets are the paths in the workspace that the call named to be changed, as resolved, bounded.
	Targets []string `json:"targets,omitempty"`
	Tool    string   `json:"tool"` // by the server's own name
}

// Upstream is what the record says of a call of another server; false for one that is of none.
func (r Record) Upstream() (u Upstream, is bool) {
	switch detail := r.Detail[DetailUpstream].(type) {
	case nil:
		return u, false
	case Upstream:
		return detail, true
	default:
		text, err := json.Marshal(detail)
		return u, err == nil && json.Unmarshal(text, &u) == nil && u.Server != ""
	}
}
