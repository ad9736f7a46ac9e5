#!/usr/bin/env node
// Starts the binary of this platform, which is in a package of its own.
'use strict';

const { spawn } = require('node:child_process');
const { isatty } = require('node:tty');
const { name, optionalDependencies } = require('../package.json');

function fail(message) {
  process.stderr.write(`orchestra-mcp: ${message}\n`);
  process.exit(3);
}

const platform = `${process.platform}-${process.arch}`;
const wanted = `${name}-${platform}`;
if (!(wanted in optionalDependencies)) {
  const known = Object.keys(optionalDependencies).map((other) => other.slice(name.length + 1));
  fail(`there is no package for ${platform}, only for ${known.join(', ')}. On other systems, build it with Go from its sources.`);
}

let binary;
try {
  binary = require.resolve(`${wanted}/bin/orchestra-mcp`);
} catch {
  fail(`the package ${wanted} is missing: npm was told to leave out optional dependencies, or node_modules came from another platform. ` +
    `Install again with: npm install --include=optional ${name}`);
}

const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (problem) => fail(`${binary} does not start: ${problem.message}`));

const signals = ['SIGTERM', 'SIGHUP', 'SIGINT'];
for (const signal of signals) {
  process.on(signal, () => {
    // A terminal has told the binary itself.
    if (signal !== 'SIGINT' || !isatty(0)) child.kill(signal);
  });
}
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const caught of signals) process.removeAllListeners(caught);
  process.kill(process.pid, signal);
});
