/** The forms of an import. */
import { reason, shown } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'

/** `missing` is how many the page has said would be removed. */
export const removeMissing = defineForm('/console/imports/:id/remove', { missing: shown(), reason: reason() })
export const stopImport = defineForm('/console/imports/:id/stop', { reason: reason() })
