/**
 * The files in ops/ are what they claim to be: well-formed, by the schemas of their tools, and true of this
 * gateway.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { parse, parseAllDocuments } from 'yaml'
import { apiRoutes } from '../../src/api/routes.ts'
import { generateKey, printKey } from '../../src/crypto/vault.ts'
import { readConfig } from '../../src/settings/config.ts'
import { settings } from '../../src/settings/table.ts'
import { assetUrl } from '../../src/web/frame/assets.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { send } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { assertValid, leadsTo, type Manifest, readManifests } from '../support/manifests.ts'

const house = await openHouse()

const known = new Set(settings.map(({ name }) => name))
/** Read by Node itself. */
const ofNode = new Set(['NODE_ENV', 'NODE_COMPILE_CACHE'])
const { port: livePort } = readConfig({}).sites[0]!
const { port: sandboxPort } = readConfig({}).sites[1]!
const { port: internalPort } = readConfig({}).internal
const metricsPort = 9464
const ports = [livePort, sandboxPort, internalPort, metricsPort]

/** Requests of each listener may take their time one after the other, then attempts do. */
const drainSeconds = (3 * readConfig({}).limits.requestTimeoutMs) / 1000 + 10

const { version, files } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string
  files: string[]
}

const read = (name: string) => readFileSync(join('ops', name), 'utf8')

function assertSettings(names: Iterable<string>, where: string): void {
  for (const name of names) assert.ok(known.has(name) || ofNode.has(name), `${where}: ${name} is no setting`)
}

async function assertAnswers(path: string): Promise<void> {
  assert.equal((await send(house.baseUrl + path)).status, 200, path)
}

test('every YAML file is well-formed', () => {
  // Templates become YAML when helm has filled them.
  const files = readdirSync('ops', { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.yaml') && !name.includes('/templates/'),
  )
  assert.ok(files.length >= 7)
  for (const name of files) {
    const problems = parseAllDocuments(read(name), { merge: true }).flatMap(({ errors, warnings }) => [
      ...errors,
      ...warnings,
    ])
    assert.deepEqual(problems, [], name)
  }
})

const manifests = readManifests('ops/kubernetes')
const ofKind = (kind: Manifest['kind']) => manifests.filter((each) => each.kind === kind)

test('every manifest is valid by the schema of its kind', () => {
  manifests.forEach(assertValid)
  assert.throws(
    () => new Deployment({ spec: { replicas: 'two' } } as never).validate(),
    'the schemas do refuse',
  )
})

test('kubectl is led to every manifest, but not to the example of a secret', () => {
  const { resources } = parse(read('kubernetes/kustomization.yaml')) as { resources: string[] }
  const others = readdirSync('ops/kubernetes').filter((name) => !/^(kustomization|secret\.)/.test(name))
  assert.deepEqual(resources.toSorted(), others.toSorted())
})

test('the configuration that the manifests give is one the gateway takes', () => {
  const [{ data }] = ofKind('ConfigMap') as [Manifest]
  const [{ stringData }] = ofKind('Secret') as [Manifest]
  assertSettings([...Object.keys(data), ...Object.keys(stringData)], 'kubernetes')
  for (const { spec } of ofKind('Deployment')) {
    const { env } = spec.template.spec.containers[0]
    const given = Object.fromEntries(
      env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    )
    assertSettings(Object.keys(given), 'kubernetes')
    const config = readConfig({ ...data, ...stringData, ...given, SECRET_KEY: printKey(generateKey()) })
    assert.deepEqual(
      [...config.sites, config.internal, config.metrics!].map(({ port }) => port),
      ports,
    )
    assert.deepEqual([config.host, config.internal.host], ['0.0.0.0', '0.0.0.0'])
  }
})

test('probes ask for what there is, ports fit, and a pod that ends has the time it needs', async () => {
  for (const { spec, metadata } of ofKind('Deployment')) {
    const pod = spec.template.spec
    const [container] = pod.containers
    const named = new Map(
      container.ports.map((port: { name: string; containerPort: number }) => [port.name, port.containerPort]),
    )
    assert.deepEqual([...named.values()], ports)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const { path, port } = container[probe].httpGet
      assert.ok(named.has(port), `${metadata.name} ${probe}`)
      await assertAnswers(path)
    }
    const sleepSeconds = container.lifecycle.preStop.sleep.seconds
    assert.ok(pod.terminationGracePeriodSeconds >= sleepSeconds + drainSeconds)
    assert.deepEqual(
      [
        pod.securityContext.runAsNonRoot,
        container.securityContext.readOnlyRootFilesystem,
        pod.automountServiceAccountToken,
      ],
      [true, true, false],
    )
    assert.deepEqual(spec.selector.matchLabels, spec.template.metadata.labels)
    assert.equal(container.image, `countersign:${version}`)
  }
})

test('the ingress leads to the service, the service to the pods that answer', () => {
  const [service, internal] = ofKind('Service') as [Manifest, Manifest]
  const [ingress] = ofKind('Ingress') as [Manifest]
  const pods = ofKind('Deployment').find(({ metadata }) => metadata.name === 'countersign-api')!.spec.template
  for (const { spec } of [service, internal]) assert.deepEqual(spec.selector, pods.metadata.labels)
  assert.deepEqual(internal.spec.ports, [{ name: 'internal', port: internalPort, targetPort: 'internal' }])
  const names = service.spec.ports.map((port: { name: string }) => port.name)
  const [{ data }] = ofKind('ConfigMap') as [Manifest]
  for (const { host, http } of ingress.spec.rules) {
    for (const { backend } of http.paths) {
      const { name, port } = backend.service
      assert.equal(name, service.metadata.name)
      assert.ok(names.includes(port.name))
      const address = port.name === 'live' ? data.BASE_URL : data.SANDBOX_URL
      assert.equal(`https://${host}`, address)
    }
  }
})

test('each disruption budget holds the pods of its deployment', () => {
  const labels = (kind: Manifest['kind']) => ofKind(kind).map(({ spec }) => spec.selector.matchLabels)
  assert.deepEqual(labels('PodDisruptionBudget'), labels('Deployment'))
})

interface ComposeService {
  readonly environment: Record<string, string>
  readonly image: string
  readonly secrets?: readonly string[]
  readonly networks?: readonly string[]
  readonly volumes?: readonly string[]
  readonly depends_on?: readonly string[] | Record<string, unknown>
  readonly stop_grace_period?: string
}

const compose = parse(read('compose.yaml'), { merge: true }) as {
  services: Record<string, ComposeService>
  secrets: Record<string, unknown>
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } }>
  volumes: Record<string, unknown>
}

test('compose: whatever a service names is defined', () => {
  for (const [name, service] of Object.entries(compose.services)) {
    for (const secret of service.secrets ?? []) assert.ok(secret in compose.secrets, `${name}: ${secret}`)
    for (const network of service.networks ?? [])
      assert.ok(network in compose.networks, `${name}: ${network}`)
    const needed = service.depends_on ?? []
    for (const other of Array.isArray(needed) ? needed : Object.keys(needed))
      assert.ok(other in compose.services, other)
    for (const volume of service.volumes ?? []) {
      const [source] = volume.split(':') as [string]
      assert.ok(source.startsWith('./') ? existsSync(join('ops', source)) : source in compose.volumes, volume)
    }
  }
})

test('compose: the nodes are given settings that exist, secrets as files, and the proxy that they may trust', () => {
  const gateways = Object.entries(compose.services).filter(([, { image }]) => image === 'countersign')
  assert.deepEqual(
    gateways.map(([name, { environment }]) => [name, environment.ROLES]),
    [
      ['api', 'api'],
      ['worker', 'worker'],
    ],
  )
  for (const [name, { environment, secrets, stop_grace_period }] of gateways) {
    assertSettings(Object.keys(environment), name)
    for (const file of [environment.DATABASE_URL_FILE!, environment.SECRET_KEY_FILE!])
      assert.ok(secrets!.includes(file.replace('/run/secrets/', '')), file)
    assert.equal(environment.TRUST_PROXY, compose.networks.inside!.ipam!.config[0]!.subnet)
    assert.equal(Number(environment.METRICS_PORT), metricsPort)
    assert.ok(Number.parseInt(stop_grace_period!, 10) >= drainSeconds)
  }
})

test('compose: every node reaches providers and receivers, nobody comes to one but the proxy, and PostgreSQL stays inside', () => {
  const { api, worker, caddy, postgres } = compose.services
  const isInternal = (name: string) => compose.networks[name]!.internal === true
  for (const { networks } of [api!, worker!]) {
    assert.ok(networks!.some((name) => !isInternal(name)))
    assert.deepEqual(
      networks!.filter((name) => caddy!.networks!.includes(name)),
      ['inside'],
      'the range that TRUST_PROXY names is the only one that the proxy comes from',
    )
  }
  assert.ok(postgres!.networks!.every(isInternal))
  const published = Object.entries(compose.services).filter(([, service]) => 'ports' in service)
  assert.deepEqual(
    published.map(([name]) => name),
    ['caddy'],
  )
})

test('both proxies lead to the ports of the two sites', () => {
  const found = (name: string, pattern: RegExp) =>
    new Set([...read(name).matchAll(pattern)].map((match) => Number(match[1])))
  assert.deepEqual(found('Caddyfile', /import public (\d+)/g), new Set([livePort, sandboxPort]))
  assert.deepEqual(
    found('nginx.conf', /server [\d.]+:(\d+)/g),
    new Set([livePort, sandboxPort, internalPort]),
  )
  assert.match(read('nginx.conf'), /X-Forwarded-Proto \$scheme/)
})

const addresses = [...apiRoutes, ...pageRoutes].map(({ path }) => path)
const inside = apiRoutes.filter(({ environmentOf }) => environmentOf).map(({ path }) => path)
const outside = [
  ...addresses.filter((path) => !inside.includes(path)),
  '/openapi.json',
  assetUrl('countersign.css'),
]

test('no proxy publishes the internal listener, and each publishes all the rest', () => {
  assert.ok(inside.length > 0)
  const [publicServer, insideServer] = read('nginx.conf')
    .split(/^server \{/m)
    .slice(1) as [string, string]
  assert.doesNotMatch(publicServer, /countersign_internal/)
  assert.match(publicServer, /location \/ \{/)
  assert.match(insideServer, /listen 10\.\d+\.\d+\.\d+:8443 ssl;/)
  assert.doesNotMatch(insideServer, /countersign_(live|sandbox|site)/)
  assert.deepEqual(
    [...insideServer.matchAll(/location (\S+) \{/g)].map((match) => match[1]),
    ['/', '/internal/v1/imports'],
  )

  const sites = read('Caddyfile')
    .split(/^\{\$\w+\} \{/m)
    .slice(1)
  assert.equal(sites.length, 2)
  for (const site of sites) assert.match(site, /^\s+import public \w+/)

  for (const { host, http } of (ofKind('Ingress')[0] as Manifest).spec.rules) {
    const leads = (address: string) => leadsTo(http.paths, address)
    for (const address of outside) assert.ok(leads(address), `${host} does not lead to ${address}`)
    for (const address of [...inside, '/internal', '/admin', '/metrics'])
      assert.ok(!leads(address), `${host}${address}`)
  }
})

/** Of the location that nginx would choose: the longest that the address begins with. */
function bodyLimitOf(server: string, address: string): string {
  const locations = [...server.matchAll(/location (\S+) \{([^}]*)\}/g)].map(([, prefix, inner]) => ({
    prefix,
    inner,
  }))
  const chosen = locations
    .filter(({ prefix }) => address.startsWith(prefix!))
    .toSorted((a, b) => b.prefix!.length - a.prefix!.length)[0]!
  const size = /client_max_body_size\s+(\w+);/
  return (size.exec(chosen.inner!) ?? size.exec(server))![1]!
}

test('nginx lets through what the gateway takes: logos, batches of events, and imports of any size as they come', () => {
  const [publicServer, insideServer] = read('nginx.conf')
    .split(/^server \{/m)
    .slice(1) as [string, string]
  const withFiles = pageRoutes.filter(({ definition }) => (definition?.takesFiles ?? 0) > 0)
  assert.ok(withFiles.length >= 2)
  for (const { path, definition } of withFiles) {
    const [, count, unit] = /^(\d+)([km])$/.exec(bodyLimitOf(publicServer, path))!
    assert.ok(Number(count) * (unit === 'm' ? 1024 : 1) * 1024 > definition!.takesFiles, path)
  }
  assert.equal(bodyLimitOf(publicServer, '/v2/webhooks'), '64k')

  assert.equal(bodyLimitOf(insideServer, '/internal/v1/events'), '2m')
  const withLines = apiRoutes.filter(({ takes }) => takes === 'lines').map(({ path }) => path)
  assert.ok(withLines.length >= 2)
  for (const path of withLines) assert.equal(bodyLimitOf(insideServer, path), '0', path)
  assert.match(
    insideServer,
    /location \/internal\/v1\/imports \{[^}]*proxy_request_buffering off;[^}]*proxy_read_timeout\s+1h;/,
  )
})

test('the image copies what there is, keeps what is needed, exposes the ports and runs as nobody special', async () => {
  const text = read('Dockerfile')
  const allowed = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) => match[1]!.split(' '))
  for (const path of copied) {
    assert.ok(existsSync(path), path)
    assert.ok(allowed.includes(`!${path}`), `.dockerignore keeps ${path} out`)
  }
  for (const path of files) assert.match(text, new RegExp(`${path} ${path}$`, 'm'), `the image lacks ${path}`)
  assert.deepEqual(/^EXPOSE (.+)$/m.exec(text)![1]!.split(' ').map(Number), ports)
  assertSettings(
    [...text.matchAll(/^ENV (\w+)=/gm)].map((match) => match[1]!),
    'Dockerfile',
  )
  assert.match(text, /^USER 1000:1000$/m)
  const stages = [...text.matchAll(/^FROM node:(\d+)/gm)].map((match) => Number(match[1]))
  assert.deepEqual(new Set(stages), new Set([24]))
  await assertAnswers(/HEALTHCHECK[\s\S]*?(\/healthz)/.exec(text)![1]!)
})

test('the image of the release is the one of the sources: the same Node, and from there on the same', () => {
  const [sources, released] = ['Dockerfile', 'release/Dockerfile'].map(read) as [string, string]
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const bases = [sources, released].map((text) =>
    [...text.matchAll(/^FROM (\S+)/gm)].map((match) => match[1]!),
  )
  assert.deepEqual(new Set(bases.flat()), new Set([`node:${devDependencies.node}-bookworm-slim`]))
  const [, ofSources] = sources.split(/^COPY public public$/m)
  const [, ofReleased] = released.split(/^COPY --from=build .+$/m)
  assert.equal(ofReleased, ofSources)
})

const unit = read('countersign.service')

test('the unit gives settings that exist and waits for the drain', () => {
  const names = [...unit.matchAll(/^Environment=(\w+)=/gm)].map((match) => match[1]!)
  assert.ok(names.length >= 4)
  assertSettings(names, 'countersign.service')
  assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]) >= drainSeconds)
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd takes the unit', { skip: hasSystemd ? false : 'there is no systemd here' }, () => {
  const { stderr } = spawnSync('systemd-analyze', ['verify', 'ops/countersign.service'], { encoding: 'utf8' })
  const complaints = stderr.split('\n').filter((line) => line.includes('countersign.service'))
  // Node need not be where the unit looks for it.
  assert.deepEqual(
    complaints.filter((line) => !/is not executable/.test(line)),
    [],
  )
})
