/** What Kubernetes is told, held to the schema of its kind. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'
import { parseAllDocuments } from 'yaml'

const models = {
  ConfigMap,
  Deployment,
  Ingress,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Secret,
  Service,
}

export interface Manifest {
  readonly kind: keyof typeof models
  readonly metadata: { readonly name: string }
  // biome-ignore lint/suspicious/noExplicitAny: validated by the schema of its kind
  readonly [field: string]: any
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS({ maxAliasCount: -1 }) as Manifest | null)
    .filter((each) => each !== null)
}

/** Of all files but the one that lists them. */
export function readManifests(folder: string): Manifest[] {
  return readdirSync(folder)
    .filter((name) => name !== 'kustomization.yaml')
    .flatMap((name) => parseManifests(readFileSync(join(folder, name), 'utf8')))
}

/** Of a folder with a kustomization.yaml. */
export function buildByKubectl(folder: string): Manifest[] {
  return parseManifests(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' }))
}

export function assertValid(manifest: Manifest): void {
  const model = new models[manifest.kind](manifest as never)
  assert.doesNotThrow(() => model.validate(), `${manifest.kind} ${manifest.metadata.name}`)
}

export const byName = (manifests: readonly Manifest[]) =>
  Object.fromEntries(manifests.map((each) => [`${each.kind} ${each.metadata.name}`, each]))

interface Path {
  readonly path: string
  readonly pathType: string
}

/** Whether a rule of an ingress leads to an address. */
export function leadsTo(paths: readonly Path[], address: string): boolean {
  return paths.some(({ path, pathType }) =>
    pathType === 'Exact' ? address === path : address === path || address.startsWith(`${path}/`),
  )
}
