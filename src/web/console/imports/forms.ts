/** The forms of an import. */
import { allowedModes } from '../../../provisioning/outcomes.ts'
import { kinds } from '../../../provisioning/record.ts'
import { choice, file, oneOf, reason, shown, tick } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

/** `missing` is how many the page has said would be removed. */
export const removeMissing = defineForm('/console/imports/:id/remove', { missing: shown(), reason: reason() })
export const stopImport = defineForm('/console/imports/:id/stop', { reason: reason() })

export const uploadMegabytes = 4

/** Sent twice it does no harm: a record that is known is skipped. */
export const uploadFile = defineForm(
  '/console/imports/new/upload',
  {
    file: file({
      label: 'File',
      isRequired: true,
      more: html`accept=".csv,.json,.jsonl,.ndjson,text/csv,application/x-ndjson"`,
    }),
    source: choice({ label: 'Source', hint: 'Which of your systems it is from.' }),
    mode: oneOf({
      label: 'What is not in the file',
      of: allowedModes,
      choices: [
        { value: 'changes', label: 'stays: the file has changes' },
        { value: 'snapshot', label: 'is removed: the file is everything that the source has' },
      ],
    }),
    kind: choice({
      label: 'CSV: what its lines are',
      hint: 'Where the file has no column kind.',
      choices: [
        { value: '', label: 'the column kind says it' },
        ...kinds.map((each) => ({ value: each, label: each })),
      ],
    }),
    'dry-run': tick({ label: 'Only try it: change nothing, and tell what would come of it' }),
    reason: reason(),
  },
  { takesFiles: uploadMegabytes * 1024 * 1024 },
)
