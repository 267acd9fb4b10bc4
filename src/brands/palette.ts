/**
 * The colours of pages and mail, made of the two that a brokerage chooses for day and for night. Text colours
 * follow from what they stand on; what cannot be read (WCAG 2.2, 1.4.3 and 1.4.11, level AA) is refused with
 * the pair and its ratio.
 */

import type { FieldProblem } from '../problem.ts'
import { type ByMode, type Colours, type Mode, modes } from '../vocabulary/brand.ts'

/** Named as the variables of public/countersign.css are. */
export interface Palette {
  readonly paper: string
  readonly card: string
  readonly ink: string
  readonly faint: string
  readonly line: string
  readonly field: string
  readonly act: string
  readonly 'act-ink': string
}

/** What means the same under every brand, as the style sheet has it. */
export const fixed: ByMode<Readonly<Record<'good' | 'good-paper' | 'money' | 'end' | 'focus', string>>> = {
  light: { good: '#17663a', 'good-paper': '#e4f5ea', money: '#8a5200', end: '#a3251c', focus: '#1f7ae0' },
  dark: { good: '#63cf95', 'good-paper': '#12311f', money: '#f3b95f', end: '#ff8a80', focus: '#7ab8ff' },
}

/** Of words, and of what only has to be seen. */
const readable = 4.5
const visible = 3
const black = '#000000'
const white = '#ffffff'

export function makePalette(colours: Colours, mode: Mode): Palette {
  const act = colours.accent[mode]
  const paper = colours.background[mode]
  const pole = mode === 'light' ? black : white
  const card = mode === 'light' ? white : mix(paper, white, 0.06)
  const papers = [paper, card, fixed[mode]['good-paper']]
  const firstOn = (from: number, ratio: number) =>
    shades(from, 1).find((shade) => isSeen(mix(paper, pole, shade), papers, ratio)) ?? 1
  return {
    paper,
    card,
    ink: mix(paper, pole, 0.9),
    faint: mix(paper, pole, firstOn(0.58, readable + 0.2)),
    line: mix(paper, pole, 0.14),
    field: mix(paper, pole, firstOn(0.42, visible + 0.1)),
    act,
    'act-ink': contrast(act, white) >= readable ? white : black,
  }
}

/** Twenty of them, in the order of the way. */
function shades(from: number, to: number): number[] {
  return Array.from({ length: 21 }, (_, step) => from + ((to - from) * step) / 20)
}

function isSeen(colour: string, papers: readonly string[], ratio: number): boolean {
  return papers.every((paper) => contrast(colour, paper) >= ratio)
}

/** As the form calls them. */
export const colourLabels = {
  accentLight: 'Accent, light',
  accentDark: 'Accent, dark',
  backgroundLight: 'Background, light',
  backgroundDark: 'Background, dark',
} as const

type Pair = readonly [field: string, what: string, colour: string, on: string, paper: string, least: number]

/** What is wrong with the colours, each fault with the two that are too near, and how near. */
export function findContrastProblems(colours: Colours): FieldProblem[] {
  return modes.flatMap((mode) => {
    const wrong = pairsOf(colours, mode).filter(
      ([, , colour, , paper, least]) => contrast(colour, paper) < least,
    )
    // One fault of a field is enough to begin with.
    return [...new Map(wrong.reverse().map((pair) => [pair[0], pair])).values()].reverse().map(describe)
  })
}

function pairsOf(colours: Colours, mode: Mode): Pair[] {
  const { paper, card, ink, faint, act } = makePalette(colours, mode)
  const { good, money, end, focus } = fixed[mode]
  const [accent, background] =
    mode === 'light'
      ? (['accentLight', 'backgroundLight'] as const)
      : (['accentDark', 'backgroundDark'] as const)
  const onBackground = (what: string, colour: string, least: number): Pair => [
    background,
    what,
    colour,
    'this background',
    paper,
    least,
  ]
  return [
    onBackground('text', ink, readable),
    onBackground('secondary text', faint, readable),
    onBackground('red for errors', end, readable),
    onBackground('amber for money', money, readable),
    onBackground('green for what went well', good, visible),
    onBackground('the focus ring', focus, visible),
    [accent, 'links in this colour', act, `“${colourLabels[background]}”`, paper, readable],
    [accent, 'links in this colour', act, `cards on “${colourLabels[background]}”`, card, readable],
  ]
}

function describe([field, what, colour, on, paper, least]: Pair): FieldProblem {
  const ratio = printRatio(contrast(colour, paper))
  return {
    field,
    problem: `is hard to read: ${what} (${colour}) on ${on} (${paper}) has a contrast of ${ratio} to 1, and WCAG AA asks for ${least} to 1`,
  }
}

/** Never rounded up to what it does not reach. */
function printRatio(ratio: number): string {
  return (Math.floor(ratio * 100) / 100).toFixed(2)
}

/** WCAG's contrast of two colours, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const both = [luminance(one), luminance(other)]
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05)
}

function luminance(colour: string): number {
  const [red, green, blue] = partsOf(colour)
  return 0.2126 * brightness(red) + 0.7152 * brightness(green) + 0.0722 * brightness(blue)
}

function brightness(part: number): number {
  const share = part / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

function partsOf(colour: string): [red: number, green: number, blue: number] {
  const partAt = (at: number) => Number.parseInt(colour.slice(at, at + 2), 16)
  return [partAt(1), partAt(3), partAt(5)]
}

/** `share` of the way from one to the other. */
function mix(one: string, other: string, share: number): string {
  const [from, to] = [partsOf(one), partsOf(other)]
  const between = (part: number, end: number) =>
    Math.round(part + (end - part) * share)
      .toString(16)
      .padStart(2, '0')
  return `#${between(from[0], to[0])}${between(from[1], to[1])}${between(from[2], to[2])}`
}

/**
 * Of the brand as a style sheet; where only one mode is wanted, such as in a preview, that one whatever the
 * browser prefers.
 */
export function printPalette(colours: Colours, only?: Mode): string {
  const rule = (mode: Mode) => {
    const variables = Object.entries(makePalette(colours, mode)).map(
      ([name, colour]) => `--${name}: ${colour};`,
    )
    return `:root { ${variables.join(' ')} }`
  }
  if (only) return `${rule(only)}\n`
  return `${rule('light')}\n@media (prefers-color-scheme: dark) { ${rule('dark')} }\n`
}
