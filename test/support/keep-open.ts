import { after } from 'node:test'

interface Opened {
  close(): unknown
}

const opened: Opened[] = []

/** One for all the tests of a file. What a file has opened is closed after its last test, the last first. */
export async function keepOpen<Thing extends Opened>(opening: Thing | Promise<Thing>): Promise<Thing> {
  const thing = await opening
  if (opened.length === 0) after(closeAll)
  opened.push(thing)
  return thing
}

async function closeAll(): Promise<void> {
  for (const thing of opened.splice(0).reverse()) await thing.close()
}
