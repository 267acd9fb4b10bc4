/**
 * `countersign settings`: every setting with its default. With --markdown, the table of docs/operating.md.
 */
import { settings } from '../settings/table.ts'
import type { Command } from './command.ts'

export const settingsCommand: Command = {
  name: 'settings',
  needs: 'nothing',
  summary: 'Lists every setting with its default. Needs no configuration.',
  options: [{ name: 'markdown', meaning: 'as a table for a page' }],
  async run({ print }, words) {
    const rows = settings.map(({ name, fallback, meaning }) => ({ name, default: fallback, meaning }))
    if (words.has('markdown')) print.say(printMarkdown())
    else print.table(rows, 'None.')
  },
}

export function printMarkdown(): string {
  const rows = settings.map(
    ({ name, fallback, meaning }) =>
      `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${meaning} |`,
  )
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
}
