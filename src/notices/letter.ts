/**
 * A message, laid out twice from the same words: as text, which is what counts and what every program can
 * read, and as HTML in the colours of the brand. Nothing is loaded from anywhere: styles stand in the
 * message, and so does the logo. Whatever came from outside is one line before it gets here.
 */

import { makePalette, type Palette } from '../brands/palette.ts'
import { type Content, Html, html } from '../text/html.ts'
import { type Brand, type Colours, houseAccent, houseBackground, type Mode } from '../vocabulary/brand.ts'
import { keysOf } from '../vocabulary/record-of.ts'

export interface Letter {
  readonly brand: Brand
  /** `Hello Ada,` */
  readonly greeting: string
  readonly happened: string
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly paragraphs: readonly string[]
  /** The sender, and what it never asks for. */
  readonly closing: readonly string[]
  /** Addresses that begin so are ours, and can be followed. */
  readonly own: readonly string[]
}

export function printLetter({ brand, greeting, happened, facts, paragraphs, closing }: Letter): string {
  const width = Math.max(...facts.map(([name]) => name.length)) + 3
  const table = facts.map(([name, value]) => `  ${`${name}:`.padEnd(width)}${value}`).join('\n')
  const imprint = imprintOf(brand)
  return `${greeting}

${happened}

${table}

${paragraphs.join('\n\n')}

--
${closing.join('\n')}
${imprint.length === 0 ? '' : `\n${imprint.join('\n')}\n`}`
}

/** What a brokerage says of itself at the end of every message. */
function imprintOf(brand: Brand): string[] {
  const { legalName, links, mail } = brand
  return [
    ...(isSaid(brand) ? [] : [legalName]),
    ...(mail.footer === undefined ? [] : [mail.footer]),
    ...links.map(({ label, url }) =>
      url.startsWith('tel:') ? `Phone: ${label}` : `${label}: ${url.replace('mailto:', '')}`,
    ),
  ]
}

/** The legal name is the other one, or stands in the footer. */
function isSaid({ name, legalName, mail }: Brand): boolean {
  return legalName === name || mail.footer?.includes(legalName) === true
}

const houseColours: Colours = {
  accent: { light: houseAccent.light.colour, dark: houseAccent.dark.colour },
  background: houseBackground,
}

const font = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif"
/** Attributes cannot tell day from night; programs that can read this part. */
const nightClasses = {
  paper: 'background-color',
  card: 'background-color',
  ink: 'color',
  faint: 'color',
  act: 'color',
} as const

/**
 * `logo` is where the picture is: a part of the message, or of a preview; without one the name stands there.
 */
export function printLetterPage(letter: Letter, subject: string, logo?: string): string {
  const { brand, greeting, happened, facts, paragraphs, closing, own } = letter
  const day = makePalette(brand.colours ?? houseColours, 'light')
  const rows = facts.map(
    ([name, value]) =>
      html`<tr><td class="faint"
        style="${style(day, 'faint')};padding:4px 16px 4px 0;vertical-align:top;white-space:nowrap">${name}</td><td class="ink" style="${style(day, 'ink')};padding:4px 0;vertical-align:top;word-break:break-word">${value}</td></tr>`,
  )
  const paragraph = (content: Content) =>
    html`<p class="ink" style="margin:0 0 16px;${style(day, 'ink')}">${content}</p>`
  const small = (content: Content) =>
    html`<p class="faint" style="margin:0 0 6px;font-size:13px;line-height:1.5;${style(day, 'faint')}">${content}</p>`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport"
  content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta
  name="supported-color-schemes" content="light dark"><title>${subject}</title>
<style>${printNight(brand)}</style></head>
<body class="paper" style="margin:0;padding:0;background-color:${day.paper}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="paper"
  style="background-color:${day.paper}"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"
  style="max-width:600px;${font}">
<tr><td style="padding:0 8px 16px;text-align:left">${printMark(brand, day, logo)}</td></tr>
<tr><td class="card line"
  style="padding:28px 24px 12px;text-align:left;font-size:16px;line-height:1.55;background-color:${day.card};border:1px solid ${day.line};border-top:4px solid ${day.act};border-radius:10px">
${paragraph(greeting)}
${paragraph(html`<strong>${happened}</strong>`)}
<table role="presentation" cellpadding="0" cellspacing="0" border="0"
  style="margin:0 0 20px;font-size:15px;line-height:1.45">${rows}</table>
${paragraphs.map((text) => paragraph(link(text, own, day)))}
</td></tr>
<tr><td style="padding:16px 8px 0;text-align:left">${closing.map((text) => small(link(text, own, day)))}${printImprint(brand, small, day)}</td></tr>
</table></td></tr></table></body></html>
`.text
}

function style(day: Palette, part: 'ink' | 'faint' | 'act'): string {
  return `color:${day[part]}`
}

/** A logo keeps its own paper by night. */
function printMark({ name }: Brand, day: Palette, logo: string | undefined): Html {
  if (logo !== undefined)
    return html`<img src="${logo}" alt="${name}" height="32"
      style="display:block;height:32px;border:0;padding:6px;border-radius:6px;background-color:${day.paper}">`
  return html`<span class="ink" style="font-size:18px;font-weight:600;${style(day, 'ink')}">${name}</span>`
}

function printImprint(brand: Brand, small: (content: Content) => Html, day: Palette): Content {
  const { legalName, links, mail } = brand
  const named = links.map(
    ({ label, url }, place) =>
      html`${place > 0 && ' · '}<a class="act" href="${url}" style="${style(day, 'act')}">${label}</a>`,
  )
  return [
    !isSaid(brand) && small(legalName),
    mail.footer !== undefined &&
      small(mail.footer.split('\n').map((line, place) => html`${place > 0 && html`<br>`}${line}`)),
    named.length > 0 && small(named),
  ]
}

/** Only addresses of ours become links: any other that looks like one came from outside. */
function link(text: string, own: readonly string[], day: Palette): Html {
  const words = text.split(/(\s+)/).map((word) => {
    const [, address = '', rest = ''] = /^(.*?)((?<![.,:;])[.,:;]+)?$/s.exec(word) ?? []
    const isOwn = own.some((base) => address === base || address.startsWith(`${base}/`))
    return isOwn
      ? html`<a class="act" href="${address}" style="${style(day, 'act')}">${address}</a>${rest}`
      : html`${word}`
  })
  return html`${words}`
}

/** It holds no text from outside: names of parts and colours. */
function printNight(brand: Brand): Html {
  const night = makePalette(brand.colours ?? houseColours, 'dark')
  const rules = keysOf(nightClasses).map(
    (part) => `.${part} { ${nightClasses[part]}: ${night[part]} !important; }`,
  )
  const line = `.line { border-color: ${night.line} !important; border-top-color: ${night.act} !important; }`
  return new Html(`@media (prefers-color-scheme: dark) { ${[...rules, line].join(' ')} }`)
}

/** As a reader sees it by day, or by night, whatever their program prefers. */
export function fixMode(page: string, mode: Mode): string {
  return page.replace('(prefers-color-scheme: dark)', mode === 'dark' ? 'all' : 'not all')
}
