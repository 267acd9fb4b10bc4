/** Several alerts as one message: each as an address is told it. */
import { type Alert, printAlert } from './alert.ts'
import { type NoticeWriter, printMoment } from './notice-text.ts'

export const digestWords: NoticeWriter<'alerts'> = ({ reader, environment, alerts, more }, at, addresses) => {
  const count = alerts.length + more
  return {
    environment,
    subject: `${count} alerts`,
    happened: `${count} alerts came up, and are told together.`,
    facts: [['When', printMoment(at)]],
    advice: 'Look at each after signing in.',
    notes: [
      ...alerts.map((alert) => {
        const { text, link } = printAlert(alert as Alert, addresses, reader)
        return `${text} ${link}`
      }),
      ...(more > 0 ? [`And ${more} more.`] : []),
    ],
  }
}
