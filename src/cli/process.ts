/**
 * What `countersign serve` runs several times behind one port: the words are the number of this one, and how
 * many there are.
 */

import { openLog, openOutput } from '../http/log.ts'
import { serveAsChild } from '../processes/child.ts'
import { readConfig } from '../settings/config.ts'

const [, , number, processes] = process.argv
const config = { ...readConfig(), processes: Number(processes) }
const log = openLog(config.logLevel, openOutput(config.logLevel, true)).child({ process: Number(number) })
await serveAsChild(config, log, Number(number))
