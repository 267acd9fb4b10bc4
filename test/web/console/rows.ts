/** Every page and form of the console, with how to aim at it. */

import { alertRows } from './alert-rows.ts'
import { brandRows } from './brand-rows.ts'
import { importRows } from './import-rows.ts'
import { operationRows } from './operation-rows.ts'
import { peopleRows } from './people-rows.ts'
import { providerRows } from './provider-rows.ts'
import { staffRows } from './staff-rows.ts'

const all = [alertRows, operationRows, peopleRows, staffRows, providerRows, importRows, brandRows]

export const pages = Object.assign({}, ...all.map((rows) => rows.pages)) as (typeof all)[number]['pages']
export const forms = Object.assign({}, ...all.map((rows) => rows.forms)) as (typeof all)[number]['forms']
