/** Where a partner is told of what fails, on each site: by mail to its members, and at addresses of its own. */
import { printDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'
import { asksForFile } from '../../frame/list.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import * as acts from '../../parts/alert-acts.ts'
import { printAlertPage } from '../../parts/alert-page.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'

const placeOf = ({ branch, home }: Member) => ({ owner: branch, here: `${home}/alerts` })

export function showAlerts(visit: Visit, member: Member) {
  if (asksForFile(visit))
    return acts.sendAlertFile(visit, member, memberWatcher(visit, member), placeOf(member).owner)
  return send(visit, member, undefined)
}

async function send(visit: Visit, member: Member, secret: acts.NewSecret) {
  const { db } = visit.context
  const page = await acts.readAlertPage(db, placeOf(member).owner)
  return sendPortal(visit, member, {
    title: 'Alerts',
    section: '/alerts',
    body: html`<h1>Alerts</h1>
${printDone(visit, acts.doneWords)}
<p>You are told when a webhook fails, works again or is disabled, and when a secret ends, on this site.</p>
${printAlertPage({
  ...{
    ...page,
    here: placeOf(member).here,
    secret,
    forms: member.forms,
    mayChange: member.isDeveloper,
    of: forms,
  },
  mailGoesTo: html`To each member with an e-mail address, as each of them chose under
    <a href="/account/security/notices">E-mail notices</a>.`,
})}`,
  })
}

export async function add(visit: Visit, member: Member, form: Submission<typeof forms.add>) {
  const secret = await acts.add(visit, member, placeOf(member), form)
  return secret && send(visit, member, secret)
}

export function confirm(visit: Visit, member: Member, form: Submission<typeof forms.confirm>) {
  return acts.confirm(visit, member, placeOf(member), form)
}

export function sendCode(visit: Visit, member: Member, form: Submission<typeof forms.sendCode>) {
  return acts.sendNewCode(visit, member, placeOf(member), form)
}

export function change(visit: Visit, member: Member, form: Submission<typeof forms.change>) {
  return acts.change(visit, member, placeOf(member), form)
}

export function test(visit: Visit, member: Member, form: Submission<typeof forms.test>) {
  return acts.test(visit, member, placeOf(member), form)
}

export function remove(visit: Visit, member: Member, form: Submission<typeof forms.remove>) {
  return acts.remove(visit, member, placeOf(member), form)
}
