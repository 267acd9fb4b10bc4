/**
 * What an application says of itself, as account holders see it. The words are the partner's, and marked as
 * such.
 */
import type { ClientLook } from '../../partners/client-look.ts'
import { imageUrl } from '../frame/assets.ts'
import { type Html, html } from '../frame/html.ts'

type LookFields = Pick<ClientLook, 'logo' | 'purpose' | 'website' | 'privacyUrl' | 'termsUrl'>

/** `src` where the picture is not public yet. */
export function printLookLogo(look: LookFields | undefined, src?: string): Html | undefined {
  if (!look?.logo) return undefined
  const { hash, type, width, height } = look.logo
  const shownHeight = 48
  const shownWidth = Math.min(200, Math.max(1, Math.round((shownHeight * width) / height)))
  return html`<img class="look-logo" src="${src ?? imageUrl(hash, type)}" alt="" width="${shownWidth}"
    height="${shownHeight}">`
}

export function printLookWords(look: LookFields | undefined): Html | undefined {
  if (!look) return undefined
  const { purpose, website, privacyUrl, termsUrl } = look
  const links = [
    website !== null && printLink(website, new URL(website).host),
    privacyUrl !== null && printLink(privacyUrl, 'Its privacy policy'),
    termsUrl !== null && printLink(termsUrl, 'Its terms'),
  ].filter((each) => each !== false)
  return html`${purpose !== null && html`<p>What it says it is for: “${purpose}”</p>`}
${
  links.length > 0 &&
  html`<p
  class="small">${links.map((each, place) => html`${place > 0 && ' · '}${each}`)}</p>`
}`
}

/** Beside this page, which stays as it is; what is there learns nothing of it. */
function printLink(address: string, label: string): Html {
  return html`<a href="${address}" target="_blank" rel="noopener noreferrer nofollow">${label}</a>`
}
