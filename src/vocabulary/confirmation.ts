/** RFC 7800: the sender that a token is bound to, as introspection, proxies and the profile tell it. */
import type { Static } from 'typebox'
import { Type, text } from './schema.ts'

export const Confirmation = Type.Object(
  {
    jkt: Type.Optional(
      text(
        'RFC 9449: the thumbprint of the key that the sender proves.',
        'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
      ),
    ),
    'x5t#S256': Type.Optional(
      text(
        'RFC 8705: SHA-256 of the certificate that the sender comes with, base64url.',
        'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2',
      ),
    ),
  },
  {
    title: 'Confirmation',
    description:
      'The sender that the token is bound to: whoever takes the token asks for the proof (RFC 7800).',
  },
)
export type Confirmation = Static<typeof Confirmation>
