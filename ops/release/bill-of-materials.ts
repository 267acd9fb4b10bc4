/**
 * CycloneDX 1.6: what is in the package beside it, from the lock file. It says nothing of the moment or of
 * the machine that it was made on.
 */
import { createHash } from 'node:crypto'
import type { Lock, LockedPackage } from './lock.ts'

/** `lock` has production alone. */
export function printBillOfMaterials(lock: Lock): string {
  const folders = Object.keys(lock.packages).filter((folder) => folder !== '')
  const components = folders.map((folder) => describeComponent(nameOf(folder, lock), lock.packages[folder]!))
  const root = {
    type: 'application',
    'bom-ref': referTo(lock.name, lock.version),
    name: lock.name,
    version: lock.version,
    ...licensed(lock.packages['']!),
    purl: referTo(lock.name, lock.version),
  }
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { lifecycles: [{ phase: 'build' }], component: root },
    components: inOrder(components, (component) => component['bom-ref']),
    dependencies: inOrder(listDependencies(lock), ({ ref }) => ref),
  }
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bill))}`
  const { $schema, bomFormat, specVersion, ...rest } = bill
  return `${JSON.stringify({ $schema, bomFormat, specVersion, serialNumber, ...rest }, undefined, 2)}\n`
}

/** The same version may lie in two folders. */
function inOrder<Value>(values: readonly Value[], refOf: (value: Value) => string): Value[] {
  const byRef = new Map(values.map((value) => [refOf(value), value]))
  return [...byRef.keys()].sort().map((ref) => byRef.get(ref)!)
}

function describeComponent(name: string, locked: LockedPackage) {
  const [group, bare] = name.startsWith('@') ? name.split('/') : [undefined, name]
  const [algorithm, digest] = (locked.integrity ?? '').split('-')
  return {
    type: 'library',
    'bom-ref': referTo(name, locked.version),
    ...(group && { group }),
    name: bare!,
    version: locked.version,
    scope: locked.optional ? 'optional' : 'required',
    ...(algorithm === 'sha512' && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest!, 'base64').toString('hex') }],
    }),
    ...licensed(locked),
    purl: referTo(name, locked.version),
  }
}

const licensed = ({ license }: LockedPackage) => (license ? { licenses: [{ license: { id: license } }] } : {})

const referTo = (name: string, version: string) => `pkg:npm/${name.replace('@', '%40')}@${version}`

/** `node_modules/a/node_modules/@b/c` is `@b/c`, unless it was installed under another name. */
function nameOf(folder: string, { packages }: Lock): string {
  return packages[folder]!.name ?? folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function listDependencies(lock: Lock): { ref: string; dependsOn: string[] }[] {
  return Object.entries(lock.packages).map(([folder, locked]) => {
    const wanted = Object.keys({
      ...locked.dependencies,
      ...locked.optionalDependencies,
      ...locked.peerDependencies,
    })
    const found = wanted.map((name) => resolve(folder, name, lock)).filter((each) => each !== undefined)
    const refs = found.map((each) => referTo(nameOf(each, lock), lock.packages[each]!.version))
    const name = folder === '' ? lock.name : nameOf(folder, lock)
    return { ref: referTo(name, locked.version), dependsOn: [...new Set(refs)].sort() }
  })
}

/** As Node looks for it: in the folder itself, then in each above it. */
function resolve(folder: string, name: string, lock: Lock): string | undefined {
  const inside = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
  if (inside in lock.packages) return inside
  if (folder === '') return undefined
  return resolve(folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1)), name, lock)
}

/** Of version 8: made of what it names. */
function uuidOf(text: string): string {
  const digest = createHash('sha256').update(text).digest()
  digest[6] = (digest[6]! & 0x0f) | 0x80
  digest[8] = (digest[8]! & 0x3f) | 0x80
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
