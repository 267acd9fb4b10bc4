/**
 * The forms of one page, printed for the browser in front of it. One of them may be shown again: it was refused,
 * or waited while its owner signed in. Then what was typed stands in it, with what is wrong.
 */
import type { Problem } from '../../problem.ts'
import { fillPath, type Params } from './address.ts'
import { allOf, type Fields, type FormDefinition, type TypedForm } from './form.ts'
import { FormView, type StandingValue } from './form-view.ts'
import { type Content, type Html, html } from './html.ts'
import { onceField } from './once-field.ts'

export interface ReturnedForm extends TypedForm {
  /** Undefined for one that waited. */
  readonly problem?: Problem | undefined
}

export interface PrintOptions<Named extends Fields> {
  /** What the path of the form names beyond the address of the page. */
  readonly at?: Params
  /** What stands in its fields, and what its hidden ones say. */
  readonly standing?: { readonly [Name in keyof Named]?: StandingValue }
  readonly look?: string | undefined
  /** More of its tag, for a script. */
  readonly attributes?: Html
}

interface AskOptions<Named extends Fields> extends PrintOptions<Named> {
  /** What opens the question, and does it: such as `Revoke`. */
  readonly label: string
  /** What it is done to, for people who use a screen reader. */
  readonly of?: string | undefined
  /** What will happen. */
  readonly text: Content
  /** It takes nothing from any person. */
  readonly isGift?: true
}

export class PageForms {
  readonly csrf: string
  readonly #params: Params
  readonly #returned: ReturnedForm | undefined
  /** How the returned form was found on the page: with fields, which tell what is wrong, or as a button. */
  #found: 'not' | 'as button' | 'with fields' = 'not'
  /** The forms that have a field of this name. */
  readonly #named = new Map<string, string[]>()
  readonly #onces = new Map<string, Html>()

  constructor(csrf: string, params: Params, returned?: ReturnedForm) {
    this.csrf = csrf
    this.#params = params
    this.#returned = returned
  }

  /** Of a page that shows what was refused: the status that says so. */
  get status(): number | undefined {
    return this.#returned?.problem?.status
  }

  get isReturned(): boolean {
    return this.#returned !== undefined
  }

  /** Whether this is the form that is shown again. */
  holds<Named extends Fields>(form: FormDefinition<Named>, options: PrintOptions<Named> = {}): boolean {
    return this.#find(form, options) !== undefined
  }

  /** What was typed into this field, or stood in it, where the form is shown again. */
  typedInto<Named extends Fields>(
    form: FormDefinition<Named>,
    name: keyof Named & string,
  ): string | undefined {
    return this.#returned?.path === form.path
      ? allOf({ ...this.#returned.keys, ...this.#returned.values }, name)[0]
      : undefined
  }

  print<Named extends Fields>(
    form: FormDefinition<Named>,
    options: PrintOptions<Named>,
    body: (view: FormView<Named>) => Content,
  ): Html {
    const returned = this.#find(form, options)
    const view = new FormView(form.fields, {
      ...{ standing: options.standing, returned, mayFocus: !this.#returned },
      idOf: (name) => this.#idOf(name, `${this.#actionOf(form, options)} ${keysOf(form, options).join(' ')}`),
    })
    const unseen = Object.keys(form.fields).filter((name) => form.fields[name]!.control === 'hidden')
    const inner = html`${body(view)}`
    if (returned) this.#found = view.hasPrintedFields ? 'with fields' : 'as button'
    const remark = returned && view.hasPrintedFields && printRemark(returned, view)
    return html`<form${options.look && html` class="${options.look}"`} method="post"
      action="${this.#actionOf(form, options)}"${form.takesFiles > 0 && html` enctype="multipart/form-data"`}${
        options.attributes && html` ${options.attributes}`
      }>${this.csrfField}${
        form.makes && this.#onceOf(form, options)
      }${unseen.map((name) => view.hidden(name))}${remark}${inner}</form>`
  }

  /** A form of one button. */
  button<Named extends Fields>(
    form: FormDefinition<Named>,
    label: Content,
    { of, buttonLook, ...options }: PrintOptions<Named> & { of?: string; buttonLook?: string } = {},
  ): Html {
    const words = { ...(of !== undefined && { of }), ...(buttonLook !== undefined && { look: buttonLook }) }
    return this.print(form, options, (view) => view.button(label, words))
  }

  /**
   * An act that cannot be taken back, or takes something from a person, asks first: what will happen, and from
   * an operator why. The question unfolds where its button is, without script.
   */
  ask<Named extends Fields>(
    form: FormDefinition<Named>,
    options: AskOptions<Named>,
    more: (view: FormView<Named>) => Content = printAll,
  ): Html {
    const { label, of, text, isGift } = options
    const unseen = of !== undefined && html`<span class="unseen"> ${of}</span>`
    const words = { look: isGift ? 'primary' : 'danger', ...(of !== undefined && { of }) }
    const body = (view: FormView<Named>) => html`<p>${text}</p>${more(view)}${view.button(label, words)}`
    return html`<details class="ask${isGift && ' gift'}"${
      this.holds(form, options) && html` open`
    }><summary>${label}${unseen}</summary>${this.print(form, options, body)}</details>`
  }

  /** What is to be said above the page, of a form that is not on it with its fields. */
  printReturned(): Html | undefined {
    const returned = this.#returned
    if (!returned || this.#found === 'with fields') return undefined
    const { problem } = returned
    if (this.#found === 'as button') return problem ? printProblem(problem.message) : waiting(notSent)
    const typed = Object.entries(returned.values).filter(([, value]) => value !== '')
    const items = typed.map(([name, value]) => html`<dt>${name}</dt><dd>${[value].flat().join(', ')}</dd>`)
    return html`<div class="notice ${problem ? 'error' : 'waiting'}"
      role="${problem ? 'alert' : 'status'}"><p>${problem?.message ?? 'Nothing was sent: this page has changed meanwhile.'}</p>
${items.length > 0 && html`<details><summary>What you typed</summary><dl>${items}</dl></details>`}</div>`
  }

  get csrfField(): Html {
    return html`<input type="hidden" name="csrf" value="${this.csrf}">`
  }

  /** It stays the same while the page is looked at: a part that is printed anew differs by what has changed. */
  #onceOf<Named extends Fields>(form: FormDefinition<Named>, options: PrintOptions<Named>): Html {
    const action = this.#actionOf(form, options)
    const once = this.#onces.get(action) ?? onceField()
    this.#onces.set(action, once)
    return once
  }

  #actionOf({ path }: FormDefinition, { at }: { readonly at?: Params }): string {
    return fillPath(path, { ...this.#params, ...at })
  }

  /** Of several with one action, such as a button in each row, the one with the same keys. */
  #find<Named extends Fields>(
    form: FormDefinition<Named>,
    options: PrintOptions<Named>,
  ): ReturnedForm | undefined {
    const returned = this.#returned
    if (returned?.path !== form.path || returned.action !== this.#actionOf(form, options)) return undefined
    const keys = keysOf(form, options)
    const isSame = keyNames(form).every((name, at) => keys[at] === (allOf(returned.keys, name)[0] ?? ''))
    return isSame ? returned : undefined
  }

  /** The same for the same form, however often a page that changes prints it. */
  #idOf(name: string, form: string): string {
    const forms = this.#named.get(name) ?? []
    if (!forms.includes(form)) this.#named.set(name, [...forms, form])
    const at = this.#named.get(name)!.indexOf(form)
    return at === 0 ? name : `${name}-${at + 1}`
  }
}

function keyNames({ fields }: FormDefinition): string[] {
  return Object.keys(fields).filter((name) => fields[name]!.returns === 'key')
}

/** What tells one of several with one action from the others. */
function keysOf<Named extends Fields>(
  form: FormDefinition<Named>,
  { standing = {} }: PrintOptions<Named>,
): string[] {
  const said: Readonly<Record<string, StandingValue>> = standing
  return keyNames(form).map((name) => String(said[name] ?? ''))
}

function printAll<Named extends Fields>(view: FormView<Named>): Content {
  return view.fieldNames.map((name) => view.field(name))
}

const notSent = 'Nothing was sent yet: check and send.'

/** What is wrong with no field of the form in particular; the fields say the rest. */
function printRemark(
  { problem }: ReturnedForm,
  view: Pick<FormView, 'problemsElsewhere' | 'hasOneField'>,
): Html | undefined {
  if (!problem) return waiting(notSent)
  const isBeside = problem.fields !== undefined && view.problemsElsewhere.length === 0
  if (isBeside && view.hasOneField) return undefined
  return printProblem(isBeside ? 'Nothing was changed. See what is marked below.' : problem.message)
}

function printProblem(words: string): Html {
  return html`<p class="notice error" role="alert">${words}</p>`
}

function waiting(words: string): Html {
  return html`<p class="notice waiting" role="status">${words}</p>`
}
