/** How long a check may take, and from where on a finding is worth a warning or a failure. */
import { minute, second } from '../clock.ts'

const mebibyte = 1024 ** 2

export const limits = {
  checkMs: 5 * second,
  /** The private server may have to be started first, and to recover: for that it has a minute of its own. */
  openMs: 75 * second,
  /** A command that is asked for them has twenty. */
  keysMs: 25 * second,
  /** Its own waits are ten seconds each. */
  mailMs: 15 * second,
  /** Sixteen parts, one after the other. */
  promisesMs: 30 * second,
  /** How long a private server may be on its way out before it is called away. */
  leavingMs: 10 * second,
  leastPostgres: 15,
  /** Leases of lanes last twelve seconds and are renewed every three, each by its node's own clock. */
  clock: { warnMs: second, failMs: 5 * second },
  /** Metadata and keys, each with its own five seconds. */
  providersMs: 15 * second,
  certificate: { warnDays: 21, failDays: 3 },
  disk: { warnBytes: 2048 * mebibyte, failBytes: 256 * mebibyte },
  numbering: { warnMs: 10 * second, failMs: 5 * minute },
  delivery: { warnMs: minute, failMs: 15 * minute },
} as const
