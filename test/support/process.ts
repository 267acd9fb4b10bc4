/** Gateways and commands as processes of their own, and a person and a client who talk to them over HTTP. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Database } from '../../src/database/database.ts'
import { openPrivateServer } from '../../src/database/private-server.ts'
import type { Demo } from '../../src/demo/demo.ts'
import type { NodeAddresses } from '../../src/vocabulary/environment.ts'
import { type Answer, Browser, everythingOffered, type Fields, postForm, send } from './browser.ts'
import { eventually } from './eventually.ts'
import { newFolder } from './folder.ts'
import { basic, type TestClient } from './gateway.ts'
import { openLenientDatabase } from './lenient-database.ts'
import { testTimeoutMs } from './timeout.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/**
 * Every program is started with this and the test's own settings, and nothing else of the environment.
 * `PROCESSES=3 npm test` has gateways run several.
 */
const common: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOST: '127.0.0.1',
  PORT: '0',
  INTERNAL_PORT: '0',
  RATE_LIMIT_PER_MINUTE: '0',
  SANDBOX_RATE_LIMIT_PER_MINUTE: '0',
  CLIENT_FAILURES_PER_MINUTE: '1000',
  TEST_HOOKS_PER_MINUTE: '0',
  LOGIN_FAILURES_PER_ADDRESS: '1000',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  PROCESSES: process.env.PROCESSES,
}

const folders: string[] = []

/** A folder of this file's own, removed when its process ends. */
export function makeFolder(): string {
  const folder = newFolder('process')
  folders.push(folder)
  return folder
}

/** For commands, which take no secret as an argument. */
export function secretFile(secret: string): string {
  const path = join(makeFolder(), 'secret')
  writeFileSync(path, `${secret}\n`, { mode: 0o600 })
  return path
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Program {
  readonly pid: number
  readonly ended: Promise<Ending>
  /** Undefined while it runs. */
  readonly ending: Ending | undefined
  readonly stdout: string
  readonly stderr: string
  kill(signal: NodeJS.Signals): void
}

const running = new Set<ChildProcess>()

/** What a failed test leaves behind ends with the test's process. */
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  // A server whose gateway was killed goes on writing until it notices.
  for (const folder of folders)
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
})

export function startProgram(args: readonly string[], settings: NodeJS.ProcessEnv, program = main): Program {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: tmpdir(),
    env: {
      ...common,
      DATA_DIR: join(tmpdir(), 'countersign-no-data-folder'),
      AUDIT_ANCHOR_FILE: 'off',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
    })
  }
  let ending: Ending | undefined
  const ended = new Promise<Ending>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      ending = { code, signal }
      resolve(ending)
    })
  })
  return {
    pid: child.pid!,
    ended,
    kill: (signal) => void child.kill(signal),
    get ending() {
      return ending
    },
    get stdout() {
      return written.stdout
    },
    get stderr() {
      return written.stderr
    },
  }
}

export interface ProcessResult extends Ending {
  readonly stdout: string
  readonly stderr: string
  json<Value = Record<string, unknown>>(): Value
}

/**
 * Runs a command of the command line to its end, or ends it when it hangs: the first of a folder makes a
 * whole PostgreSQL, on however busy a machine.
 */
export async function runCommand(
  args: readonly string[],
  settings: NodeJS.ProcessEnv,
  deadlineMs = testTimeoutMs,
  entry = main,
): Promise<ProcessResult> {
  const program = startProgram(args, settings, entry)
  const tooLong = setTimeout(() => program.kill('SIGKILL'), deadlineMs)
  const ending = await program.ended
  clearTimeout(tooLong)
  const { stdout, stderr } = program
  return { ...ending, stdout, stderr, json: () => JSON.parse(stdout) }
}

export interface GatewayProcess extends Program {
  readonly baseUrl: string
  readonly sandboxUrl: string
  readonly internalUrl: string
  /** Told to stop, as an init system would, and killed when it does not; answers how it ended. */
  stop(): Promise<Ending>
}

/**
 * As an init system does it: a database that answers late, because the machine is busy, is taken for one that
 * is away, and the gateway is started again.
 */
export function startGateway(settings: NodeJS.ProcessEnv): Promise<GatewayProcess> {
  return eventually('the gateway is ready', async () => {
    const program = startProgram(['serve'], settings)
    const ready = await untilReady(program)
    return ready && describeGateway(program, ready)
  })
}

/** Undefined when it found its database away, and has ended. */
async function untilReady(program: Program): Promise<NodeAddresses | undefined> {
  try {
    return await eventually('the gateway is ready', () => {
      checkRuns(program)
      return findReadyLine(program.stdout)
    })
  } catch (error) {
    program.kill('SIGKILL')
    if (program.ending && program.stderr.startsWith('The database is away')) return undefined
    throw error
  }
}

function describeGateway(program: Program, { live, sandbox, internal }: NodeAddresses): GatewayProcess {
  return Object.assign(program, {
    baseUrl: live,
    sandboxUrl: sandbox,
    internalUrl: internal,
    async stop() {
      const tooLong = setTimeout(() => program.kill('SIGKILL'), testTimeoutMs)
      program.kill('SIGTERM')
      const ending = await program.ended
      clearTimeout(tooLong)
      return ending
    },
  })
}

/** Throws its last words when it has ended. */
export function checkRuns({ ending, stderr }: Program): void {
  if (ending) throw new Error(`The gateway ended with ${ending.code ?? ending.signal}: ${stderr}`)
}

function findReadyLine(output: string): NodeAddresses | undefined {
  const line = /^.*"msg":"Countersign is ready".*$/m.exec(output)
  return line ? JSON.parse(line[0]) : undefined
}

/** Stops it if it still runs. For the end of a test, whatever became of it. */
export async function endGateway(gateway: GatewayProcess | undefined): Promise<void> {
  await gateway?.stop()
}

/** demo.json as this gateway wrote it; it comes a moment after the gateway is ready. */
export function readDemo(gateway: GatewayProcess, dataDir: string): Promise<Demo> {
  return eventually('demo.json names this gateway', () => {
    const demo = tryReading(join(dataDir, 'demo.json'))
    if (!demo?.endsWith('}\n')) return undefined
    const parsed = JSON.parse(demo) as Demo
    return parsed.baseUrl === gateway.baseUrl && parsed
  })
}

export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'postgres', 'cluster')
}

export function findPostmaster(dataDir: string): number | undefined {
  const pid = Number(tryReading(join(clusterFolder(dataDir), 'postmaster.pid'))?.split('\n')[0])
  return pid > 0 ? pid : undefined
}

/** Every process that works in the cluster's folder: the server and its children, whoever their parent is. */
export function findServerProcesses(dataDir: string): number[] {
  const folder = clusterFolder(dataDir)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === folder
      } catch {
        return false
      }
    })
    .map(Number)
}

/** A connection to the private server of a gateway that runs. */
export async function openPrivateDatabase(dataDir: string): Promise<Database> {
  const visit = await openPrivateServer({ dataDir, purpose: 'visit', searchPath: process.env.PATH ?? '' })
  return openLenientDatabase({ connectionString: visit.connectionString, connections: 2 })
}

export function tryReading(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

export type Credentials = Pick<TestClient, 'id' | 'secret'>

/** A browser in which this person has signed in. */
export async function signIn(
  baseUrl: string,
  person: { username: string; password: string },
): Promise<Browser> {
  const browser = new Browser(baseUrl)
  const page = await browser.get('/login')
  const answer = await browser.submit(page, '/login', {
    username: person.username,
    password: person.password,
  })
  if (answer.status !== 303) throw new Error(`Sign-in failed: ${answer.status} ${answer.text}`)
  return browser
}

/** From the authorize endpoint to the consent page of somebody who has signed in. */
export async function askForConsent(browser: Browser, clientId: string, scope = 'read'): Promise<Answer> {
  const query = new URLSearchParams({ client_id: clientId, scope, state: 'st' })
  const start = await browser.get(`/v1/oauth/authorize?${query}`)
  const login = await browser.get(start.location!)
  if (login.status !== 303) throw new Error(`Not signed in: ${login.status} ${login.text}`)
  return browser.get(login.location!)
}

/** The whole way to a code, for every account in which all of it can be allowed. */
export async function obtainCode(browser: Browser, clientId: string, scope = 'read'): Promise<string> {
  const page = await askForConsent(browser, clientId, scope)
  const account = [...page.text.matchAll(/name="account" value="([^"]*)"((?:(?!<\/label>).)*)/gs)]
    .filter(([, , label]) => !label!.includes('you cannot allow here'))
    .map(([, number]) => number!)
  const choice = { scope: everythingOffered(page.text).scope, account }
  const answer = await browser.submit(page, '/consent', { decision: 'approve', ...choice })
  if (answer.status !== 303) throw new Error(`Consent failed: ${answer.status} ${answer.text}`)
  return new URL(answer.location!).searchParams.get('code')!
}

export function exchange(baseUrl: string, client: Credentials, code: string): Promise<Answer> {
  return ask(baseUrl, client, '/v1/oauth/accesstoken', { grant_type: 'authorization_code', code })
}

export function refresh(baseUrl: string, client: Credentials, refreshToken: string): Promise<Answer> {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
  return ask(baseUrl, client, '/v1/oauth/refreshtoken', fields)
}

export function revoke(baseUrl: string, client: Credentials, token: string): Promise<Answer> {
  return ask(baseUrl, client, '/v1/oauth/revoke', { token })
}

export function readProfile(baseUrl: string, token: string): Promise<Answer> {
  return send(`${baseUrl}/v1/user/profile`, {
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
  })
}

function ask(baseUrl: string, client: Credentials, path: string, fields: Fields): Promise<Answer> {
  return postForm(baseUrl + path, fields, basic(client))
}
