/** Moments as forms send them: to the minute, or finer, in UTC. */
const shape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/

export function parseMoment(text: string | undefined): Date | undefined | 'wrong' {
  if (text === undefined || text === '') return undefined
  const date = shape.test(text) ? new Date(`${text}Z`) : undefined
  return date && !Number.isNaN(date.getTime()) ? date : 'wrong'
}
