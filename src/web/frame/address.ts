/** Addresses of rows of the table, with what they name filled in. */
import type { Form } from '../../http/form.ts'

export type Params = Readonly<Record<string, string | number>>

/** `/partner/:branch` → `/partner/7`, as this request names it. */
export function fillPath(path: string, params: Params): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => String(params[name] ?? ''))
}

/** `kind=:type` → `?kind=TRANSACTION`, as the form says; what it does not say is not asked. */
export function fillQuery(template: string | undefined, form: Form): string {
  const pairs = [...new URLSearchParams(template)].flatMap(([name, field]): [string, string][] => {
    const value = form[field.slice(1)]
    return typeof value === 'string' && value !== '' ? [[name, value]] : []
  })
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}
