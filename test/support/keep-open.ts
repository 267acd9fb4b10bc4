import { after } from 'node:test'

interface Closable {
  close(): unknown
}

const opened: Closable[] = []

/**
 * One for all the tests of a file: opened before the first of them, closed after the last, the last that was
 * opened first.
 */
export async function keepOpen<Thing extends Closable>(opening: Thing | Promise<Thing>): Promise<Thing> {
  const thing = await opening
  if (opened.length === 0) after(closeAll)
  opened.push(thing)
  return thing
}

async function closeAll(): Promise<void> {
  for (const thing of opened.splice(0).reverse()) await thing.close()
}
