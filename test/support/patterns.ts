/**
 * Every regular expression of the program, read from its source: literals, patterns of schemas, and what `new
 * RegExp` is given.
 */
import { globSync, readFileSync } from 'node:fs'
import common from '@ts-morph/common'

const { ts } = common
type Node = Parameters<typeof ts.isRegularExpressionLiteral>[0]

export interface Pattern {
  readonly file: string
  readonly source: string
  readonly flags: string
}

export function readPatterns(root: string): Pattern[] {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  return files.flatMap((file) => {
    const source = ts.createSourceFile(
      file,
      readFileSync(`${root}/${file}`, 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    )
    return patternsIn(source).map((pattern) => ({ file, ...pattern }))
  })
}

function patternsIn(node: Node): Omit<Pattern, 'file'>[] {
  const own = patternOf(node)
  const below: Omit<Pattern, 'file'>[] = []
  ts.forEachChild(node, (child) => {
    below.push(...patternsIn(child))
  })
  return own ? [own, ...below] : below
}

function patternOf(node: Node): Omit<Pattern, 'file'> | undefined {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/')
    return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) }
  }
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return undefined
  return isPattern(node.parent) ? { source: textOf(node), flags: '' } : undefined
}

/** `pattern: '…'` of a schema, a constant that is called so, or the first word of `new RegExp`. */
function isPattern(parent: Node): boolean {
  if (ts.isPropertyAssignment(parent) || ts.isVariableDeclaration(parent))
    return /pattern$/i.test(parent.name.getText())
  return ts.isNewExpression(parent) && parent.expression.getText() === 'RegExp'
}

/** What is put in at run time is a word or a number: this is both. */
function textOf(node: Parameters<typeof patternOf>[0]): string {
  if (ts.isStringLiteralLike(node)) return node.text
  if (!ts.isTemplateExpression(node)) return ''
  return node.head.text + node.templateSpans.map(({ literal }) => `64${literal.text}`).join('')
}
