/**
 * Proof that a user has signed in from a browser before. It names the password that was given then, by its
 * mark: after any change of the password it is worth nothing. It is no way in; it has guesses of its own, and
 * a sign-in from there is no news.
 */
import { day } from '../clock.ts'
import { fingerprint } from '../crypto/hash.ts'

/** After the last sign-in from there. */
export const knownDeviceMs = 90 * day

export interface KnownDevice {
  readonly id: string
  readonly userId: string
  readonly passwordMark: string
  /** When the sign-in was. */
  readonly at: number
}

/** What tells one stored password from the next without telling anything of it; none is a mark too. */
export function markPassword(passwordHash: string | null): string {
  if (passwordHash === null) return 'none'
  return Buffer.from(fingerprint(passwordHash), 'latin1').toString('base64url')
}

/** The id of the device; undefined when it is of another user, another password or long ago. */
export function recognise(
  device: KnownDevice | undefined,
  user: { readonly id: string; readonly passwordMark: string } | undefined,
  now: Date,
): string | undefined {
  if (!device || device.userId !== user?.id || device.passwordMark !== user.passwordMark) return undefined
  return now.getTime() - device.at < knownDeviceMs ? device.id : undefined
}

/** After a sign-in: the device as it is from now on, under the id that it was known by. */
export function makeKnown(
  known: string | undefined,
  userId: string,
  passwordMark: string,
  now: Date,
): KnownDevice {
  return { id: known ?? crypto.randomUUID(), userId, passwordMark, at: now.getTime() }
}
