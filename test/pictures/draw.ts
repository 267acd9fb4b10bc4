/** `npm run draw`: the drawings of ARCHITECTURE.md, made from the files as they are. */
import { readFileSync, writeFileSync } from 'node:fs'
import { planOf, readSources, redraw } from '../support/floor-plan.ts'

const document = new URL('../../ARCHITECTURE.md', import.meta.url)
const shipped = readSources('src').filter(({ path }) => !path.endsWith('.test.ts'))
writeFileSync(document, redraw(readFileSync(document, 'utf8'), planOf(shipped)))
