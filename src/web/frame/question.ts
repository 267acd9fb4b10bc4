/** What the address of a list asks for: words that were typed, checked one by one. */
import type { Form } from '../../http/form.ts'
import { type FieldProblem, Invalid } from '../../problem.ts'
import { cut } from '../../text/cut.ts'
import { type Field, questionCharacters } from './field.ts'
import { type Fields, readFields, type ValuesOf, zoneOf } from './form.ts'
import { FormView } from './form-view.ts'
import type { Html } from './html.ts'
import { notice } from './page.ts'

/** What the address of a page asks, by the fields of the form that asks it. */
export interface Question<Named extends Fields> {
  /** What is wrong is left out, and so is what was not asked. */
  readonly values: Partial<ValuesOf<Named>>
  /** The fields, with what was typed and what is wrong. */
  readonly view: FormView<Named>
  readonly isWrong: boolean
  readonly problem: Invalid | undefined
  /** Of the page that answers it. */
  readonly status: number
  /** What is wrong beside the fields that have been printed, such as the page's number. */
  printProblem(): Html | undefined
  /** The same question as an address would ask it, with more, and without what is undefined. */
  print(more?: Readonly<Record<string, string | number | undefined>>): string
  /** The same, wherever in what it finds the reader is. */
  printSearch(): string
}

/** The names of the fields that say where a page begins. */
const places = { before: undefined, after: undefined, page: undefined }

/** `judge` says what else is wrong, of the values. Of each, no more than a field holds counts. */
export function readQuestion<Named extends Fields>(
  query: Form,
  fields: Named,
  judge: (values: Partial<ValuesOf<Named>>) => readonly FieldProblem[] = () => [],
): Question<Named> {
  const typed = Object.entries<Field>(fields).flatMap(([name, { most }]): [string, string][] => {
    const text = cut(([query[name]].flat()[0] ?? '').trim(), Math.min(most, questionCharacters))
    return text === '' ? [] : [[name, text]]
  })
  const asked = Object.fromEntries(typed)
  const named = Object.fromEntries(typed.map(([name]) => [name, fields[name]!]))
  const zone = cut(zoneOf(query), questionCharacters)
  const { values: read, problems } = readFields(named, { ...asked, zone })
  const values = read as Partial<ValuesOf<Named>>
  const all = [...problems, ...judge(values)]
  const problem = all.length > 0 ? new Invalid(all) : undefined
  // Said again in the zone of whoever reads the page.
  const moments = Object.fromEntries(Object.entries(values).filter(([, value]) => value instanceof Date))
  const print: Question<Named>['print'] = (more = {}) => {
    const said = { ...asked, ...(Object.keys(moments).length > 0 && zone !== '' && { zone }) }
    const pairs = Object.entries({ ...said, ...more }).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    )
    return new URLSearchParams(pairs).toString()
  }
  const view = new FormView(
    fields,
    problem
      ? { returned: { values: asked, again: [], zone, problem } }
      : { standing: { ...asked, ...moments } },
  )
  return {
    values,
    view,
    isWrong: problem !== undefined,
    problem,
    status: problem?.status ?? 200,
    printProblem() {
      const words = view.problemsElsewhere.map((each) => `${each.field} ${each.problem}`).join('; ')
      return words === '' ? undefined : notice('error', `${words}.`)
    },
    print,
    printSearch: () => print(places),
  }
}
