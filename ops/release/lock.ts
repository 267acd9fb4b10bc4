/** What package-lock.json says of production: what is installed where nothing is developed. */

export interface LockedPackage {
  readonly name?: string
  readonly version: string
  readonly license?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface Lock {
  readonly name: string
  readonly version: string
  /** By their folders; the package itself has none. */
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export function withoutDevelopment(lock: Lock): Lock {
  const kept = Object.entries(lock.packages).filter(([, { dev }]) => !dev)
  const packages = kept.map(([folder, locked]) => [folder, folder === '' ? installed(locked) : locked])
  return { ...lock, packages: Object.fromEntries(packages) }
}

/** A manifest as it is installed: nobody develops there. */
export function installed<Manifest extends object>(manifest: Manifest): Manifest {
  const kept = Object.entries(manifest).filter(([name]) => !['devDependencies', 'overrides'].includes(name))
  return Object.fromEntries(kept) as Manifest
}
