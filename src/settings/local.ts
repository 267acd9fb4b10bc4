import { isLoopbackUrl } from '../network/loopback.ts'
import type { Follow, RawSettings } from './setting.ts'

/** Whether only this machine can reach the gateway. */
export const isLocal = (raw: RawSettings) =>
  ['BASE_URL', 'SANDBOX_URL'].every((name) => isLoopbackUrl(raw.text(name)))
export const whereLocal =
  (here: string, elsewhere: string): Follow =>
  (raw) =>
    isLocal(raw) ? here : elsewhere
