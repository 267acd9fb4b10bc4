/** The kernel's functions, called by the names of their parameters as PostgreSQL knows them. */

import type { Database, Sql } from '../../src/database/database.ts'
import { ask } from '../support/ask.ts'

export type Values = Readonly<Record<string, unknown>>

export interface Kernel {
  /** Rows of the function; of what is named here, it takes what it has parameters for. */
  call<Row extends object>(sql: Sql, name: string, values: Values): Promise<Row[]>
}

const selectFunctions = `SELECT proname AS name, proargnames[1:pronargs] AS parameters,
     ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) WITH ORDINALITY AS t (type, place)
       ORDER BY place) AS types
   FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' AND proargnames[1] IN ('p', 'of_part')`

export async function openKernel(db: Database): Promise<Kernel> {
  const rows = await ask<{ name: string; parameters: string[]; types: string[] }>(db, selectFunctions)
  const known = new Map<string, { parameters: string[]; text: string }>()
  for (const { name, parameters, types } of rows) {
    const handed = parameters.map((parameter, place) => `${parameter} => $${place + 1}::${types[place]}`)
    known.set(name, { parameters, text: `SELECT * FROM ${name}(${handed.join(', ')})` })
  }
  return {
    call: (sql, name, values) => {
      const { parameters, text } = known.get(name)!
      const all: Values = { of_part: values.p, ...values }
      const missing = parameters.filter((parameter) => !(parameter in all))
      if (missing.length > 0) throw new Error(`${name} wants ${missing.join(', ')}`)
      return ask(
        sql,
        text,
        parameters.map((parameter) => all[parameter]),
      )
    },
  }
}
