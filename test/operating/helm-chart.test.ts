/**
 * The chart in ops/helm: its values are described and used, and what it makes is what ops/kubernetes has. Where
 * helm is installed it is rendered too.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Compile } from 'typebox/schema'
import { parse } from 'yaml'
import { generateKey, printKey } from '../../src/crypto/vault.ts'
import { readConfig } from '../../src/settings/config.ts'
import { settings } from '../../src/settings/table.ts'
import { skipWithout } from '../support/installed.ts'
import {
  assertValid,
  buildByKubectl,
  byName,
  type Manifest,
  parseManifests,
  readManifests,
} from '../support/manifests.ts'

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
    { ...values, settings: { ...values.settings, TLS_CERT_FILE: '/nowhere' } },
    { ...values, mtls: { ...(values.mtls as object), askedBy: 'proxy' } },
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

test('a proxy may say who a client is only where it is said which proxies come to the nodes', () => {
  const validator = Compile(schema)
  const mtls = { ...(values.mtls as object), askedBy: 'proxy' }
  const networkPolicy = { ...(values.networkPolicy as object), sites: [{ podSelector: {} }] }
  assert.ok(validator.Check({ ...values, mtls, networkPolicy }))
  assert.ok(!validator.Check({ ...values, mtls, networkPolicy: { ...networkPolicy, enabled: false } }))
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

/** A release of this name, by helm itself. */
function render(name: string, ...words: readonly string[]): Manifest[] {
  const args = ['template', name, chart, '--kube-version', '1.33.0', ...words]
  const text = execFileSync('helm', args, { encoding: 'utf8' })
  return parseManifests(text)
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

const skip = skipWithout('helm', 'version')

test('rendered with nothing said, it is ops/kubernetes and a network policy', { skip }, () => {
  const rendered = byName(render('countersign'))
  const byHand = byName(readManifests('ops/kubernetes'))
  const { 'NetworkPolicy countersign': policy, ...others } = rendered
  const { 'Secret countersign': _, ...expected } = byHand
  assert.deepEqual(withoutRelease(others), withoutRelease(expected))
  assert.deepEqual(policy!.spec.ingress, [{ ports: [{ port: 'live' }, { port: 'sandbox' }] }])
})

const askedByNodes = ['--set', 'mtls.askedBy=nodes']
const askedByProxy = [
  '--set',
  'mtls.askedBy=proxy',
  '--set',
  'networkPolicy.sites[0].podSelector.matchLabels.a=b',
]

for (const [overlay, words] of [
  ['kubernetes-nodes', askedByNodes],
  ['kubernetes-ingress', askedByProxy],
] as const)
  test(`rendered with ${words[1]}, it is ops/mutual-tls/${overlay} and a network policy`, {
    skip: skip || skipWithout('kubectl', 'version', '--client'),
  }, () => {
    const { 'NetworkPolicy countersign': _, ...rendered } = byName(render('countersign', ...words))
    const expected = byName(buildByKubectl(`ops/mutual-tls/${overlay}`))
    assert.deepEqual(withoutRelease(rendered), withoutRelease(expected))
  })

test('rendered with authorities, every node reads them, whoever asks for certificates', { skip }, () => {
  for (const words of [askedByNodes, askedByProxy]) {
    const rendered = byName(render('countersign', ...words, '--set', 'mtls.authorities=known'))
    const { MTLS_CA_FILE: file } = rendered['ConfigMap countersign']!.data
    for (const role of ['api', 'worker']) {
      const { containers, volumes } = rendered[`Deployment countersign-${role}`]!.spec.template.spec
      const { name } = volumes.find(({ configMap }: Manifest) => configMap?.name === 'known')
      const mount = containers[0].volumeMounts.find((each: { name: string }) => each.name === name)
      assert.equal(file, `${mount.mountPath}/ca.crt`)
    }
  }
  const { data } = byName(render('countersign', '--set', 'mtls.authorities=known'))['ConfigMap countersign']!
  assert.equal(data.MTLS_CA_FILE, undefined, 'nobody asks')
})

test('rendered with everything said, it is valid, and no part of one release chooses pods of another', {
  skip,
}, () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const peer = 'podSelector.matchLabels.app'
  const words = [
    ...['migrations.existingSecret=owner', `image.digest=${digest}`, 'image.pullSecrets[0]=registry'],
    ...['sites', 'mtls', 'internal', 'metrics'].map((name) => `networkPolicy.${name}[0].${peer}=${name}`),
    ...['ingress.className=nginx', 'ingress.annotations.a=b', 'nodeSelector.disk=fast'],
    ...['tolerations[0].key=dedicated', 'mtls.askedBy=nodes', 'mtls.serviceAnnotations.a=b'],
  ].flatMap((value) => ['--set', value])
  const manifests = render('second', ...words)
  for (const manifest of manifests) {
    assertValid(manifest)
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
    [['live', 'sandbox'], ['live-mtls', 'sandbox-mtls'], ['internal'], ['metrics']],
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
