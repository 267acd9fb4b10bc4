/**
 * Keys that a program hands out: any client of a KMS or a vault. What it prints is written
 * nowhere. The line is the operator's own and goes to /bin/sh as it stands, so that pipes and quotes
 * mean what they mean in a terminal.
 */
import { spawn } from 'node:child_process'
import { second } from '../clock.ts'
import { messageOf } from '../text/thrown.ts'

const timeoutMs = 20 * second
const mostBytes = 65_536
const toldCharacters = 500

export async function runKeyCommand(line: string, limitMs: number = timeoutMs): Promise<string> {
  const { code, signal, stdout, stderr } = await runShell(line, limitMs)
  if (code !== 0)
    throw new Error(`SECRET_KEY_COMMAND ended with ${signal ?? `exit code ${code}`}${printStderr(stderr)}`)
  if (stdout.trim() === '') throw new Error(`SECRET_KEY_COMMAND printed no key${printStderr(stderr)}`)
  return stdout
}

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

/** In a group of its own, so that a pipeline that hangs ends with everything in it. */
function runShell(line: string, limitMs: number): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>()
  const child = spawn('/bin/sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  let bytes = 0
  const give = (problem: string) => {
    if (child.pid !== undefined) endGroup(child.pid)
    // What has left the group may hold the pipes open.
    child.stdout.destroy()
    child.stderr.destroy()
    reject(new Error(`SECRET_KEY_COMMAND ${problem}${printStderr(Buffer.concat(stderr).toString())}`))
  }
  for (const [stream, chunks] of [[child.stdout, stdout] as const, [child.stderr, stderr] as const])
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > mostBytes) give(`printed more than ${mostBytes} bytes`)
      else chunks.push(chunk)
    })
  const timer = setTimeout(() => give(`gave no answer within ${limitMs / second} seconds`), limitMs)
  child.on('error', (error) => give(`could not be run (${messageOf(error)})`))
  child.on('close', (code, signal) => {
    clearTimeout(timer)
    const [printed, told] = [stdout, stderr].map((chunks) => Buffer.concat(chunks).toString())
    resolve({ code, signal, stdout: printed ?? '', stderr: told ?? '' })
  })
  return promise.finally(() => clearTimeout(timer))
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** Clients are talkative: whatever is long enough to be a key or a token is not repeated. */
function printStderr(text: string): string {
  const told = text
    .replace(/[\w+/=.-]{32,}/g, '••••••')
    .replace(/\s+/g, ' ')
    .trim()
  return told === '' ? '.' : `: ${told.slice(-toldCharacters)}`
}
