#!/usr/bin/env node
// In words that every Node understands: one that is too old for the rest is to say so, and nothing else.
const least = 24
const running = process.versions.node

if (Number(running.split('.')[0]) >= least) import('./start.js')
else {
  process.stderr.write(`Countersign needs Node.js ${least} or newer; this is ${running}.\n`)
  process.exitCode = 1
}
