/** Clients that show certificates, in Kubernetes: ops/mutual-tls beside ops/kubernetes. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { apiRoutes } from '../../src/api/routes.ts'
import { generateKey, printKey } from '../../src/crypto/vault.ts'
import { readConfig } from '../../src/settings/config.ts'
import { settings } from '../../src/settings/table.ts'
import { makeCertificate } from '../support/certificate.ts'
import { skipWithout } from '../support/installed.ts'
import { assertValid, buildByKubectl, byName, leadsTo, type Manifest } from '../support/manifests.ts'
import { makeFolder } from '../support/process.ts'

const folderOf = (name: string) => join('ops/mutual-tls', name)
const overlays = readdirSync('ops/mutual-tls').filter((name) => name.startsWith('kubernetes-'))
const read = (...path: readonly string[]) => readFileSync(join('ops', ...path), 'utf8')
const dataOf = (...path: readonly string[]) => (parse(read(...path)) as { data: Record<string, string> }).data

const folder = makeFolder()
const { cert, key } = makeCertificate(['localhost'], new Date('2020-01-01'), new Date('2049-01-01'))
writeFileSync(join(folder, 'tls.crt'), cert)
writeFileSync(join(folder, 'tls.key'), key)

/** As a pod reads them, whose volumes are this folder. */
function configOf(data: Readonly<Record<string, string>>) {
  const entries = Object.entries(data).map(([name, value]) => [
    name,
    value.replace('/etc/countersign/tls', folder),
  ])
  const secrets = { DATABASE_URL: 'postgresql://db/countersign', SECRET_KEY: printKey(generateKey()) }
  return readConfig({ ...Object.fromEntries(entries), ...secrets })
}

test('each is ops/kubernetes and all files of its own, with settings that the gateway takes', () => {
  assert.deepEqual(overlays, ['kubernetes-ingress', 'kubernetes-nodes'])
  const known = new Set(settings.map(({ name }) => name))
  for (const overlay of overlays) {
    const { resources, patches } = parse(read('mutual-tls', overlay, 'kustomization.yaml')) as {
      resources: string[]
      patches: { path: string }[]
    }
    const own = [...resources.slice(1), ...patches.map(({ path }) => path)]
    assert.equal(resources[0], '../../kubernetes')
    assert.deepEqual([...own, 'kustomization.yaml'].toSorted(), readdirSync(folderOf(overlay)).toSorted())
    const data = dataOf('mutual-tls', overlay, 'settings.yaml')
    for (const name of Object.keys(data)) assert.ok(known.has(name), name)
    const { sites, mtls } = configOf({ ...dataOf('kubernetes', 'settings.yaml'), ...data })
    const byNodes = overlay === 'kubernetes-nodes'
    assert.equal(mtls.proxyHeader, !byNodes)
    assert.deepEqual(
      sites.map(({ mtlsPort, mtlsUrl }) => [mtlsPort, mtlsUrl]),
      [
        [byNodes ? 8443 : undefined, 'https://mtls.api.example.com'],
        [byNodes ? 8444 : undefined, 'https://mtls.sandbox.example.com'],
      ],
    )
  }
})

test('without them nobody is asked for a certificate', () => {
  const { sites, mtls } = configOf(dataOf('kubernetes', 'settings.yaml'))
  assert.deepEqual(
    [mtls.proxyHeader, ...sites.map(({ mtlsPort }) => mtlsPort)],
    [false, undefined, undefined],
  )
})

const skip = skipWithout('kubectl', 'version', '--client')

function build(overlay: string): Record<string, Manifest> {
  const manifests = buildByKubectl(folderOf(overlay))
  manifests.forEach(assertValid)
  return byName(manifests)
}

test('nodes that ask for certificates end TLS for probes and for the ingress, and have services of their own', {
  skip,
}, () => {
  const built = build('kubernetes-nodes')
  const config = configOf(built['ConfigMap countersign']!.data)
  for (const role of ['api', 'worker']) {
    const { containers, volumes } = built[`Deployment countersign-${role}`]!.spec.template.spec
    const [container] = containers
    const ports = new Map(
      container.ports.map((port: { name: string; containerPort: number }) => [port.name, port.containerPort]),
    )
    assert.deepEqual(
      ['live', 'live-mtls', 'sandbox', 'sandbox-mtls'].map((name) => ports.get(name)),
      config.sites.flatMap(({ port, mtlsPort }) => [port, mtlsPort]),
    )
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const { scheme, port } = container[probe].httpGet
      assert.deepEqual([scheme, port], ['HTTPS', 'live'])
    }
    assert.deepEqual(container.volumeMounts, [
      { name: 'tls', mountPath: '/etc/countersign/tls', readOnly: true },
    ])
    assert.deepEqual(volumes, [{ name: 'tls', secret: { secretName: 'countersign-tls' } }])
  }
  const sites = built['Service countersign']!.spec
  assert.deepEqual(
    sites.ports.map(({ name, appProtocol }: Record<string, string>) => [name, appProtocol]),
    [
      ['live', 'https'],
      ['sandbox', 'https'],
    ],
  )
  for (const [name, port] of [
    ['countersign-mtls', 'live-mtls'],
    ['countersign-mtls-sandbox', 'sandbox-mtls'],
  ]) {
    const { selector, ports, externalTrafficPolicy } = built[`Service ${name}`]!.spec
    assert.deepEqual(selector, sites.selector)
    assert.deepEqual(ports, [{ name: port, port: 443, targetPort: port }])
    assert.equal(externalTrafficPolicy, 'Local', 'addresses of the cluster may be trusted as proxies')
  }
})

test('an ingress that asks for certificates leads to the interface alone: browsers would ask people for one', {
  skip,
}, () => {
  const built = build('kubernetes-ingress')
  const { spec } = built['Ingress countersign-mtls']!
  const { data } = built['ConfigMap countersign']!
  assert.deepEqual(
    spec.rules.map(({ host }: { host: string }) => `https://${host}`),
    [data.MTLS_URL, data.SANDBOX_MTLS_URL],
  )
  for (const [index, { http }] of spec.rules.entries()) {
    for (const { path, environmentOf } of apiRoutes.filter(({ path }) => path !== '/openapi.json'))
      assert.equal(leadsTo(http.paths, path), environmentOf === undefined, path)
    for (const page of [
      '/',
      '/openapi.json',
      '/login',
      '/consent',
      '/account',
      '/partner',
      '/console',
      '/assets',
    ])
      assert.ok(!leadsTo(http.paths, page), page)
    for (const { backend } of http.paths)
      assert.deepEqual(backend.service, { name: 'countersign', port: { name: ['live', 'sandbox'][index] } })
  }
})
