package clienthook

func (c Client) Abilities(string) Abilities { return Abilities{Rewrite: true, LimitSeconds: 20} }

func Parse(client Client, raw []byte) (Event, error) { return Event{Client: client}, nil }
func Emit(e Event, a Answer) Output                  { return Output{} }

func Clients() []Client { return []Client{ClaudeCode, Codex} }
