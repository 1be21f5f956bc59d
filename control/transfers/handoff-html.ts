import { createHash } from 'node:crypto'
import { escapeHtml } from '../base/html.js'

/** What the page shows. */
export interface HandoffPage {
  readonly language: string
  readonly destination: { readonly label: string }
  readonly agentName: string | null
  readonly callerMasked: string
  readonly brief: string | null
  readonly transcript: readonly { readonly role: string; readonly text: string }[]
  readonly live: boolean
}

const TEXTS = {
  en: {
    title: 'Call',
    caller: 'Caller',
    agent: 'Agent',
    brief: 'In short',
    said: 'What was said',
    nothing: 'Nothing was said so far.',
    live: 'The call is in progress. This page renews itself.',
    over: 'The call is over.',
    roles: { agent: 'Agent', caller: 'Caller', human_agent: 'You' },
  },
  hi: {
    title: 'कॉल',
    caller: 'कॉलर',
    agent: 'एजेंट',
    brief: 'संक्षेप में',
    said: 'अब तक की बातचीत',
    nothing: 'अब तक कुछ नहीं कहा गया।',
    live: 'कॉल चल रही है। यह पेज अपने आप नया होता है।',
    over: 'कॉल समाप्त हो गई।',
    roles: { agent: 'एजेंट', caller: 'कॉलर', human_agent: 'आप' },
  },
} as const

const STYLE = `body { margin: 0; font: 1.05rem/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff }
main { max-width: 32rem; margin: 0 auto; padding: 1rem 1rem 4rem; overflow-wrap: anywhere }
h1 { font-size: 1.3rem; margin: 0 }
h2 { font-size: 1rem; margin: 1.5rem 0 .25rem }
p { margin: .25rem 0 }
.brief { padding: .75rem; border-left: 4px solid #1864ab; background: #f1f6fb }
ol { list-style: none; margin: 0; padding: 0 }
li { margin: .5rem 0 }
b { display: block; font-size: .85rem }
li.caller b { color: #1864ab }
footer { margin-top: 1.5rem; font-size: .9rem }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #121212 }
  .brief { background: #1c2733 }
  li.caller b { color: #74c0fc }
}
`

/** Seconds after which the page of a live call is loaded again. */
const RENEW_SECONDS = 5

/** The page has one style and no script, so that it needs no other request. */
export const HANDOFF_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256')
  .update(STYLE)
  .digest('base64')}'; frame-ancestors 'none'`

/** Returns the page for the person who takes a call: it works on a small screen and without scripts. */
export function handoffHtml(page: HandoffPage): string {
  const language = page.language.startsWith('hi') ? 'hi' : 'en'
  const texts = TEXTS[language]
  const spoken = page.transcript
    .filter(({ role }) => Object.hasOwn(texts.roles, role))
    .map(({ role, text }) => {
      const name = texts.roles[role as keyof typeof texts.roles]
      return `<li class="${escapeHtml(role)}"><b>${escapeHtml(name)}</b>${escapeHtml(text)}</li>`
    })
  const agent = page.agentName === null ? '' : `<p>${texts.agent}: ${escapeHtml(page.agentName)}</p>\n`
  const brief =
    page.brief === null ? '' : `<h2>${texts.brief}</h2>\n<p class="brief">${escapeHtml(page.brief)}</p>\n`
  const renew = page.live ? `<meta http-equiv="refresh" content="${RENEW_SECONDS}">\n` : ''
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${renew}<title>${texts.title}: ${escapeHtml(page.destination.label)}</title>
<style>${STYLE}</style>
<main>
<h1>${escapeHtml(page.destination.label)}</h1>
<p>${texts.caller}: ${escapeHtml(page.callerMasked)}</p>
${agent}${brief}<h2>${texts.said}</h2>
${spoken.length === 0 ? `<p>${texts.nothing}</p>` : `<ol>\n${spoken.join('\n')}\n</ol>`}
<footer><p role="status">${page.live ? texts.live : texts.over}</p></footer>
</main>
</html>
`
}
