// Reads a JSON list of programs, runs each in a context of its own, and prints
// the list of what each printed, or how it failed.
const vm = require('vm');
const programs = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const results = programs.map(source => {
  const lines = [];
  const show = v => typeof v === 'string' ? v : JSON.stringify(v) ?? String(v);
  const console = { log: (...values) => lines.push(values.map(show).join(' ')) };
  try {
    new vm.Script(source).runInNewContext({ console }, { timeout: 500 });
  } catch (e) {
    lines.push('threw ' + e.name);
  }
  return lines.join('\n').slice(0, 2000);
});
process.stdout.write(JSON.stringify(results));
