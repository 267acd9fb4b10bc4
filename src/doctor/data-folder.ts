import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '../settings/config.ts'
import { type Answer, fail, grade, ok } from './finding.ts'
import { limits } from './limits.ts'

export function checkDataFolder({ dataDir, databaseUrl, mail }: Config): Answer {
  if (databaseUrl !== undefined) {
    const kept = mail.server ? 'only' : 'only the outbox of notices and'
    return { finding: ok(`With DATABASE_URL ${kept} the anchors of the audit log are kept in DATA_DIR.`) }
  }
  const path = nearestExisting(resolve(dataDir))
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch {
    return {
      finding: fail(`${path} cannot be written by this user.`, 'Give it to the user that runs the gateway.'),
    }
  }
  const { bavail, bsize } = statfsSync(path)
  return { finding: judgeSpace(path, bavail * bsize) }
}

export function judgeSpace(path: string, freeBytes: number) {
  const { warnBytes, failBytes } = limits.disk
  return grade(
    -freeBytes,
    { warn: -warnBytes, fail: -failBytes },
    `${path} can be written and has ${(freeBytes / 1024 ** 3).toFixed(1)} GiB free.`,
    'Make room: PostgreSQL stops when its disk is full.',
  )
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}
