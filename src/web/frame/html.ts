/** Pages print with the same templates as mail does (src/html.ts). */
export { type Content, escapeHtml, Html, html } from '../../html.ts'
