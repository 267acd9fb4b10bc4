/** Members of JSON that another program printed, each of its type, or not there. */
export type JsonObject = Readonly<Record<string, unknown>>

export class NotUnderstood extends Error {}

export function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {}
  throw new NotUnderstood('It is no JSON object.')
}

export function findText(from: JsonObject, name: string): string | undefined {
  const value = from[name]
  if (value === undefined || typeof value === 'string') return value
  throw new NotUnderstood(`Its ${name} is no text.`)
}

export function getText(from: JsonObject, name: string): string {
  const value = findText(from, name)
  if (value === undefined) throw new NotUnderstood(`It has no ${name}.`)
  return value
}

export function findNumber(from: JsonObject, name: string): number | undefined {
  const value = from[name]
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
  throw new NotUnderstood(`Its ${name} is no number.`)
}

export function findTexts(from: JsonObject, name: string): string[] | undefined {
  const value = from[name]
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw new NotUnderstood(`Its ${name} is no list of texts.`)
}
