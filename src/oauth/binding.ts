/** Who may use a token: the sender that proves a key (RFC 9449), or that comes with a certificate (RFC 8705). */
import type { Confirmation } from '../vocabulary/confirmation.ts'

export type Binding = `jkt:${string}` | `x5t#S256:${string}`

export const bindingOfKey = (thumbprint: string): Binding => `jkt:${thumbprint}`
export const bindingOfCertificate = (thumbprint: string): Binding => `x5t#S256:${thumbprint}`

export function isOfKey(binding: Binding | undefined): boolean {
  return binding?.startsWith('jkt:') === true
}

export function confirmationOf(binding: Binding): Confirmation {
  const colon = binding.indexOf(':')
  return { [binding.slice(0, colon)]: binding.slice(colon + 1) }
}

/** What it is sent by, behind the word of the scheme. */
export function tokenTypeOf(binding: Binding | undefined): 'Bearer' | 'DPoP' {
  return isOfKey(binding) ? 'DPoP' : 'Bearer'
}
