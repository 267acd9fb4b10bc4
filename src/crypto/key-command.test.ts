import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runKeyCommand } from './key-command.ts'
import { generateKey, openVaultOf, printKey } from './vault.ts'

const [one, two] = [printKey(generateKey()), printKey(generateKey())]
const asked = (line: string) => openVaultOf({ kind: 'command', line })
const folder = mkdtempSync(join(tmpdir(), 'key-command-'))

test('a command prints keys as a key file holds them: with pipes, quotes, comments and empty lines', async () => {
  const vault = await asked(`printf '%s\\n' '# newest first' '' "${one}" | cat; echo "  ${two}"`)
  assert.equal(vault.keyIds.length, 2)
  assert.equal(vault.open('p', vault.seal('p', 'x')), 'x')
})

test('a command that fails is told with what it said, and never with a key or a token', async () => {
  const refused = asked(`echo "denied for $USERLESS hvs.${'x'.repeat(40)} ${one}" >&2; echo ${one}; exit 3`)
  await assert.rejects(refused, (error: Error) => {
    assert.match(error.message, /^SECRET_KEY_COMMAND ended with exit code 3: denied for •••••• ••••••$/)
    return true
  })
  await assert.rejects(asked('kill -9 $$'), /ended with SIGKILL\.$/)
  await assert.rejects(asked('no-such-vault-client read'), /exit code 127: .*not found/)
})

test('garbage is no key: a message, JSON, nothing, too much', async () => {
  const sentence = 'Error making API request: permission denied on path'
  for (const printed of [sentence, `{"key":"${one}"}`, one.slice(1), `${one}${one}`]) {
    await assert.rejects(asked(`echo '${printed}'`), (error: Error) => {
      assert.match(error.message, /^Line 1 of what SECRET_KEY_COMMAND printed is not a key of 32 bytes/)
      assert.ok(!error.message.includes(printed))
      return true
    })
  }
  await assert.rejects(asked('echo sealed >&2'), /^Error: SECRET_KEY_COMMAND printed no key: sealed$/)
  await assert.rejects(asked('echo "# no key yet"'), /What SECRET_KEY_COMMAND printed holds no key/)
  await assert.rejects(asked('yes'), /SECRET_KEY_COMMAND printed more than 65536 bytes/)
})

test('a command that hangs is ended with all that it began', async () => {
  const file = join(folder, 'pids')
  const line = `echo $$ >> ${file}; (echo $(exec sh -c 'echo $PPID') >> ${file}; sleep 600) | cat`
  await assert.rejects(runKeyCommand(line, 300), /gave no answer within 0\.3 seconds\.$/)
  const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number)
  assert.equal(pids.length, 2)
  const lives = (pid: number) => !/\) Z /.test(readStat(pid))
  for (const pid of pids) while (readStat(pid) !== '' && lives(pid)) await new Promise(setImmediate)
})

function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

test('a command that no longer prints the key in use changes nothing', async () => {
  const file = join(folder, 'keys')
  const keep = async (...keys: string[]) => runKeyCommand(`echo '${keys.join('\n')}' | tee ${file}`)
  await keep(one)
  const vault = await asked(`cat ${file}`)
  const sealed = vault.seal('p', 'x')
  await keep(two)
  await assert.rejects(vault.reload(), /no longer prints the key [0-9a-f]{8}/)
  assert.equal(vault.open('p', sealed), 'x')
  assert.equal(vault.keyIds.length, 1)
  await keep(two, one)
  await vault.reload()
  assert.equal(vault.open('p', sealed), 'x')
  await keep(two)
  await vault.reload()
  assert.equal(vault.open('p', sealed), undefined)
})
