import { createHash } from 'node:crypto'
import { escapeHtml } from '../base/html.js'
import { hindiLetters, PAGE_STYLE, preloadLetters } from '../base/page-style.js'

/** Content of the page. */
export interface HandoffPage {
  readonly language: string
  readonly destination: { readonly label: string }
  readonly agentName: string | null
  readonly callerMasked: string
  readonly brief: string | null
  readonly transcript: readonly { readonly role: string; readonly text: string }[]
  readonly position: number
  readonly live: boolean
}

/** Relative URL of the service's root. */
const ROOT = '../../'

const TEXTS = {
  en: {
    title: 'Call',
    caller: 'Caller',
    agent: 'Agent',
    brief: 'In short',
    said: 'What was said',
    nothing: 'Nothing was said so far.',
    live: 'The call is in progress. This page follows it.',
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
    live: 'कॉल चल रही है। यह पेज उसके साथ चलता है।',
    over: 'कॉल समाप्त हो गई।',
    roles: { agent: 'एजेंट', caller: 'कॉलर', human_agent: 'आप' },
  },
} as const

const STYLE = `${hindiLetters(ROOT)}${PAGE_STYLE}.brief { padding: .75rem; border-left: 4px solid var(--tone); background: var(--tint); border-radius: .25rem }
ol { list-style: none; margin: 0; padding: 0 }
li { margin: .75rem 0 }
b { display: block; font-size: .85rem; color: var(--dim) }
li.caller b { color: var(--tone) }
footer { margin-top: 1.5rem; font-size: .9rem; color: var(--dim) }
`

/** Seconds after which a browser without scripts loads the page of a live call again. */
const RENEW_SECONDS = 5

/** Adds what is said to the page. The texts of the page are its attributes; nothing of the call is read as HTML. */
const SCRIPT = `'use strict'
const list = document.querySelector('ol')
const status = document.querySelector('[role=status]')
const texts = list.dataset
const source = new EventSource(location.pathname + '/events?after=' + texts.after)
source.addEventListener('line', (event) => {
  const { role, text } = JSON.parse(event.data)
  const item = document.createElement('li')
  const name = document.createElement('b')
  item.className = role
  name.textContent = texts[role] ?? ''
  item.append(name, text)
  const low = window.innerHeight + window.scrollY >= document.body.scrollHeight - 80
  document.getElementById('nothing').hidden = true
  list.append(item)
  if (low) item.scrollIntoView()
})
source.addEventListener('brief', (event) => {
  document.getElementById('brief').hidden = false
  document.querySelector('.brief').textContent = JSON.parse(event.data).brief
})
source.addEventListener('end', (event) => {
  const { reason } = JSON.parse(event.data)
  if (reason !== 'over' && reason !== 'credential') return
  source.close()
  status.textContent = texts.over
})
`

/** The page has one style and one script, which follows the call at the address of the page. */
export const HANDOFF_POLICY = `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; font-src 'self'; connect-src 'self'; frame-ancestors 'none'`

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** Returns the page for the person who takes a call. Everything that was said so far is there without a script. */
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
  const brief = `<section id="brief"${page.brief === null ? ' hidden' : ''}>
<h2>${texts.brief}</h2>
<p class="brief">${escapeHtml(page.brief ?? '')}</p>
</section>
`
  const names = Object.entries(texts.roles).map(([role, name]) => ` data-${role}="${escapeHtml(name)}"`)
  const data = `${names.join('')} data-over="${escapeHtml(texts.over)}" data-after="${page.position}"`
  const renew = page.live
    ? `<noscript><meta http-equiv="refresh" content="${RENEW_SECONDS}"></noscript>\n`
    : ''
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${renew}${language === 'hi' ? preloadLetters(ROOT) : ''}<title>${texts.title}: ${escapeHtml(page.destination.label)}</title>
<style>${STYLE}</style>
<main>
<h1>${escapeHtml(page.destination.label)}</h1>
<p>${texts.caller}: ${escapeHtml(page.callerMasked)}</p>
${agent}${brief}<h2>${texts.said}</h2>
<p id="nothing"${spoken.length === 0 ? '' : ' hidden'}>${texts.nothing}</p>
<ol${data}>
${spoken.join('\n')}
</ol>
<footer><p role="status">${page.live ? texts.live : texts.over}</p></footer>
</main>
${page.live ? `<script>${SCRIPT}</script>\n` : ''}</html>
`
}
