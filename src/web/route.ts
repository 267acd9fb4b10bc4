/**
 * Rows of the pages' table: `page` and `send` say path or form, gate and what happens; `tableOf` makes routes of
 * them.
 */
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { Context } from '../context.ts'
import { addFileParser } from '../http/body.ts'
import type { OperationSchema } from '../http/described-route.ts'
import type { Form } from '../http/form.ts'
import { Invalid } from '../problem.ts'
import { type Environment, environments } from '../vocabulary/environment.ts'
import { fillPath, fillQuery } from './frame/address.ts'
import { readZone } from './frame/cookies.ts'
import {
  type Fields,
  type FormDefinition,
  findLongFields,
  readSubmission,
  readTyped,
  type Submission,
} from './frame/form.ts'
import { asksForStream } from './frame/live.ts'
import { inSandbox, onLiveSite } from './frame/other-site.ts'
import { pageHeaders } from './frame/page.ts'
import { setPlace } from './frame/place.ts'
import { isMendable, showAgain } from './frame/refused-form.ts'
import { paramsOf, type Visit } from './frame/visit.ts'
import { currentSession } from './frame/visitor.ts'
import type { Gate } from './gates/gates.ts'

type GateValues = readonly unknown[]

export interface Row {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly gate: Gate<GateValues>
  /** Where it exists. A row is of the live site alone unless it says otherwise. */
  readonly sites: readonly Environment[]
  /**
   * Of a page that belongs to the interface, for its readers: faults are answered with a page or a redirect
   * of its own.
   */
  readonly schema: OperationSchema | undefined
  /** Of a form: what is in it. */
  readonly definition?: FormDefinition | undefined
  /** Through the gate, and then what the row is for. */
  handle(visit: Visit, heldBy: string): Promise<unknown>
}

type ValuesOf<Named> = Named extends Gate<infer Values extends GateValues> ? Values : never

/** A handler takes what its gate proves: one that needs more does not type-check in the row. */
export function page<Named extends Gate<GateValues>>(
  path: string,
  gate: Named,
  show: (visit: Visit, ...shown: ValuesOf<Named>) => Promise<unknown>,
  schema?: OperationSchema,
): Row {
  const handle = async (visit: Visit) => {
    const shown = (await gate.show(visit, fillPath(path, paramsOf(visit.request)))) as
      | ValuesOf<Named>
      | undefined
    return shown ? show(visit, ...shown) : visit.reply
  }
  return { method: 'GET', path, gate, sites: ['live'], schema, handle }
}

/** A handler takes what its gate proves, and the form with its fields read. */
export function send<Named extends Gate<GateValues>, Has extends Fields>(
  definition: FormDefinition<Has>,
  gate: Named,
  act: (visit: Visit, ...sent: [...ValuesOf<Named>, Submission<FormDefinition<Has>>]) => Promise<unknown>,
): Row {
  const handle = async (visit: Visit, holder: string) => {
    const taken = (await gate.take(visit, holder)) as ValuesOf<Named> | undefined
    return taken ? act(visit, ...taken, readSubmission(definition, bodyOf(visit))) : visit.reply
  }
  return {
    method: 'POST',
    path: definition.path,
    gate,
    sites: ['live'],
    schema: undefined,
    definition,
    handle,
  }
}

function bodyOf({ request }: Visit): Form {
  return (request.body ?? {}) as Form
}

/** Of a form that brings a file, the rest. */
const besideFileBytes = 16 * 1024

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

type FormRow = Row & { readonly definition: FormDefinition }

function isForm(row: Row): row is FormRow {
  return row.definition !== undefined
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
    const hasPage = rows.some(({ method, path }) => method === 'GET' && path === row.path)
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
              address: request.url,
              query: request.query as Form,
            }
            const brand = await context.brands.find(context.environment)
            const onOther = fillPath(onBoth, paramsOf(request))
            setPlace(reply, {
              onOtherSite: (context.environment === 'live' ? inSandbox : onLiveSite)(context, onOther),
              brand,
              zone: readZone(context, request),
              now: context.clock.now(),
            })
            return isForm(row) ? takeForm(visit, row, holder, heldBy) : row.handle(visit, heldBy)
          },
        }
        const files = row.definition?.takesFiles ?? 0
        if (files > 0) registerWithFiles(app, context, { ...route, bodyLimit: files + besideFileBytes })
        else app.route(route)
        if (holder && !hasPage) leadToHolder(app, row.path, heldBy)
      },
    }
  })
}

/**
 * The address of a form in the bar of a browser, which stays there after a refusal: asked for anew, it is the
 * page that the form is on. That page has the gate.
 */
function leadToHolder(app: FastifyInstance, path: string, heldBy: string): void {
  app.get(path, { config: { errors: 'page' } }, (request, reply) => {
    const named = Object.entries(paramsOf(request)).map(([name, value]) => [name, encodeURIComponent(value)])
    return reply.headers(pageHeaders()).redirect(fillPath(heldBy, Object.fromEntries(named)), 303)
  })
}

/** No other address reads such a body, and a long one of whoever is not signed in is not read. */
function registerWithFiles(app: FastifyInstance, context: Context, route: RouteOptions): void {
  const isKnown = async (request: FastifyRequest) =>
    (await currentSession(contextFor(context, request), request)) !== undefined
  void app.register(async (scope) => {
    addFileParser(scope, isKnown)
    scope.route(route)
  })
}

/**
 * A form that is refused for what is in it is shown again by its page, with what was typed and what is wrong.
 */
async function takeForm(
  visit: Visit,
  { definition, handle }: FormRow,
  holder: Row | undefined,
  heldBy: string,
): Promise<unknown> {
  const body = bodyOf(visit)
  const [, asked] = definition.heldBy?.split('?') ?? []
  const address = fillPath(heldBy, paramsOf(visit.request)) + fillQuery(asked, body)
  const sent = readTyped(definition, visit.request)
  const sending = { ...visit, form: definition, sent }
  try {
    const long = findLongFields(definition, body)
    if (long.length > 0) throw new Invalid(long)
    return await handle(sending, address)
  } catch (error) {
    // Where the gate of the page proves nothing of the visitor, the page tells the refusal by itself.
    if (!holder || holder.gate.who === 'anyone' || !isMendable(visit, error)) throw error
    return showAgain(sending, error, address, (again) => holder.handle(again, heldBy))
  }
}

/** A form is on the nearest page above it: the longest address that its own begins with. */
function holderOf({ path, definition }: Row, rows: readonly Row[]): string {
  const { heldBy = path } = definition ?? {}
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
