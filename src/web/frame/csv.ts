/**
 * RFC 4180, every cell in quotes. A spreadsheet takes a cell that begins like a formula for one, whatever the
 * quotes: such a cell gets an apostrophe in front, which spreadsheets do not show. Where cells are told apart
 * by semicolons, one may begin inside of ours.
 */
const formula = /^\s*"*[=+\-@＝＋－＠]|^[\t\r\n]/
const innerFormula = /(;\s*"*)(?=[=+\-@＝＋－＠])/g

export function printCsvCell(text: string): string {
  const harmless = (formula.test(text) ? `'${text}` : text).replaceAll(innerFormula, "$1'")
  return `"${harmless.replaceAll('"', '""')}"`
}

export function printCsvRow(cells: readonly string[]): string {
  return `${cells.map(printCsvCell).join(',')}\r\n`
}

export function csvHead(names: readonly string[]): string {
  return printCsvRow(names)
}
