/** What all commands have in common: help, mistakes, exit codes. */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { clientCommands } from '../../src/cli/client.ts'
import { parseWords, printHelp, UsageError } from '../../src/cli/command.ts'
import { listenOptions } from '../../src/cli/listen.ts'
import { readKeyFile } from '../../src/crypto/vault.ts'
import { openDatabase } from '../../src/database/database.ts'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { settings as knownSettings } from '../../src/settings/table.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { makeFolder, runCommand, secretFile } from '../support/process.ts'
import { commands, openCommandLine } from './command-line.ts'

const program = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url))

/** None of these may open a database: there is no folder for one. */
const dataDir = join(makeFolder(), 'never-made')
const run = (...words: string[]) => runCommand(words, { DATA_DIR: dataDir })

test('without a command, and with --help, every command is listed with what it does', async () => {
  const [bare, help] = await Promise.all([run(), run('--help')])
  assert.equal(bare.code, 0)
  assert.equal(help.stdout, bare.stdout)
  for (const name of ['serve', 'migrate', ...commands.map((command) => command.name)]) {
    assert.match(bare.stdout, new RegExp(`^  ${name} +[A-Z]`, 'm'))
  }
})

test('a group alone lists its own commands', async () => {
  const { code, stdout } = await run('client')
  assert.equal(code, 0)
  const listed = [...stdout.matchAll(/^ {2}(\w+ [\w-]+) {2}/gm)].map((match) => match[1])
  assert.deepEqual(
    listed,
    commands.filter(({ name }) => name.startsWith('client ')).map(({ name }) => name),
  )
})

test('the help of every command names its words and options, and which of them are required', () => {
  for (const command of commands) {
    const help = printHelp(command)
    assert.ok(help.startsWith(`countersign ${command.name}`))
    assert.ok(help.includes(command.summary))
    for (const word of command.positionals ?? []) assert.ok(help.includes(`<${word}>`))
    for (const option of command.options ?? []) {
      const line = help.split('\n').find((each) => new RegExp(`^--${option.name}\\b(?!-)`).test(each.trim()))
      assert.ok(line?.includes(`  ${option.meaning}`), `${command.name} --${option.name}`)
      assert.equal(line?.includes('(required)'), option.required === true)
    }
    assert.match(help, /--json/)
  }
})

test('--help asks for nothing else and opens nothing', async () => {
  const [command, serve] = await Promise.all([run('client', 'create', '--help'), run('serve', '--help')])
  assert.equal(command.code, 0)
  assert.equal(command.stdout, printHelp(clientCommands.find((each) => each.name === 'client create')!))
  assert.equal(serve.code, 0)
  for (const { name, meaning } of knownSettings)
    assert.ok(serve.stdout.includes(name) && serve.stdout.includes(meaning))
  assert.ok(!existsSync(dataDir))
})

test('a command that does not exist ends with code 2 and says so, in a known group too', async () => {
  const [unknown, misspelt] = await Promise.all([run('frobnicate'), run('partner', 'suspned', 'Quant')])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /^There is no command "frobnicate"\./)
  assert.equal(misspelt.code, 2, 'a script must not take this for success')
  assert.match(misspelt.stderr, /^There is no command "partner suspned"\./)
})

test('a typo is answered with what was probably meant', async () => {
  const cases: [string[], string | undefined][] = [
    [['partner', 'suspned', 'Quant'], 'partner suspend'],
    [['partnr', 'list'], 'partner list'],
    [['docter'], 'doctor'],
    [['lsiten', '--json'], 'listen'],
    [['frobnicate'], undefined],
  ]
  for (const [words, meant] of cases) {
    const { code, stderr } = await run(...words)
    assert.equal(code, 2)
    const [, found] = /Did you mean "countersign ([^"]+)"\?/.exec(stderr) ?? []
    assert.equal(found, meant, words.join(' '))
  }
})

test('--version names the release; help leads to the help of a command', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.equal((await run('--version')).stdout, `countersign ${manifest.version}\n`)
  assert.equal(
    (await run('help', 'client', 'create')).stdout,
    (await run('client', 'create', '--help')).stdout,
  )
  assert.equal((await run('help', 'serve')).stdout, (await run('serve', '-h')).stdout)
})

/** Whether this machine has the shell. */
const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0

/** What the shell offers behind a line, as it is typed. */
const offers: Record<string, (script: string, words: readonly string[]) => string> = {
  bash: (script, words) =>
    `${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_countersign; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (script, words) =>
    `compdef() { :; }; _describe() { printf '%s\\n' "\${(@P)2%%:*}" }; _files() { echo FILES }
${script}\nwords=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _countersign`,
  fish: (script, words) => `${script}\ncomplete -C '${words.join(' ')}' | string split -f1 \\t`,
}

for (const [shell, print] of Object.entries(offers))
  test(`completion for ${shell} offers commands, options and their values`, async (t) => {
    if (!has(shell)) return t.skip(`needs ${shell}`)
    const { code, stdout: script } = await run('completion', shell)
    assert.equal(code, 0)
    const offered = (...words: string[]) => {
      const { stdout, stderr } = spawnSync(shell, ['-c', print(script, ['countersign', ...words])], {
        encoding: 'utf8',
      })
      assert.equal(stderr, '')
      return new Set(stdout.split('\n').filter((line) => line !== ''))
    }
    const firsts = offered('')
    for (const name of ['serve', 'completion', ...commands.map((each) => each.name.split(' ')[0]!)])
      assert.ok(firsts.has(name), name)
    const verbs = offered('client', '')
    for (const { name } of clientCommands) assert.ok(verbs.has(name.split(' ')[1]!), name)
    const options = offered('client', 'create', '--')
    for (const option of clientCommands.find((each) => each.name === 'client create')!.options!)
      assert.ok(options.has(`--${option.name}`), option.name)
    assert.deepEqual([...offered('client', 'create', '--environment', '')].sort(), ['live', 'sandbox'])
  })

test('a shell that there is no completion for is named, with those that there are', async () => {
  const { code, stderr } = await run('completion', 'bsah')
  assert.equal(code, 2)
  assert.equal(stderr, 'There is no completion for "bsah", but for bash, zsh, fish. Did you mean bash?\n')
})

test('missing, unknown and surplus words end with code 2, before anything is opened', async () => {
  const [missing, surplus] = await Promise.all([
    run('client', 'create', '--name', 'X'),
    run('user', 'list', 'everybody', '--json'),
  ])
  assert.deepEqual([missing.code, missing.stdout], [2, ''])
  assert.equal(missing.stderr, 'Missing: --partner, --callback, --scope\n')
  assert.deepEqual([surplus.code, surplus.stdout], [2, ''])
  assert.equal(surplus.stderr, '"user list" takes no words of its own.\n')
  assert.ok(!existsSync(dataDir))
})

test('each wrong word is named', () => {
  const cases: [string, string[], RegExp][] = [
    ['partner suspend', ['Quant'], /^Missing: --reason$/],
    [
      'partner create',
      ['--name', 'X', '--aprove'],
      /^"partner create" has no option --aprove\. Did you mean --approve\? See: countersign partner create --help$/,
    ],
    ['partner create', ['--name'], /^--name needs a value: --name TEXT$/],
    ['partner create', ['--name', '--approve'], /^--name needs a value/],
    ['partner create', ['--name', '--contact=a@b.c'], /^--name needs a value/],
    ['partner create', ['--name', '-h'], /^--name needs a value.* One that begins with "-": --name=-h$/],
    ['partner create', ['--name', 'X', '--name', 'Y'], /^--name was given twice\.$/],
    ['partner create', ['--name=X', '--approve=yes'], /^--approve takes no value/],
    ['partner create', ['-x'], /^"partner create" has no option -x\./],
    ['user show', [], /^Say: countersign user show <user>$/],
    ['client revoke-secret', ['one'], /^Say: countersign client revoke-secret <client> <secret id>$/],
  ]
  for (const [name, args, message] of cases) {
    const command = commands.find((each) => each.name === name)!
    assert.throws(
      () => parseWords(command, args),
      (error) => error instanceof UsageError && message.test(error.message),
      `${name} ${args.join(' ')}`,
    )
  }
})

test('a command says the same in a process of its own as it does here, and fails with the same code', async () => {
  const line = await openCommandLine()
  try {
    await line.run('partner', 'create', '--name', 'Quant')
    for (const words of [
      ['partner', 'list'],
      ['partner', 'show', 'Quant', '--json'],
      ['partner', 'show', 'Nobody'],
    ]) {
      const { code, stdout, stderr } = await line.runApart(...words)
      assert.deepEqual({ code, stdout, stderr }, await line.run(...words), words.join(' '))
    }
  } finally {
    await line.close()
  }
})

test('"serve" refuses words that it does not know instead of starting without them', async () => {
  const settings = { DATA_DIR: join(makeFolder(), 'data') }
  const { code, stderr } = await runCommand(['serve', '--port', '9000'], settings)
  assert.equal(code, 2)
  assert.match(stderr, /--port/)
})

test('every mistake in the configuration is reported at once, with code 2', async () => {
  const wrong = {
    PORT: 'eighty',
    DATABASE_URL: 'mysql://x',
    LOG_LEVEL: 'loud',
    BASE_URL: 'http://api.example.com',
  }
  const { code, stdout, stderr } = await runCommand(['partner', 'list'], wrong)
  assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
  assert.match(stderr, /^The configuration has 5 mistakes:\n/)
  for (const name of [...Object.keys(wrong), 'SECRET_KEY'])
    assert.match(stderr, new RegExp(`^ {2}- ${name}\\b`, 'm'))
})

test('"keys generate" needs no configuration and touches nothing: it is how one begins', async () => {
  const folder = join(makeFolder(), 'data')
  const begin = [
    { DATA_DIR: folder, SECRET_KEY_FILE: join(folder, 'not-yet.keys') },
    { DATA_DIR: folder, DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' },
  ]
  const made = await Promise.all(
    begin.map((settings) => runCommand(['keys', 'generate', '--json'], settings)),
  )
  for (const { code, stderr, json } of made) {
    assert.equal(code, 0, stderr)
    assert.equal(Buffer.from(json<{ key: string }>().key, 'base64url').length, 32)
  }
  assert.equal(new Set(made.map(({ stdout }) => stdout)).size, 2)
  assert.ok(!existsSync(folder), 'nothing was made')
})

test('"keys list" needs the configuration and no database', async () => {
  const away = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', SECRET_KEY: 'ab'.repeat(32) }
  const [listed, wrong] = await Promise.all([
    runCommand(['keys', 'list', '--json'], away),
    runCommand(['keys', 'list'], { ...away, SECRET_KEY: '' }),
  ])
  assert.equal(listed.code, 0, listed.stderr)
  assert.equal(listed.json<{ seals: boolean }[]>().length, 1)
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /SECRET_KEY, SECRET_KEY_FILE or SECRET_KEY_COMMAND must be set/)
})

test('"keys generate > file" makes a key file: the key is all that is printed', async () => {
  const { stdout, stderr } = await run('keys', 'generate')
  assert.equal(stderr, '')
  const file = join(makeFolder(), 'secret.keys')
  writeFileSync(file, stdout)
  assert.equal(readKeyFile(file).length, 1)
  assert.match(stdout, /^[\w-]{43}\n$/)
})

test('a reader that leaves, such as head, is no failure: nothing is complained about', async () => {
  for (const words of [['--help'], ['settings', '--json'], ['serve', '--help']]) {
    assert.deepEqual(await runWithoutReader(words), { code: 0, stderr: '' }, words.join(' '))
  }
  assert.deepEqual(await runWithoutReader(['frobnicate'], 'stderr'), { code: 2, stderr: '' })
})

/** Its output has no reader before it can print. */
async function runWithoutReader(words: string[], stream: 'stdout' | 'stderr' = 'stdout') {
  const child = spawn(process.execPath, [program, ...words], { env: { DATA_DIR: dataDir }, stdio: 'pipe' })
  child[stream].destroy()
  let stderr = ''
  if (stream !== 'stderr') child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = await once(child, 'close')
  return { code, stderr }
}

test('terminal escapes and bidi controls in what is stored are shown by their codes, and JSON keeps its meaning', async () => {
  const line = await openCommandLine()
  try {
    await line.run('partner', 'create', '--name', 'Quant')
    const name = 'Quant\x1b[2J\u202Egpj\x9b31m'
    await ask(line.db, 'UPDATE partners SET name = $1', [name])
    const shown = await Promise.all([
      line.runApart('partner', 'list'),
      line.runApart('partner', 'show', '1'),
      line.runApart('partner', 'show', '1', '--json'),
      line.runApart('partner', 'show', name),
      line.runApart('partner', 'show', `no ${name}`),
    ])
    for (const { stdout, stderr } of shown) {
      assert.ok(!/[\p{C}]/u.test((stdout + stderr).replaceAll('\n', '')))
      assert.match(stdout + stderr, /Quant\\u001b\[2J\\u202egpj\\u009b31m/)
    }
    assert.equal(shown[2]!.json().name, name)
  } finally {
    await line.close()
  }
})

test('no secret is an argument: every option that holds one names a file, and a file that holds none is told', async () => {
  const options = commands.flatMap((command) => command.options ?? []).concat(listenOptions)
  const secretive = options.filter(
    ({ name, value }) => value !== undefined && /secret|password|token/.test(name) && !/rotate/.test(name),
  )
  assert.ok(secretive.length >= 6)
  for (const { name } of secretive) assert.match(name, /-file$/)
  const absent = await run(
    'listen',
    '--client-secret-file',
    join(dataDir, 'none'),
    '--client-id',
    'x',
    '--url',
    'x',
  )
  assert.equal(absent.code, 2)
  assert.match(absent.stderr, /^The secret could not be read: There is no file /)
  const empty = await run('listen', '--client-secret-file', secretFile(''), '--client-id', 'x', '--url', 'x')
  assert.match(empty.stderr, /holds no secret\.\n$/)
})

test('a database that is away is told in a sentence, with code 1', async () => {
  const settings = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', SECRET_KEY: 'ab'.repeat(32) }
  const { code, stderr } = await runCommand(['partner', 'list'], settings)
  assert.equal(code, 1)
  assert.match(stderr, /^The database is away: [^\n]+\n$/)
})

test('every command that lists or shows only reads, and no other says so of itself', () => {
  const reading = /^(\w+ (list|show|secrets|keys|messages|members|invitations)|calls|audit listener)$/
  for (const { name, needs } of commands.filter((each) => /reading|database/.test(each.needs)))
    assert.equal(needs === 'reading', reading.test(name), name)
})

test('a command that only reads migrates nothing: it says that the schema is behind, and what to do', async () => {
  const database = await openTestDatabase({ empty: true })
  const db = openLenientDatabase({ connectionString: database.url, connections: 1 })
  const settings = { DATABASE_URL: database.url, SECRET_KEY: 'a'.repeat(64), AUDIT_ANCHOR_FILE: 'off' }
  const tables = async () =>
    (await ask(db, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")).length
  try {
    const remedy = /, and this command changes nothing\. Run "countersign migrate", or start the gateway\.\n$/
    const empty = await runCommand(['user', 'list'], settings)
    assert.deepEqual([empty.code, await tables()], [1, 0])
    assert.match(empty.stderr, /^The database has no tables yet/)
    assert.match(empty.stderr, remedy)
    const [newest] = readMigrations().slice(-1)
    await migrate(db, readMigrations().slice(0, -1))
    const before = await tables()
    for (const words of [
      ['import', 'list'],
      ['source', 'list'],
      ['audit', 'list', '--json'],
    ]) {
      const behind = await runCommand(words, settings)
      assert.deepEqual([behind.code, behind.stdout], [1, ''])
      assert.match(behind.stderr, new RegExp(`^The database has schema \\d+ of ${newest!.version}`))
      assert.match(behind.stderr, remedy)
    }
    assert.equal(await tables(), before)
    assert.equal((await runCommand(['migrate'], settings)).code, 0)
    assert.equal((await runCommand(['source', 'list'], settings)).code, 0)
  } finally {
    await db.close()
    await database.close()
  }
})

test('a command that only reads makes no database where there is none', async () => {
  const nowhere = join(makeFolder(), 'nowhere')
  const { code, stderr } = await runCommand(['partner', 'list'], { DATA_DIR: nowhere })
  assert.equal(code, 1)
  assert.match(stderr, /^There is no database in .*nowhere yet\. Start the gateway first/)
  assert.ok(!existsSync(nowhere))
})

test('what a session of a command that only reads would write is refused by PostgreSQL', async () => {
  const line = await openCommandLine()
  const db = openDatabase({ connectionString: line.settings.DATABASE_URL!, connections: 1, isReadOnly: true })
  try {
    await assert.rejects(ask(db, "INSERT INTO sources VALUES ('mine', 'live')"), /read-only transaction/)
  } finally {
    await db.close()
    await line.close()
  }
})
