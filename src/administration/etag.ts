/**
 * A version that says of each field by itself whether it is the same: a caller whose version is of before is
 * told which fields have moved, and nothing has to be kept for that.
 */
import { isDeepStrictEqual } from 'node:util'
import { sha256 } from '../crypto/hash.ts'

type NamedFields = Readonly<Record<string, unknown>>

const letters = 8

const markOf = (value: unknown) =>
  sha256(JSON.stringify(value) ?? '')
    .toString('base64url')
    .slice(0, letters)

export function printEtag(fields: NamedFields): string {
  return `"${Object.values(fields).map(markOf).join('.')}"`
}

/** Fields that are another than the version was of: all of them where it is no version of these. */
export function findMoved(etag: string, fields: NamedFields): string[] {
  const marks = etag.replaceAll(/^(?:W\/)?"|"$/g, '').split('.')
  const names = Object.keys(fields)
  if (marks.length !== names.length) return names
  return names.filter((name, place) => markOf(fields[name]) !== marks[place])
}

export function findChanged(before: NamedFields, after: NamedFields): string[] {
  return Object.keys(after).filter((name) => !isDeepStrictEqual(before[name], after[name]))
}
