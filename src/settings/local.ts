import { isLoopbackUrl } from '../network/loopback.ts'
import type { Follow, Given } from './setting.ts'

/** Whether only this machine can reach the gateway. */
export const isLocal = (given: Given) =>
  ['BASE_URL', 'SANDBOX_URL'].every((name) => isLoopbackUrl(given.text(name)))
export const whereLocal =
  (here: string, elsewhere: string): Follow =>
  (given) =>
    isLocal(given) ? here : elsewhere
