/**
 * What the TLS listener agrees to: TLS 1.3, and of TLS 1.2 what RFC 9325 (4.2) recommends: forward secrecy,
 * authenticated encryption.
 */
import type { TlsOptions } from 'node:tls'

const suites = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
]

export const secure = {
  minVersion: 'TLSv1.2',
  ciphers: suites.join(':'),
  honorCipherOrder: true,
} as const satisfies TlsOptions
