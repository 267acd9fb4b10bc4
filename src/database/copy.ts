/**
 * COPY FROM STDIN over `pg`, of rows that are in memory already. A query of the driver's own kind:
 * connections here do not wait for one answer before the next question leaves, and then the driver takes no
 * other.
 */
import pg from 'pg'

/** What the driver's connection has, beyond its types. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

class CopyQuery extends pg.Query {
  readonly #rows: Buffer

  constructor(text: string, rows: Buffer, done: (error: Error | undefined) => void) {
    super(text, done)
    this.#rows = rows
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#rows)
    connection.endCopyFrom()
  }
}

export function copyIn(connection: pg.PoolClient, text: string, rows: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(new CopyQuery(text, rows, (error) => (error ? reject(error) : resolve())))
  })
}

/** A value as a row of COPY has it. */
export function printCopied(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '\\N'
  return typeof value === 'string'
    ? value.replace(special, (each) => escapes.get(each) ?? each)
    : String(value)
}

const special = /[\\\t\n\r]/g
const escapes = new Map([
  ['\\', '\\\\'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\r', '\\r'],
])
