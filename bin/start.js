// From a published package the built files run; in a clone, the sources as they are.
import { existsSync } from 'node:fs'
import { enableCompileCache, flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// Left alone, V8's young generation grows to 134 MB, and malloc has an arena for each thread. Both can be told only when a process begins: a gateway
// begins again, as the same process, and whatever it forks inherits it. docs/performance.md says what that brings.
const youngGeneration = '--max-semi-space-size'
const isTold = `${process.env.NODE_OPTIONS} ${process.execArgv.join(' ')}`.includes(youngGeneration)
if (process.argv[2] === 'serve' && process.execve && !isTold) {
  const words = [process.execPath, `${youngGeneration}=16`, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, words, { MALLOC_ARENA_MAX: '2', ...process.env })
}

// Nothing that is made here is for others to write.
process.umask(process.umask() | 0o022)

// What Node made of the sources is kept beside them, where nobody can write who could not write them: it is code, and runs as they do.
// In a folder that cannot be written a start only takes longer; NODE_COMPILE_CACHE names another, to the processes of this one too.
const { directory } = enableCompileCache(fileURLToPath(new URL('../.compile-cache/', import.meta.url)))
if (directory) process.env.NODE_COMPILE_CACHE ??= directory
// Otherwise written at the end, which a gateway may not live to see.
setTimeout(flushCompileCache, 5_000).unref()

const built = new URL('../dist/cli/main.js', import.meta.url)
const source = new URL('../src/cli/main.ts', import.meta.url)
await import(existsSync(source) ? source.href : built.href)
