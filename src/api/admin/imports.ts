/**
 * What the brokerage's systems have imported on this site. Services import; what a snapshot would remove is
 * proposed here, and another person decides.
 */
import { whileStanding } from '../../administration/standing.ts'
import { Conflict } from '../../problem.ts'
import { carryOut } from '../../proposals/proposal.ts'
import { getImport, listFaults, listImports } from '../../provisioning/import.ts'
import { stopImport } from '../../provisioning/snapshot.ts'
import { proposalKinds } from '../../vocabulary/proposal-kind.ts'
import { Type } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import { ImportResource, printImport } from '../internal/import-resource.ts'
import {
  actFor,
  administration,
  limit,
  MadeProposal,
  NumberCursor,
  nextPage,
  numberParam,
  type Paged,
  printPage,
  ReasonQuery,
  readPage,
} from './frame.ts'

export const listAllImports: Endpoint<Administrator, { Querystring: Paged }> = {
  schema: {
    ...administration,
    operationId: 'listImports',
    summary: 'List imports',
    description: 'Of this site, newest first, without their faults.',
    querystring: Type.Object({ cursor: NumberCursor, limit }, { additionalProperties: false }),
    response: {
      200: Type.Object(
        { items: Type.Array(ImportResource, { description: 'Newest first.' }), next: nextPage },
        { title: 'ImportPage', description: 'Some of them.' },
      ),
    },
  },
  async handle({ db, environment }, _caller, request) {
    const { before, most } = readPage(request.query)
    return printPage(await listImports(db, most + 1, { environment, before }), most, printImport)
  },
}

const Params = Type.Object({ id: numberParam('The number of the import.') })
type OfImport = { Params: { readonly id: number } }

export const fetchOneImport: Endpoint<Administrator, OfImport> = {
  schema: {
    ...administration,
    operationId: 'getImport',
    summary: 'Fetch an import',
    description: 'How far it is, what came of it, and what is wrong with which line.',
    params: Params,
    response: { 200: ImportResource },
  },
  async handle({ db, environment }, _caller, request) {
    const found = await getImport(db, request.params.id, environment)
    return { ...printImport(found), faults: await listFaults(db, found.id) }
  },
}

export const stopOneImport: Endpoint<Administrator, OfImport & ReasonQuery> = {
  schema: {
    ...administration,
    operationId: 'stopImport',
    summary: 'Stop an import',
    description: 'Nothing more comes of it; what is committed stays.',
    params: Params,
    querystring: ReasonQuery,
    response: { 200: ImportResource },
    mayConflict: true,
  },
  handle({ db, environment }, caller, request) {
    const act = actFor(caller, request.query)
    return whileStanding(db, 'imports.manage', act, async (sql) => {
      const { id } = await getImport(sql, request.params.id, environment)
      return printImport(await stopImport(sql, id, act))
    })
  },
}

export const proposeRemoval: Endpoint<Administrator, OfImport & ReasonQuery> = {
  schema: {
    ...administration,
    operationId: 'proposeRemoval',
    summary: 'Propose to remove what a snapshot does not have',
    description: 'Of one that needs approval. Another person decides.',
    params: Params,
    querystring: ReasonQuery,
    response: { 202: MadeProposal },
    mayConflict: true,
  },
  handle({ db, environment }, caller, request, reply) {
    const act = actFor(caller, request.query)
    const kind = 'import.removal'
    return whileStanding(db, 'imports.manage', act, async (sql) => {
      const { id, missing } = await getImport(sql, request.params.id, environment)
      const values = { importId: id, missing: missing ?? 0 }
      const made = await carryOut({ db: sql, fourEyes: proposalKinds }, kind, values, act)
      if (made.kind !== 'proposed')
        throw new Conflict(`Import ${id} does not wait, or a newer snapshot has come.`)
      reply.status(202)
      return { id: made.id, kind, isNew: made.isNew }
    })
  },
}
