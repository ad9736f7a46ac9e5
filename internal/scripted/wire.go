package scripted

import (
	"fmt"
	"net/http"
	"strings"
)

// messages is Anthropic's Messages.
func (m *Model) messages(w http.ResponseWriter, body []byte) {
	turn, n := m.next(body)
	events := []object{{"type": "message_start", "message": object{"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant",
		"model": "scripted", "content": []any{}, "usage": object{"input_tokens": 1, "output_tokens": 1}}}}
	block := func(i int, start, delta object) {
		events = append(events, object{"type": "content_block_start", "index": i, "content_block": start},
			object{"type": "content_block_delta", "index": i, "delta": delta}, object{"type": "content_block_stop", "index": i})
	}
	stop := "end_turn"
	for i, c := range turn.Calls {
		stop = "tool_use"
		block(i, object{"type": "tool_use", "id": callID(n, i), "name": c.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": c.text()})
	}
	if turn.Text != "" {
		block(0, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": turn.Text})
	}
	stream(w, append(events, object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 1}},
		object{"type": "message_stop"})...)
}

// callID is as each client takes it.
func callID(turn, call int) string { return fmt.Sprintf("toolu_%02d%02d", turn, call) }

// responses is OpenAI's Responses.
func (m *Model) responses(w http.ResponseWriter, body []byte) {
	turn, n := m.next(body)
	id := fmt.Sprintf("resp_%d", n)
	events := []object{{"type": "response.created", "response": object{"id": id}}}
	item := func(item object) { events = append(events, object{"type": "response.output_item.done", "item": item}) }
	for i, c := range turn.Calls {
		if _, free := c.Input.(string); free {
			item(object{"type": "custom_tool_call", "call_id": callID(n, i), "name": c.Name, "input": c.text()})
			continue
		}
		call := object{"type": "function_call", "call_id": callID(n, i), "name": c.Name, "arguments": c.text()}
		if space, name, in := strings.Cut(c.Name, "/"); in {
			call["namespace"], call["name"] = space, name
		}
		item(call)
	}
	if turn.Text != "" {
		item(object{"type": "message", "role": "assistant", "id": "msg_" + id, "content": []object{{"type": "output_text", "text": turn.Text}}})
	}
	stream(w, append(events, object{"type": "response.completed", "response": object{"id": id,
		"usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})...)
}

// completions is OpenAI's Chat Completions, which many others speak.
func (m *Model) completions(w http.ResponseWriter, body []byte) {
	turn, n := m.next(body)
	delta, stop := object{"role": "assistant", "content": turn.Text}, "stop"
	var calls []object
	for i, c := range turn.Calls {
		stop = "tool_calls"
		calls = append(calls, object{"index": i, "id": callID(n, i), "type": "function", "function": object{"name": c.Name, "arguments": c.text()}})
	}
	if calls != nil {
		delta["tool_calls"] = calls
	}
	chunk := func(delta object, stop any) object {
		return object{"id": fmt.Sprintf("chat_%d", n), "object": "chat.completion.chunk", "model": "scripted",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": stop}}}
	}
	stream(w, chunk(delta, nil), chunk(object{}, stop))
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// content is Gemini's streamGenerateContent.
func (m *Model) content(w http.ResponseWriter, body []byte) {
	turn, n := m.next(body)
	var parts []object
	for i, c := range turn.Calls {
		parts = append(parts, object{"functionCall": object{"id": callID(n, i), "name": c.Name, "args": c.Input}})
	}
	if turn.Text != "" {
		parts = append(parts, object{"text": turn.Text})
	}
	stream(w, object{"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": parts}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})
}
