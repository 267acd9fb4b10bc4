/**
 * The chart in ops/helm: its values are described and used, and what it makes is what ops/kubernetes has. Where
 * helm is installed it is rendered too.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Service } from 'kubernetes-models/v1/Service'
import { Compile } from 'typebox/schema'
import { parse, parseAllDocuments } from 'yaml'
import { generateKey, printKey } from '../../src/crypto/vault.ts'
import { readConfig } from '../../src/settings/config.ts'
import { settings } from '../../src/settings/table.ts'
import { skipWithout } from '../support/installed.ts'

const chart = 'ops/helm/countersign'
const read = (name: string) => readFileSync(join(chart, name), 'utf8')
const templates = new Map(
  readdirSync(join(chart, 'templates')).map((name) => [name, read(join('templates', name))]),
)

interface Values {
  readonly settings: Record<string, string>
  readonly [name: string]: unknown
}

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema | false>>
  readonly additionalProperties?: unknown
  readonly $ref?: string
}

const values = parse(read('values.yaml')) as Values
const schema = JSON.parse(read('values.schema.json')) as Schema & {
  readonly definitions: Readonly<Record<string, Schema>>
}

/** `image.tag` of everything that a user may set; what is theirs to name ends there. */
function pathsOf(part: Schema, before: readonly string[] = []): string[] {
  const { properties, additionalProperties } = part.$ref
    ? schema.definitions[part.$ref.replace('#/definitions/', '')]!
    : part
  if (!properties || additionalProperties !== false) return [before.join('.')]
  return Object.entries(properties).flatMap(([name, inner]) =>
    inner === false ? [] : pathsOf(inner, [...before, name]),
  )
}

const described = pathsOf(schema).filter((path) => path !== 'global')

function valueAt(path: string): unknown {
  return path.split('.').reduce<unknown>((inner, name) => (inner as Record<string, unknown>)?.[name], values)
}

test('every value that a user may set has a default, and every default is described', () => {
  for (const path of described) assert.notEqual(valueAt(path), undefined, path)
  const validator = Compile(schema)
  assert.ok(validator.Check(values))
  const wrong: readonly object[] = [
    { ...values, replicaCount: 2 },
    { ...values, settings: { ...values.settings, DATABASE_URL: 'postgresql://in-the-history' } },
    { ...values, settings: { ...values.settings, BASE_URL: 'http://api.example.com' } },
    { ...values, image: { repository: 'countersign', digest: 'latest' } },
    { ...values, api: { replicas: 0 } },
  ]
  for (const each of wrong) assert.ok(!validator.Check(each), JSON.stringify(each))
})

test('templates use values that there are, and every value is used', () => {
  const text = [...templates.values()].join('\n')
  const used = [...text.matchAll(/\.Values\.(\w+(?:\.\w+)*)/g)].map((match) => match[1]!)
  assert.ok(used.length > 15)
  for (const path of used) assert.notEqual(valueAt(path), undefined, path)
  // `with` and `index` name the group alone.
  const groups = { image: /with \.Values\.image /, api: /list "api" "worker"/, worker: /list "api" "worker"/ }
  for (const path of described) {
    const [first] = path.split('.') as [string]
    const ofGroup = groups[first as keyof typeof groups]
    const name = path.split('.').at(-1)!
    const isUsed = used.includes(path) || (ofGroup?.test(text) && new RegExp(`\\.${name}\\b`).test(text))
    assert.ok(isUsed, `${path} changes nothing`)
  }
})

test('chart, program and image are of one version', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const about = parse(read('Chart.yaml'))
  assert.deepEqual([about.name, about.version, about.appVersion], ['countersign', version, version])
})

test('its settings are those of ops/kubernetes, and the gateway takes them', () => {
  const { data } = parse(readFileSync('ops/kubernetes/settings.yaml', 'utf8')) as {
    data: Record<string, string>
  }
  assert.deepEqual(values.settings, data)
  const known = new Set(settings.map(({ name }) => name))
  for (const name of Object.keys(values.settings)) assert.ok(known.has(name), name)
  const secrets = { DATABASE_URL: 'postgresql://db/countersign', SECRET_KEY: printKey(generateKey()) }
  assert.equal(readConfig({ ...values.settings, ...secrets }).host, '0.0.0.0')
})

test('its ingress publishes what that of ops/kubernetes does', () => {
  const { spec } = parse(readFileSync('ops/kubernetes/ingress.yaml', 'utf8'), { maxAliasCount: -1 })
  const published = [...templates.get('ingress.yaml')!.matchAll(/range list ([^}]+) }}/g)].flatMap(
    (match) => [...match[1]!.matchAll(/"([^"]+)"/g)],
  )
  for (const { http } of spec.rules)
    assert.deepEqual(
      published.map((match) => match[1]),
      http.paths.map(({ path }: { path: string }) => path),
    )
})

test('the job that migrates has the settings, and the address of the owner instead of the nodes’', () => {
  const job = templates.get('migrations.yaml')!
  assert.match(job, /range \$name, \$value := \.Values\.settings/)
  assert.ok(job.indexOf('.Values.existingSecret') < job.lastIndexOf('.Values.migrations.existingSecret'))
})

const models = { ConfigMap, Deployment, Ingress, Job, NetworkPolicy, PodDisruptionBudget, Service }

interface Manifest {
  readonly kind: keyof typeof models
  readonly metadata: { readonly name: string }
  // biome-ignore lint/suspicious/noExplicitAny: validated by the schema of its kind
  readonly [field: string]: any
}

/** A release of this name, by helm itself. */
function render(name: string, ...words: readonly string[]): Manifest[] {
  const args = ['template', name, chart, '--kube-version', '1.33.0', ...words]
  const text = execFileSync('helm', args, { encoding: 'utf8' })
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((each) => each !== null)
}

/** What a release adds: who manages it, and which of several it is. */
function withoutRelease(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRelease)
  if (typeof value !== 'object' || value === null) return value
  const added = /^app\.kubernetes\.io\/(?:instance|version|managed-by)$|^checksum\/|^imagePullPolicy$/
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !added.test(name))
      .map(([name, inner]) => [name, withoutRelease(inner)]),
  )
}

const byName = (manifests: readonly Manifest[]) =>
  Object.fromEntries(manifests.map((each) => [`${each.kind} ${each.metadata.name}`, each]))

const skip = skipWithout('helm', 'version')

test('rendered with nothing said, it is ops/kubernetes and a network policy', { skip }, () => {
  const rendered = byName(render('countersign'))
  const byHand = byName(
    readdirSync('ops/kubernetes')
      .flatMap((name) => parseAllDocuments(readFileSync(join('ops/kubernetes', name), 'utf8')))
      .map((document) => document.toJS({ maxAliasCount: -1 }) as Manifest),
  )
  const { 'NetworkPolicy countersign': policy, ...others } = rendered
  const { 'Secret countersign': _, ...expected } = byHand
  assert.deepEqual(withoutRelease(others), withoutRelease(expected))
  assert.deepEqual(policy!.spec.ingress, [{ ports: [{ port: 'live' }, { port: 'sandbox' }] }])
})

test('rendered with everything said, it is valid, and no part of one release chooses pods of another', {
  skip,
}, () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const peer = 'podSelector.matchLabels.app'
  const words = [
    ...['migrations.existingSecret=owner', `image.digest=${digest}`, 'image.pullSecrets[0]=registry'],
    ...['sites', 'internal', 'metrics'].map((name) => `networkPolicy.${name}[0].${peer}=${name}`),
    ...['ingress.className=nginx', 'ingress.annotations.a=b', 'nodeSelector.disk=fast'],
    'tolerations[0].key=dedicated',
  ].flatMap((value) => ['--set', value])
  const manifests = render('second', ...words)
  for (const manifest of manifests) {
    const model = new models[manifest.kind](manifest as never)
    assert.doesNotThrow(() => model.validate(), `${manifest.kind} ${manifest.metadata.name}`)
    const { selector, podSelector } = manifest.spec ?? {}
    const labels = selector?.matchLabels ?? podSelector?.matchLabels ?? selector
    if (labels) assert.equal(labels['app.kubernetes.io/instance'], 'second')
  }
  const found = byName(manifests)
  const pods = [
    found['Deployment second-api']!,
    found['Deployment second-worker']!,
    found['Job second-migrate']!,
  ]
  for (const { spec } of pods) {
    const [container] = spec.template.spec.containers
    assert.equal(container.image, `countersign@${digest}`)
    assert.equal(container.securityContext.readOnlyRootFilesystem, true)
    assert.deepEqual(spec.template.spec.nodeSelector, { disk: 'fast' })
  }
  const { ingress } = found['NetworkPolicy second']!.spec
  assert.deepEqual(
    ingress.map(({ ports }: { ports: { port: string }[] }) => ports.map(({ port }) => port)),
    [['live', 'sandbox'], ['internal'], ['metrics']],
  )
  assert.ok(ingress.every(({ from }: { from: unknown[] }) => from.length === 1))
})

test('without an ingress and a policy it makes neither; a secret among the settings is refused', {
  skip,
}, () => {
  const kinds = render('countersign', '--set', 'ingress.enabled=false,networkPolicy.enabled=false').map(
    ({ kind }) => kind,
  )
  assert.deepEqual(new Set(kinds), new Set(['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Service']))
  const words = ['template', 'x', chart, '--kube-version', '1.33.0', '--set', 'settings.SECRET_KEY=x']
  assert.notEqual(spawnSync('helm', words).status, 0)
})
