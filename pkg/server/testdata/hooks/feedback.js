#!/usr/bin/env node
// A hook as people write them for Node: it looks at what was written and says what it thinks of it.
const fs = require('fs');

const event = JSON.parse(fs.readFileSync(0, 'utf8'));
if (event.hook_event_name !== 'PostToolUse' || !event.tool_response.success) {
  process.exit(1);
}
const file = event.tool_input.file_path;
const text = fs.readFileSync(file, 'utf8');
if (text.includes('TODO')) {
  console.log(JSON.stringify({ decision: 'block', reason: `${file.split('/').pop()} has a TODO` }));
} else if (text.includes('var ')) {
  console.error('Use let or const');
  process.exit(2);
} else if (text.includes('  =')) {
  fs.writeFileSync(file, text.replace(/ +=/g, ' ='));
  console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'Formatted.' } }));
}
