/** Where operators are told of what fails: by mail, and at addresses of the brokerage. */
import { theBrokerage } from '../../../alerts/target.ts'
import { printDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'
import { asksForFile } from '../../frame/list.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import * as acts from '../../parts/alert-acts.ts'
import { printAlertPage } from '../../parts/alert-page.ts'
import { sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'

const place = { owner: theBrokerage, here: '/console/alerts' }

export function showAlerts(visit: Visit, operator: Operator) {
  if (asksForFile(visit))
    return acts.sendAlertFile(visit, operator, operatorWatcher(visit, operator), place.owner)
  return send(visit, operator, undefined)
}

async function send(visit: Visit, operator: Operator, secret: acts.NewSecret) {
  const { db } = visit.context
  const page = await acts.readAlertPage(db, place.owner)
  return sendConsole(visit, operator, {
    title: 'Alerts',
    section: place.here,
    body: html`<h1>Alerts</h1>
${printDone(visit, acts.doneWords)}
<p>Of both sites: webhooks of all partners, deliveries that are late, identity providers, and what ends: client
  secrets and administration credentials in use, sealing keys after a rotation, the certificate.</p>
${printAlertPage({
  ...{
    ...page,
    here: place.here,
    secret,
    forms: operator.forms,
    mayChange: operator.may('webhooks.operate'),
    of: forms,
  },
  mailGoesTo: html`To each operator with an e-mail address whose role can do something about it, as each
    of them chose under <a href="/account/security/notices">E-mail notices</a>.`,
})}`,
  })
}

export async function add(visit: Visit, operator: Operator, form: Submission<typeof forms.add>) {
  const secret = await acts.add(visit, operator, place, form)
  return secret && send(visit, operator, secret)
}

export function confirm(visit: Visit, operator: Operator, form: Submission<typeof forms.confirm>) {
  return acts.confirm(visit, operator, place, form)
}

export function sendCode(visit: Visit, operator: Operator, form: Submission<typeof forms.sendCode>) {
  return acts.sendNewCode(visit, operator, place, form)
}

export function change(visit: Visit, operator: Operator, form: Submission<typeof forms.change>) {
  return acts.change(visit, operator, place, form)
}

export function test(visit: Visit, operator: Operator, form: Submission<typeof forms.test>) {
  return acts.test(visit, operator, place, form)
}

export function remove(visit: Visit, operator: Operator, form: Submission<typeof forms.remove>) {
  return acts.remove(visit, operator, place, form)
}
