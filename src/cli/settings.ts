/** `countersign settings`: every setting with its default. With --markdown, the table of docs/operating.md. */
import { settings } from '../settings/table.ts'
import type { Command, Printer, Words } from './command.ts'

export const settingsCommand: Command = {
  name: 'settings',
  summary: 'Lists every setting with its default. Needs no configuration.',
  options: [{ name: 'markdown', meaning: 'as a table for a page' }],
  run: async ({ print }, words) => printSettings(print, words),
}

export function printSettings(print: Printer, words: Words): void {
  const rows = settings.map(({ name, fallback, meaning }) => ({ name, default: fallback, meaning }))
  if (words.has('markdown')) print.say(printMarkdown())
  else print.table(rows, 'None.')
}

export function printMarkdown(): string {
  const rows = settings.map(
    ({ name, fallback, meaning }) => `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${meaning} |`,
  )
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
}
