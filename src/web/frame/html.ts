/** Pages print with the same templates as mail does (src/text/html.ts). */
export { type Content, escapeHtml, Html, html } from '../../text/html.ts'
