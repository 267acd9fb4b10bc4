import { partnerAlertKinds } from '../../../vocabulary/alert-kind.ts'
import { alertForms } from '../../parts/alert-forms.ts'

export const { add, confirm, sendCode, change, test, remove } = alertForms(
  '/partner/:branch/alerts',
  partnerAlertKinds,
)
