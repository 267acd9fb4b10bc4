/** The kernel's functions beside each other: who waits for whom, and what the one that waited sees. */
import { test } from 'node:test'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { interleavings } from './interleavings.ts'
import { openHouse } from './stage.ts'

const { url } = await keepOpen(await openTestDatabase())
const house = await openHouse(await keepOpen(openLenientDatabase({ connectionString: url, connections: 5 })))

for (const [name, play] of Object.entries(interleavings)) test(name, () => play(house))
