#!/usr/bin/env node
// From a published package the built files run; in a clone, the sources as they are.
import { existsSync } from 'node:fs'

const built = new URL('../dist/cli/main.js', import.meta.url)
const source = new URL('../src/cli/main.ts', import.meta.url)
await import(existsSync(source) ? source.href : built.href)
