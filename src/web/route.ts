/**
 * Rows of the pages' table: `page` and `form` say path, gate and what happens; `tableOf` makes routes of
 * them.
 */
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { imageMostBytes } from '../brands/image.ts'
import type { Context } from '../context.ts'
import { addFileParser } from '../http/body.ts'
import type { OperationSchema } from '../http/described-route.ts'
import type { Form } from '../http/form.ts'
import { Invalid } from '../problem.ts'
import { type Environment, environments } from '../vocabulary/environment.ts'
import { findLongFields } from './frame/field-lengths.ts'
import { asksForStream } from './frame/live.ts'
import { pageHeaders } from './frame/page.ts'
import { setPlace } from './frame/place.ts'
import { isMendable, showAgain } from './frame/refused-form.ts'
import { paramsOf, type Visit } from './frame/visit.ts'
import type { Gate } from './gates/gates.ts'

type GateValues = readonly unknown[]

export interface Row {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly gate: Gate<GateValues, GateValues>
  /** Where it exists. A row is of the live site alone unless it says otherwise. */
  readonly sites: readonly Environment[]
  /**
   * Of a page that belongs to the interface, for its readers: faults are answered with a page or a redirect
   * of its own.
   */
  readonly schema: OperationSchema | undefined
  /**
   * A form that makes something new: however often it is sent, there is one of it (frame/submission.ts, or a
   * constraint of what it makes).
   */
  readonly makes?: true
  /** A form that brings files along. */
  readonly takesFiles?: true
  /**
   * The page that a form is on, where that is not the nearest above it; with what its address asks by fields
   * of the form.
   */
  readonly heldBy?: string | undefined
  /** Through the gate, and then what the row is for. */
  handle(visit: Visit, heldBy: string): Promise<unknown>
}

type PageValues<Named> = Named extends Gate<infer Values extends GateValues, GateValues> ? Values : never
type FormValues<Named> = Named extends Gate<GateValues, infer Values extends GateValues> ? Values : never

/** A handler takes what its gate proves: one that needs more does not type-check in the row. */
export function page<Named extends Gate<GateValues, GateValues>>(
  path: string,
  gate: Named,
  show: (visit: Visit, ...shown: PageValues<Named>) => Promise<unknown>,
  schema?: OperationSchema,
): Row {
  const handle = async (visit: Visit) => {
    const shown = (await gate.show(visit, fill(path, paramsOf(visit.request)))) as
      | PageValues<Named>
      | undefined
    return shown ? show(visit, ...shown) : visit.reply
  }
  return { method: 'GET', path, gate, sites: ['live'], schema, handle }
}

export function form<Named extends Gate<GateValues, GateValues>>(
  path: string,
  gate: Named,
  act: (visit: Visit, ...sent: FormValues<Named>) => Promise<unknown>,
  heldBy?: string,
): Row {
  const handle = async (visit: Visit, holder: string) => {
    const sent = (await gate.take(visit, holder)) as FormValues<Named> | undefined
    return sent ? act(visit, ...sent) : visit.reply
  }
  return { method: 'POST', path, gate, sites: ['live'], schema: undefined, heldBy, handle }
}

export function makes(form: Row): Row {
  return { ...form, makes: true }
}

/** As large as what it takes, with room for the rest of the form. */
const filesMostBytes = imageMostBytes + 16 * 1024

export function withFiles(form: Row): Row {
  return { ...form, takesFiles: true }
}

/**
 * What a page or a form of the sandbox reads and changes is of the sandbox: its handler looks at
 * `context.environment`.
 */
export function onBothSites(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => ({ ...row, sites: environments }))
}

/** What needs neither a server nor money. */
export function inSandboxAlone(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => ({ ...row, sites: ['sandbox'] }))
}

export interface PageRoute extends Row {
  readonly errors: 'page'
  readonly takes: 'form'
  readonly heldBy: string
  register(app: FastifyInstance, context: Context): void
}

export function tableOf(rows: readonly Row[]): readonly PageRoute[] {
  return rows.map((row) => {
    const heldBy = holderOf(row, rows)
    const holder = rows.find(({ method, path }) => method === 'GET' && path === heldBy)
    const onBoth = onBothOf(heldBy, rows)
    return {
      ...row,
      errors: 'page',
      takes: 'form',
      heldBy,
      register(app, context) {
        const route: RouteOptions = {
          method: row.method,
          url: row.path,
          config: { errors: 'page' },
          async handler(request, reply) {
            const visit = {
              context: contextFor(context, request),
              request,
              reply: reply.headers(pageHeaders()),
            }
            const brand = await context.brands.find(context.environment)
            setPlace(reply, { onOtherSite: context.sisterUrl + fill(onBoth, paramsOf(request)), brand })
            return row.method === 'GET' ? row.handle(visit, heldBy) : takeForm(visit, row, holder, heldBy)
          },
        }
        if (row.takesFiles) registerWithFiles(app, route)
        else app.route(route)
      },
    }
  })
}

/** No other address reads such a body. */
function registerWithFiles(app: FastifyInstance, route: RouteOptions): void {
  void app.register(async (scope) => {
    addFileParser(scope)
    scope.route({ ...route, bodyLimit: filesMostBytes })
  })
}

/**
 * A form that is refused for what is in it is shown again by its page, with what was typed and what is wrong.
 */
async function takeForm(visit: Visit, row: Row, holder: Row | undefined, heldBy: string): Promise<unknown> {
  const [, asked] = row.heldBy?.split('?') ?? []
  const address = fill(heldBy, paramsOf(visit.request)) + fillQuery(asked, (visit.request.body ?? {}) as Form)
  try {
    const long = findLongFields(row.path, (visit.request.body ?? {}) as Form)
    if (long.length > 0) throw new Invalid(long)
    return await row.handle(visit, address)
  } catch (error) {
    // Where the gate proves nothing of the visitor, the page tells the refusal by itself.
    if (!holder || row.gate.who === 'anyone' || !isMendable(visit, error)) throw error
    return showAgain(visit, error, address, (again) => holder.handle(again, heldBy))
  }
}

/** A form is on the nearest page above it: the longest address that its own begins with. */
function holderOf({ path, heldBy = path }: Row, rows: readonly Row[]): string {
  const named = `${heldBy.split('?')[0]}/`
  const above = rows
    .filter((row) => row.method === 'GET' && named.startsWith(`${row.path}/`))
    .map((row) => row.path)
  return above.sort((one, other) => other.length - one.length)[0] ?? path
}

/**
 * The nearest page that both sites have: what has a number on one of them is something else on the other, but
 * for a partner.
 */
function onBothOf(path: string, rows: readonly Row[]): string {
  const isThere = (row: Row) =>
    row.method === 'GET' &&
    row.gate.who !== 'anyone' &&
    row.sites.length > 1 &&
    !/:(?!branch\b)/.test(row.path)
  const above = rows
    .filter((row) => isThere(row) && `${path}/`.startsWith(`${row.path}/`))
    .map((row) => row.path)
  return above.sort((one, other) => other.length - one.length)[0] ?? '/'
}

/** `/partner/:branch` → `/partner/7`, as this request names it. */
function fill(path: string, params: Readonly<Record<string, string>>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '')
}

/** `kind=:type` → `?kind=TRANSACTION`, as the form says; what it does not say is not asked. */
function fillQuery(template: string | undefined, form: Form): string {
  const pairs = [...new URLSearchParams(template)].flatMap(([name, field]): [string, string][] => {
    const value = form[field.slice(1)]
    return typeof value === 'string' && value !== '' ? [[name, value]] : []
  })
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** A page that changes by itself asks again and again: on connections of its own. */
function contextFor(context: Context, request: FastifyRequest): Context {
  return asksForStream(request) ? { ...context, db: context.streamDb } : context
}

type Handler = (...words: never[]) => Promise<unknown>

type HandlersOf<Pages> = {
  readonly [Name in keyof Pages as Pages[Name] extends Handler ? Name : never]: Pages[Name]
}

/**
 * What the module exports, by the same names, loaded by its first visitor: a start does not wait for pages,
 * and a node that speaks to machines alone never holds them.
 */
export function whenVisited<Pages extends object>(load: () => Promise<Pages>): HandlersOf<Pages> {
  const handlerOf =
    (_pages: object, name: string | symbol) =>
    async (...words: never[]) => {
      const pages = await load()
      return (pages[name as keyof Pages] as Handler)(...words)
    }
  return new Proxy({}, { get: handlerOf }) as HandlersOf<Pages>
}
