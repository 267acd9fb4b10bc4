/** `npm run release`: the same bytes wherever it is run, and what they hold runs without the sources. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Lock } from '../../ops/release/lock.ts'
import { send } from '../support/browser.ts'
import { withCluster } from '../support/copied-cluster.ts'
import { eventually } from '../support/eventually.ts'
import {
  checkRuns,
  type GatewayProcess,
  makeFolder,
  readDemo,
  readProfile,
  runCommand,
  startProgram,
} from '../support/process.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))
const lock = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as Lock
const { version } = lock

/** What a clone has of what a release is made of, and what builds it. */
const parts = [
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'],
  ...['README.md', 'CHANGELOG.md', 'LICENSE', 'bin', 'migrations', 'public', 'src', 'resource', 'ops'],
  'test/operating/released-migrations.txt',
]

/** A clone of the sources, with the modules of this one. */
function cloneSources(): string {
  const clone = join(makeFolder(), 'clone')
  for (const part of parts) cpSync(join(home, part), join(clone, part), { recursive: true })
  symlinkSync(join(home, 'node_modules'), join(clone, 'node_modules'))
  return clone
}

/** By the release's own script, in a shell of this kind. */
function release(clone: string, before: string, env: NodeJS.ProcessEnv = {}): Map<string, Buffer> {
  const { scripts } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'))
  const PATH = `${join(home, 'node_modules/.bin')}:${process.env.PATH}`
  execFileSync('sh', ['-c', `${before}; ${scripts.release}`], {
    ...{ cwd: clone, stdio: 'pipe', env: { ...process.env, PATH, ...env } },
  })
  const folder = join(clone, 'release')
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
}

const clone = cloneSources()
const files = release(clone, 'umask 022', { TZ: 'UTC' })
const get = (name: string) => files.get(name)!
const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** By the tar of the system, into a folder of its own. */
function unpack(archive: string): string {
  const folder = makeFolder()
  execFileSync('tar', ['-xzf', join(clone, 'release', archive), '-C', folder])
  return folder
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )
}

test('another clone, made by another user in another time zone with a file of an older build beside it, gives the same bytes', () => {
  const other = cloneSources()
  execFileSync('chmod', ['-R', 'go-rwx', join(other, 'src'), join(other, 'bin'), join(other, 'public')])
  for (const folder of ['dist', 'release']) {
    mkdirSync(join(other, folder))
    writeFileSync(join(other, folder, 'older.js'), '')
  }
  writeFileSync(join(other, 'public', '.DS_Store'), '')
  const again = release(other, 'umask 077', { TZ: 'Pacific/Auckland', LC_ALL: 'tr_TR.UTF-8' })
  assert.deepEqual([...again.keys()], [...files.keys()])
  for (const [name, bytes] of again) assert.equal(digestOf(bytes), digestOf(get(name)), name)
})

test('the checksums are of every other file, and sha256sum takes them', () => {
  const lines = get('SHA256SUMS').toString().trimEnd().split('\n')
  assert.deepEqual(
    lines,
    [...files.keys()]
      .filter((name) => name !== 'SHA256SUMS')
      .map((name) => `${digestOf(get(name))}  ${name}`),
  )
  assert.deepEqual([...files.keys()].filter((name) => name !== 'SHA256SUMS').length >= 4, true)
})

const unpacked = join(unpack(`countersign-${version}.tgz`), 'package')

test('nothing in it names the machine that made it, or where its packages came from', () => {
  const folders = [unpacked, unpack(`countersign-${version}-chart.tgz`)]
  const texts = folders.flatMap((folder) =>
    filesOf(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const),
  )
  assert.ok(texts.length > 500)
  for (const [name, text] of [...texts, ['sbom.cdx.json', get('sbom.cdx.json').toString()] as const]) {
    assert.ok(!text.includes(clone) && !text.includes(home), name)
    assert.doesNotMatch(text, /"resolved"|registry\.npmjs|sourceMappingURL/, name)
  }
})

test('the package holds the program alone: no sources, no tests, no scripts or packages of development', () => {
  const names = filesOf(unpacked)
  assert.deepEqual(
    names.filter((name) => name.endsWith('.ts') || name.includes('.test.') || name.startsWith('src')),
    [],
  )
  const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'))
  assert.deepEqual(Object.keys(manifest.scripts), ['start'])
  assert.equal(manifest.devDependencies, undefined)
  for (const path of Object.values<string>(manifest.bin))
    assert.equal(statSync(join(unpacked, path)).mode & 0o777, 0o755)
  const shrinkwrap = JSON.parse(readFileSync(join(unpacked, 'npm-shrinkwrap.json'), 'utf8')) as Lock
  const { '': root, ...others } = shrinkwrap.packages
  assert.deepEqual(root!.dependencies, manifest.dependencies)
  assert.ok(Object.values(others).every(({ dev, integrity }) => !dev && integrity))
})

test('unpacked beside its packages it says its version, and serves', async (t) => {
  symlinkSync(join(home, 'node_modules'), join(unpacked, 'node_modules'))
  const program = join(unpacked, 'bin/countersign.js')
  const said = await runCommand(['--version'], {}, undefined, program)
  assert.deepEqual([said.code, said.stdout.trim()], [0, `countersign ${version}`])

  const dataDir = await withCluster(makeFolder())
  const gateway = startProgram(['serve'], { DATA_DIR: dataDir }, program)
  t.after(() => gateway.kill('SIGKILL'))
  const baseUrl = await eventually('the gateway is ready', () => {
    checkRuns(gateway)
    const line = /^.*"msg":"Countersign is ready".*$/m.exec(gateway.stdout)
    return line !== null && (JSON.parse(line[0]) as { live: string }).live
  })
  const demo = await readDemo({ baseUrl } as GatewayProcess, dataDir)
  assert.equal((await readProfile(baseUrl, demo.apiToken)).status, 200)
  const page = await send(`${baseUrl}/login`)
  const [style] = /\/assets\/[^"]+\.css/.exec(page.text)!
  assert.equal((await send(baseUrl + style)).status, 200, 'what pages need came with it')
  gateway.kill('SIGTERM')
  assert.deepEqual(await gateway.ended, { code: 0, signal: null })
})

test('the library for resource servers is a package of its own: its modules load, and its types are found', async () => {
  const folder = join(unpack(`countersign-resource-${version}.tgz`), 'package')
  const consumer = makeFolder()
  mkdirSync(join(consumer, 'node_modules/@countersign'), { recursive: true })
  symlinkSync(folder, join(consumer, 'node_modules/@countersign/resource'))
  symlinkSync(join(home, 'node_modules/@types'), join(consumer, 'node_modules/@types'))
  const { exports, dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  assert.equal(dependencies, undefined)
  const modules = Object.keys(exports).map((name) => join('@countersign/resource', name))
  assert.ok(modules.length > 1)
  const text = modules.map((name, place) => `import * as module${place} from '${name}'`).join('\n')
  const uses = modules.map((_, place) => `Object.keys(module${place}).length satisfies number`).join('\n')
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(consumer, 'main.ts'), `${text}\n${uses}\n`)
  execFileSync(process.execPath, ['main.ts'], { cwd: consumer })
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  execFileSync(join(home, 'node_modules/.bin/tsc'), [...options, 'main.ts'], { cwd: consumer })
})

test('the image is built of the package that the checksums name', () => {
  const context = unpack(`countersign-${version}-container.tar.gz`)
  assert.deepEqual(filesOf(context).sort(), ['Dockerfile', `countersign-${version}.tgz`])
  const bytes = readFileSync(join(context, `countersign-${version}.tgz`))
  assert.equal(digestOf(bytes), digestOf(get(`countersign-${version}.tgz`)))
})

interface Component {
  readonly 'bom-ref': string
  readonly purl: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
  readonly licenses?: readonly object[]
}

interface Bill {
  readonly bomFormat: string
  readonly specVersion: string
  readonly serialNumber: string
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

test('the bill of materials names every package of production with its hash and licence, and who needs it', () => {
  const bill = JSON.parse(get('sbom.cdx.json').toString()) as Bill
  assert.deepEqual([bill.bomFormat, bill.specVersion], ['CycloneDX', '1.6'])
  assert.match(
    bill.serialNumber,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  const production = Object.entries(lock.packages).filter(([folder, { dev }]) => folder !== '' && !dev)
  const wanted = production.map(
    ([folder, locked]) =>
      `pkg:npm/${folder.replace(/^.*node_modules\//, '').replace('@', '%40')}@${locked.version}`,
  )
  assert.deepEqual(
    bill.components.map(({ purl }) => purl),
    [...new Set(wanted)].sort(),
  )
  for (const { purl, hashes, licenses } of bill.components) {
    assert.match(hashes![0]!.content, /^[0-9a-f]{128}$/, purl)
    assert.equal(licenses!.length, 1, purl)
  }
  const refs = new Set([...bill.components, bill.metadata.component].map((each) => each['bom-ref']))
  assert.deepEqual(new Set(bill.dependencies.map(({ ref }) => ref)), refs)
  for (const { ref, dependsOn } of bill.dependencies)
    for (const other of dependsOn) assert.ok(refs.has(other), `${ref} needs ${other}`)
  const [root] = bill.dependencies.filter(({ ref }) => ref === bill.metadata.component['bom-ref'])
  const { dependencies, optionalDependencies } = lock.packages['']!
  assert.equal(root!.dependsOn.length, Object.keys({ ...dependencies, ...optionalDependencies }).length)
})
