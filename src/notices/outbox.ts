/**
 * Without a mail server each message is a file, for its owner to read. The folder is bounded: the oldest go.
 */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import type { Mailbox } from '../settings/kinds.ts'
import { codeOf } from '../text/thrown.ts'
import type { Courier } from './courier.ts'
import { composeMessage, type Message } from './message.ts'

export const keptMessages = 1_000

export function openOutbox(folder: string, from: Mailbox): Courier {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    async send(message) {
      try {
        const { message: bytes } = await composer.sendMail(composeMessage(from, message))
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await write(join(folder, nameOf(message)), bytes as Buffer)
        await removeOldest(folder)
        return { kind: 'sent' }
      } catch (error) {
        return {
          kind: 'away',
          why: `The outbox cannot be written: ${codeOf(error) ?? 'unknown'}`,
        }
      }
    },
    close() {},
  }
}

/** In the order of time. The same notice has the same name: written twice, it is there once. */
function nameOf({ id, at }: Message): string {
  return `${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${String(id).padStart(8, '0')}.eml`
}

/** Written beside and renamed: readers of the folder see whole messages. */
async function write(path: string, bytes: Buffer): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

async function removeOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.eml')).sort()
  for (const name of names.slice(0, Math.max(0, names.length - keptMessages)))
    await rm(join(folder, name), { force: true })
}
