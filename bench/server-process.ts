/** Servers under test, each in a process of its own, started and stopped by the benchmark that needs it. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Stage } from './stage.ts'

const startTimeoutMs = 30_000
const stopTimeoutMs = 10_000
/** Often enough for whoever measures the start. */
const pollMs = 5

/** Starts a program of this repository, waits until `readyPath` answers 200, and answers its process id. */
export async function startServer(
  stage: Stage,
  { program, args, env, origin, readyPath }: ServerProgram & { origin: string; readyPath: string },
): Promise<number> {
  const child = spawn(process.execPath, [fileURLToPath(program), ...args], {
    env: environmentWith(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lastWords = collectErrors(child)
  stage.owns(() => stop(child))
  const deadline = Date.now() + startTimeoutMs
  while (!(await answers(`${origin}${readyPath}`))) {
    if (hasEnded(child) || Date.now() > deadline) throw new Error(`${program} does not start. ${lastWords()}`)
    await wait(pollMs)
  }
  return child.pid!
}

export interface ServerProgram {
  readonly program: URL
  readonly args: readonly string[]
  readonly env: Record<string, string>
}

/** A peer tells its origin when it is ready, and does what it is asked, one thing at a time. */
export interface PeerProcess {
  readonly pid: number
  readonly origin: string
  ask<Answer>(kind: string, count: number): Promise<Answer>
}

export interface Request {
  readonly kind: string
  readonly count: number
}

export async function startPeer(
  stage: Stage,
  program: URL,
  args: readonly string[] = [],
): Promise<PeerProcess> {
  const child = fork(program, [...args], {
    env: environmentWith({}),
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const lastWords = collectErrors(child)
  stage.owns(() => stop(child))
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${program} ended. ${lastWords()}`)
  })
  ended.catch(() => {})
  const hear = async <Message>(): Promise<Message> => {
    const [message] = await Promise.race([once(child, 'message'), ended])
    return message as Message
  }
  const origin = await hear<string>()
  return {
    pid: child.pid!,
    origin,
    ask(kind, count) {
      child.send({ kind, count } satisfies Request)
      return hear()
    },
  }
}

/** Neither side writes a line a request, and both run as in production. */
function environmentWith(env: Record<string, string>): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'production',
    ...env,
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

function collectErrors(child: ChildProcess): () => string {
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-2_000)
  })
  return () => text
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const gone = await Promise.race([ended.then(() => true), wait(stopTimeoutMs, false, { ref: false })])
  if (!gone) {
    child.kill('SIGKILL')
    await ended
  }
}
