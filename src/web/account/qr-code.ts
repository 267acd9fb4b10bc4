/** A QR code as inline SVG: one path, dark on white in every colour scheme, because cameras want it so. */
import { encode } from 'uqr'
import { type Html, html } from '../frame/html.ts'

const quietZone = 4

export function printQrCode(text: string, label: string): Html {
  const { size, data } = encode(text, { ecc: 'M', border: quietZone })
  const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}"
    shape-rendering="crispEdges"><path d="${squares.join('')}"/></svg>`
}
