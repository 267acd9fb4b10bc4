/** Which columns of an answer an outer join may leave null: read from the plan of the statement. */

/** As EXPLAIN (VERBOSE, FORMAT JSON) tells it. */
export interface Plan {
  readonly 'Node Type': string
  readonly 'Parent Relationship'?: string
  readonly 'Join Type'?: string
  readonly Alias?: string
  readonly Output?: readonly string[]
  readonly Plans?: readonly Plan[]
}

/** By the kind of a join: the sides whose columns are null where nothing was found. */
const nullSides: Readonly<Record<string, readonly string[]>> = {
  Left: ['Inner'],
  Right: ['Outer'],
  Full: ['Inner', 'Outer'],
  Anti: ['Inner'],
  'Right Anti': ['Outer'],
}

/** Of a column that its table always has; undefined where the plan does not tell. */
export function mayAnswerNull(plan: Plan, index: number): boolean | undefined {
  const nodes = nodesOf(plan)
  const optional = nodes.flatMap((node) => {
    const sides = nullSides[node['Join Type'] ?? ''] ?? []
    return (node.Plans ?? []).filter((child) => sides.includes(child['Parent Relationship'] ?? ''))
  })
  if (optional.length === 0) return false
  const column = plainly(plan.Output?.[index] ?? '')
  const alias = /^("[^"]+"|\w+)\.(?:"[^"]+"|\w+)$/.exec(column)?.[1]
  if (alias === undefined) return undefined
  if (optional.some(({ Output }) => Output?.map(plainly).includes(column))) return true
  const scan = nodes.find((node) => node.Alias === alias)
  if (scan === undefined) return ofParts(nodes, optional, alias)
  // What is called otherwise inside may have been joined there.
  return /^(?:Subquery|CTE) Scan$/.test(scan['Node Type']) ? undefined : false
}

/** A table in parts is not scanned itself: each of its parts is, under the table's alias with a number. */
function ofParts(nodes: readonly Plan[], optional: readonly Plan[], alias: string): boolean | undefined {
  const unnumbered = (name = '') => name.replace(/_\d+$/, '')
  const isTable = ({ Output, Plans }: Plan) =>
    Output === undefined && Plans?.some((part) => unnumbered(part.Alias) === unnumbered(alias))
  if (!optional.some(isTable)) return false
  return nodes.filter(isTable).length === 1 ? true : undefined
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

/** What was computed further down stands in brackets. */
function plainly(output: string): string {
  return output.replace(/^\((.*)\)$/, '$1')
}
