#!/usr/bin/env node
import { readConfig } from '../settings/config.ts'
import { readVersion } from '../settings/version.ts'
import { escapeLines } from '../text/printable.ts'
import { exitCodeOf, UsageError } from './command.ts'
import { explain } from './system-errors.ts'

/** A gateway and a command need little of each other: each loads what it needs. */
async function main(args: readonly string[]): Promise<void> {
  if (args[0] === 'help') return main([...args.slice(1), '--help'])
  if (args[0] === '--version' || args[0] === 'version') {
    process.stdout.write(`countersign ${readVersion()}\n`)
    return
  }
  if (args[0] !== 'serve') return (await import('./commands.ts')).runCommand(args)
  const { printServeHelp, serve } = await import('./serve.ts')
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(printServeHelp())
    return
  }
  if (args.length > 1)
    throw new UsageError(`"serve" takes no ${args[1]}: its settings come from the environment.`)
  return serve(readConfig())
}

/**
 * The reader of the output has left, such as `head`. What the command does is done all the same, and its code
 * tells how that went; only a command that does nothing but print ends with its reader.
 */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  if (process.argv[2] === 'listen') process.exit(0)
}
process.stdout.on('error', leaveQuietly)
process.stderr.on('error', leaveQuietly)

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${escapeLines(explain(error))}\n`)
  process.exitCode = exitCodeOf(error, process.argv[2])
})
