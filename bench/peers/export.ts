/**
 * The brokerage's core, which sends a file of all its customers. Call: `export.ts ORIGIN AUTHORIZATION FILE`;
 * asked with the query of the import as kind and how many lines it has to be told of as count.
 */
import { createReadStream } from 'node:fs'
import { request } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { announce } from './announce.ts'

const [origin, authorization, file] = process.argv.slice(2) as [string, string, string]

announce(origin, async ({ kind, count }) => {
  const headers = { authorization, 'content-type': 'application/x-ndjson' }
  const sent = request(`${origin}/internal/v1/imports?${kind}`, { method: 'POST', headers })
  const answered = new Promise<string>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', async (response) => resolve(String(Buffer.concat(await response.toArray()))))
  })
  // Whoever is refused is told why before the file has left.
  const [text] = await Promise.all([answered, pipeline(createReadStream(file), sent).catch(() => {})])
  const told = JSON.parse(text) as { state?: string; lines?: number; failed?: number }
  if (told.state !== 'finished' || told.lines !== count || told.failed !== 0)
    throw new Error(`The import ended as ${JSON.stringify(told).slice(0, 150)}`)
})
