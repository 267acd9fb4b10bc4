import { staffAlertKinds } from '../../../vocabulary/alert-kind.ts'
import { reason } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { alertForms } from '../../parts/alert-forms.ts'

const all = alertForms('/console/alerts', staffAlertKinds)
export const { add, confirm, sendCode, change, test } = all
export const remove = defineForm(all.remove.path, { ...all.remove.fields, reason: reason() })
