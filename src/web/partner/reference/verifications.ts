/**
 * How a receiver checks a signature, for the portal's reference and docs/delivery.md. Any client on the
 * internet can call a receiver, with any header or with none: no example throws, whatever it is handed. Tests
 * run them.
 */
const typescript = `import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * body: the exact bytes that arrived. signature: the header, which a stranger may leave out or fill with
 * anything.
 */
export function isGenuine(body: string | Buffer, signature: string | undefined, secret: string): boolean {
  const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'))
  const given = Buffer.from(signature ?? '')
  // The lengths of bytes: timingSafeEqual throws where they differ.
  return given.length === expected.length && timingSafeEqual(given, expected)
}
`

const python = `import hashlib, hmac

# body: the exact bytes that arrived. signature: the header, which a stranger may leave out or fill with anything.
def is_genuine(body: bytes, signature: str | None, secret: str) -> bool:
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    # As bytes: compare_digest throws for text that is not ASCII.
    return hmac.compare_digest(expected.encode(), (signature or "").encode(errors="replace"))
`

const go = `// body: the exact bytes that arrived. signature: the header, empty where there is none.
func isGenuine(body []byte, signature, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(signature))
}
`

const ruby = `require "openssl"

# body: the exact bytes that arrived. signature: the header, nil where there is none.
def genuine?(body, signature, secret)
  OpenSSL.secure_compare(OpenSSL::HMAC.hexdigest("SHA256", secret, body), signature.to_s)
end
`

export const verifications = { typescript, python, go, ruby }
