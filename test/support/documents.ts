/** Documents in folders, and the commands that bring them about, as processes of their own. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AdminProgram } from './administration.ts'
import { makeUpWord } from './made-up-word.ts'
import { makeFolder, type Program, startProgram } from './process.ts'

export function runWith(by: AdminProgram, words: readonly string[], url = by.url): Program {
  return startProgram(words, { COUNTERSIGN_ADMIN_URL: url, COUNTERSIGN_ADMIN_CREDENTIAL: by.credential })
}

export async function finishWith(by: AdminProgram, words: readonly string[], url?: string) {
  const started = runWith(by, words, url)
  const { code } = await started.ended
  const { stdout, stderr } = started
  return { code, stdout, stderr, text: stdout + stderr }
}

export interface Documented {
  readonly kind: string
  readonly name: string
  readonly owner?: string | null
  readonly spec: Readonly<Record<string, unknown>>
}

/** A folder with a file of these. JSON is YAML. */
export function folderOf(documents: readonly Documented[]): string {
  const folder = makeFolder()
  writeFileSync(join(folder, 'house.yaml'), documents.map((each) => JSON.stringify(each)).join('\n---\n'))
  return folder
}

export const owner = () => `o-${makeUpWord()}`

export const partnersOf = (label: string, count: number, state?: string): Documented[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ kind: 'partner', name: `${label}-${n}`, owner: label },
    spec: { displayName: `Partner ${label} ${n}`, ...(state !== undefined && { state }) },
  }))

export const clientOf = (partner: string, more: object = {}): Documented => ({
  ...{ kind: 'client', name: `${partner}-app`, owner: partner.replace(/-\d+$/, '') },
  spec: {
    ...{ partner, displayName: `App ${partner}`, callbackUrl: 'https://app.example/callback' },
    ...{ scopes: ['read'], ...more },
  },
})

/** What carries the label. */
export async function listOf(by: AdminProgram, label: string, kind = 'partners') {
  const answer = await by.call('GET', `/admin/v1/${kind}?owner=${label}&limit=100`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ items: { name: string; spec: Record<string, unknown> }[] }>().items
}
