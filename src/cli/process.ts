/**
 * What `countersign serve` runs several times behind one port: the words are the number of this one, and how
 * many there are.
 */

import { openLog, openOutput } from '../http/log.ts'
import { serveAsChild } from '../processes/child.ts'
import { readConfig } from '../settings/config.ts'

const [number, processes] = process.argv.slice(2).map(Number)
const config = { ...readConfig(), processes: processes! }
const log = openLog(config.logLevel, openOutput(true)).child({ process: number })
await serveAsChild(config, log, number!)
