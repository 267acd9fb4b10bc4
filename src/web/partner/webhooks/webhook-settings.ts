/** The part of a webhook's form that says what is sent to it, how fast, and with which headers. */
import { actions as allActions, type Kind, kinds } from '../../../webhooks/events/kind.ts'
import type {
  Actions,
  SettingsChange,
  WebhookSettings,
} from '../../../webhooks/subscriptions/webhook-settings.ts'
import type { ValuesOf } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import * as forms from './forms.ts'

type SettingValues = ValuesOf<typeof forms.settings>
type SettingsView = Pick<
  FormView<typeof forms.settings>,
  'field' | 'box' | 'problem' | 'problemOf' | 'valueOf' | 'isTicked'
>

export function readSettings(values: SettingValues, wanted: readonly Kind[]): SettingsChange {
  const { actions, rateLimit, description, removeHeader, headerName, headerSecret } = values
  const name = headerName.trim()
  return {
    actions: readActions(actions, wanted),
    rateLimit: rateLimit.trim() === '' ? null : Number(rateLimit),
    description,
    headers: Object.fromEntries([
      ...removeHeader.map((each) => [each, null] as const),
      ...(name === '' ? [] : [[name, headerSecret] as const]),
    ]),
  }
}

/** All of a kind, or none: then it is not narrowed, and has what comes to be later, too. */
function readActions(ticked: readonly string[], wanted: readonly Kind[]): Actions {
  const chosen = wanted.map((kind) => {
    const some = allActions[kind].filter((action) => ticked.includes(`${kind}.${action}`))
    return [kind, some] as const
  })
  return Object.fromEntries(
    chosen.filter(([kind, some]) => some.length > 0 && some.length < allActions[kind].length),
  )
}

/** What stands in the fields of a webhook that has these settings. */
export function standingSettings({ actions, rateLimit, description }: WebhookSettings) {
  const isTicked = (kind: Kind, action: string) => actions[kind]?.includes(action) ?? true
  const ticked = kinds.flatMap((kind) =>
    forms.actionsOf(kind).flatMap(({ value, label }) => (isTicked(kind, label) ? [value] : [])),
  )
  return { actions: ticked, rateLimit, description }
}

/**
 * Of a new webhook. Most want none of them: they are folded away, unless one of them was chosen or is wrong.
 */
export function printMoreSettings(view: SettingsView): Html {
  const isWrong = [...Object.keys(forms.settings), 'headers'].some(
    (name) => view.problemOf(name) !== undefined,
  )
  const isChosen = (['rateLimit', 'description', 'headerName'] as const).some(
    (name) => view.valueOf(name) !== '',
  )
  const isNarrowed = forms.allActions.some((action) => !view.isTicked('actions', action))
  return html`<details${(isWrong || isChosen || isNarrowed) && html` open`}><summary>More settings: actions,
    rate limit, headers, description</summary>
${printSettings(view, [])}</details>`
}

export function printSettings(view: SettingsView, headerNames: readonly string[]): Html {
  const choices = headerNames.map((each) => ({ value: each, label: each }))
  return html`${printActions(view)}
${view.field('rateLimit')}
${view.field('description')}
${choices.length > 0 && view.field('removeHeader', { choices })}
${view.problem('headers', 'Headers')}
${view.field('headerName')}
${view.field('headerSecret')}`
}

function printActions(view: SettingsView): Html {
  const boxes = kinds.map(
    (kind) =>
      html`<fieldset><legend>${forms.kindWords[kind]}</legend>${forms
        .actionsOf(kind)
        .map(({ value, label }) => view.box('actions', value, label))}</fieldset>`,
  )
  const problem = view.problem('actions', 'Actions')
  return html`<details${problem && html` open`}><summary>Only some actions</summary><p class="hint">Of a kind
    that is sent, untick the actions that you do not want.</p>${problem}${boxes}</details>`
}
