import t from 'tap'
import { CHROMIUM } from '../../fixtures/service/chromium.js'
import { openBrowser, openDashboard } from '../../fixtures/service/dashboard.js'
import { handoffHtml } from './handoff-html.js'

const skip = CHROMIUM === null ? 'chromium is not installed' : false

t.test('the page of a handed-over call against WCAG 2.2 AA', { skip }, async (t) => {
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  for (const language of ['en', 'hi'] as const) {
    const colours = language === 'en' ? 'light' : 'dark'
    const view = { language, colours, width: 320 } as const
    const shown = await openDashboard(browser, 'http://parley.test/', view)
    for (const spoken of [true, false]) {
      const html = handoffHtml({
        language,
        destination: { label: 'Front desk' },
        agentName: 'Clinic',
        callerMasked: '+91 ***** **678',
        brief: spoken ? 'The caller asks for a bill.' : null,
        transcript: spoken
          ? [
              { role: 'agent', text: 'Hello, this is the clinic.' },
              { role: 'caller', text: 'I have a question about my bill.' },
              { role: 'human_agent', text: 'How can I help?' },
            ]
          : [],
        position: 3,
        live: false,
      })
      await shown.page.setContent(html)
      t.equal(await shown.page.locator('html').getAttribute('lang'), language)
      t.same(await shown.audit(), [], `${language}, ${spoken ? 'with' : 'without'} words`)
    }
    await shown.close()
  }
})
