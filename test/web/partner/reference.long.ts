/**
 * The first programs of the API reference in other languages run as they stand there. Some compile for a
 * while.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { openHouse } from '../../support/gateway.ts'
import { openPartner } from '../../support/portal.ts'
import { makeFolder } from '../../support/process.ts'
import { readProgram } from '../../support/quick-start.ts'
import { openReceiver } from '../../support/receiver.ts'

const run = promisify(execFile)
const folder = makeFolder()
const house = await openHouse()
const receiver = await openReceiver()
after(() => receiver.close())
const own = await openPartner(house)

const settings = (path: string) => ({
  ...{ PATH: process.env.PATH, HOME: folder, ...(process.env.GOCACHE && { GOCACHE: process.env.GOCACHE }) },
  ...{ CLIENT_SECRET: own.client.secret, HOOK_URL: receiver.url(path) },
})

/** A program in another language: how it is asked whether it is there, and how its text is run. */
interface Language {
  readonly probe: readonly string[]
  /**
   * A variable without which it takes too long: Go compiles its whole library first, for a minute, where it
   * has not kept it.
   */
  readonly needs?: string
  readonly run: (program: string) => readonly string[]
  /** Says whether the body, the signature and the secret of its arguments belong together. */
  readonly check: (verify: string) => string
}

const inFile = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const languages: Record<string, Language> = {
  Python: {
    probe: ['python3', '--version'],
    run: (program) => ['python3', '-c', program],
    check: (verify) =>
      `${verify}\nimport sys\nprint(is_genuine(sys.argv[1].encode(), sys.argv[2], sys.argv[3]))`,
  },
  Go: {
    probe: ['go', 'version'],
    needs: 'GOCACHE',
    run: (program) => ['go', 'run', inFile('start.go', program)],
    check: (verify) =>
      `package main\nimport ("crypto/hmac"; "crypto/sha256"; "encoding/hex"; "fmt"; "os")\n${verify}\nfunc main() { fmt.Println(isGenuine([]byte(os.Args[1]), os.Args[2], os.Args[3])) }`,
  },
  Ruby: {
    probe: ['ruby', '--version'],
    run: (program) => ['ruby', '-e', program],
    check: (verify) => `${verify}\nputs genuine?(ARGV[0], ARGV[1], ARGV[2])`,
  },
}

for (const [name, language] of Object.entries(languages)) {
  test(`the quick start in ${name} runs as it stands, and so does its check, where ${name} is installed`, async (t) => {
    const execute = async (words: readonly string[], env = settings(`/${name}`)) =>
      (await run(words[0]!, words.slice(1), { env })).stdout.trim()
    if (language.needs && !process.env[language.needs]) return t.skip(`${language.needs} is not set.`)
    const isThere = await execute(language.probe).catch(() => undefined)
    if (isThere === undefined) return t.skip(`There is no ${language.probe[0]}.`)
    await execute(language.run(await readProgram(own, 'language', name)))
    await receiver.count(`/${name}`, 1)
    const [arrived] = receiver.at(`/${name}`)
    assert.equal(JSON.parse(arrived!.body).amount, 500.1)
    const check = language.run(language.check(await readProgram(own, 'verify', name)))
    const signature = String(arrived!.headers['x-webhook-signature'])
    const judge = async (body: string, secret: string) =>
      (await execute([...check, body, signature, secret])).toLowerCase()
    assert.equal(await judge(arrived!.body, own.client.secret), 'true')
    assert.equal(await judge(`${arrived!.body} `, own.client.secret), 'false')
    assert.equal(await judge(arrived!.body, 'another secret'), 'false')
  })
}
