import type { Browser } from 'playwright-core'
import t, { type Test } from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { WAIT_LIMIT_MS } from '../../fixtures/host/deadlines.js'
import { until } from '../../fixtures/host/until.js'
import { CHROMIUM } from '../../fixtures/service/chromium.js'
import { openBrowser, openDashboard } from '../../fixtures/service/dashboard.js'
import { handoffHtml } from './handoff-html.js'

const skip = CHROMIUM === null ? 'chromium is not installed' : false

/** The page of a call that is over, with and without words, against WCAG 2.2 AA. */
async function auditEnded(t: Test, browser: Browser): Promise<void> {
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
}

const WIDTH = 360
/** A word that no line of a telephone holds. */
const LONG_WORD = `https://example.com/${'bill-'.repeat(20)}`

/** A call whose person has heard the brief, and the address of the page for the person. */
async function openHandedOver(t: Test) {
  const database = await openMigratedSqlite()
  const calling = await openTestCalling(database)
  t.teardown(async () => {
    await calling.api.close()
    await database.close()
  })
  const { send, clock, control } = calling
  const made = { key: 'desk', label: 'Desk', e164: '+919876500001' }
  const id = String(dataOf(await send('POST', '/v1/transfer-destinations', { json: made })).id)
  await send('POST', `/v1/transfer-destinations/${id}/verify`)
  await send('POST', `/v1/transfer-destinations/${id}/confirm`, { json: { code: '000000' } })
  await calling.publishAgent({
    callSettings: { transfer: { defaultDestinationId: id, destinations: [{ destinationId: id }] } },
  })
  const to = { to: '+919876543210', numberId: calling.numberId }
  const callId = String(dataOf(await send('POST', '/v1/calls', { json: to })).id)
  await calling.emitCallEvent(callId, { type: 'dialing', sipCallId: callId }, { type: 'answered' })
  let turns = 0
  const say = (speaker: 'caller' | 'human', text: string) => {
    const times = { startMs: ++turns * 1_000, endMs: turns * 1_000 + 900 }
    const turn = { id: turns, speaker, text, heardText: text, language: 'en-IN', words: null, ...times }
    return calling.emitCallEvent(callId, { type: 'turn', turn })
  }
  await say('caller', 'My bill is wrong.')
  await send('POST', `/v1/calls/${callId}/transfer`, { json: {} })
  const plan = control.transfers.at(-1)?.plan
  if (plan === undefined) throw new Error('nothing was transferred')
  const { mode, destination } = plan
  for (const status of ['accepted', 'ringing', 'answered'] as const) {
    await calling.emitCallEvent(callId, {
      ...{ type: 'transfer', attempt: 1, mode, destination, status, outcome: null },
      ...(status === 'accepted' ? { details: plan.describe(destination) } : {}),
      ...(status === 'answered' ? { brief: 'The caller asks about a bill.' } : {}),
    })
  }
  const [started] = itemsOf(await send('GET', '/v1/events?type=call.transfer_started'))
  const { payload } = dataOf(await send('GET', `/v1/events/${started?.id}`)) as {
    payload: { links: { handoff: string } }
  }
  return {
    address: payload.links.handoff,
    say,
    end: () =>
      calling.emitCallEvent(callId, {
        ...{ type: 'ended', rtp: null, recording: null },
        ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
      }),
    /** Lets time pass at the service until the page shows something. */
    shows: (look: () => Promise<boolean>) =>
      until(async () => {
        await clock.advanceAsync(100, 100)
        return await look()
      }),
  }
}

const TEXTS = {
  en: {
    ...{ live: 'The call is in progress. This page follows it.', over: 'The call is over.' },
    ...{ caller: 'Caller: ••••••••••210', brief: 'In short', name: 'Caller', you: 'You' },
  },
  hi: {
    ...{ live: 'कॉल चल रही है। यह पेज उसके साथ चलता है।', over: 'कॉल समाप्त हो गई।' },
    ...{ caller: 'कॉलर: ••••••••••210', brief: 'संक्षेप में', name: 'कॉलर', you: 'आप' },
  },
} as const

t.test('the page of a handed-over call', { skip }, async (t) => {
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  await t.test('after the call', (t) => auditEnded(t, browser))
  for (const language of ['en', 'hi'] as const) {
    const colours = language === 'en' ? 'light' : 'dark'
    const texts = TEXTS[language]
    await t.test(`while the call lasts, on a telephone: ${language}`, async (t) => {
      const call = await openHandedOver(t)
      const address = `${call.address}?lang=${language}`

      const still = await browser.newContext({
        javaScriptEnabled: false,
        viewport: { width: WIDTH, height: 700 },
      })
      still.setDefaultTimeout(WAIT_LIMIT_MS)
      const unscripted = await still.newPage()
      const answer = await unscripted.goto(address)
      t.match(answer?.headers()['cache-control'], 'no-store')
      // The page loads itself again from time to time.
      for (const text of [texts.caller, texts.brief, 'The caller asks about a bill.', 'My bill is wrong.'])
        await unscripted.getByText(text).waitFor()
      await still.close()

      const shown = await openDashboard(browser, address, { language, colours, width: WIDTH })
      const { page } = shown
      await page.goto(address)
      const status = page.locator('[role=status]')
      t.equal(await page.evaluate('document.readyState'), 'complete')
      t.equal(await page.locator('html').getAttribute('lang'), language)
      t.equal(await status.textContent(), texts.live)
      t.same(await shown.audit(), [], 'while the call lasts')

      const lines = page.locator('li')
      t.equal(await lines.count(), 1)
      await call.say('human', `Hello, look at ${LONG_WORD}`)
      await call.shows(async () => (await lines.count()) > 1)
      t.same(await lines.allInnerTexts(), [
        `${texts.name}\nMy bill is wrong.`,
        `${texts.you}\nHello, look at ${LONG_WORD}`,
      ])
      t.same(await shown.audit(), [], 'with a line that came later')

      await call.end()
      await call.shows(async () => (await status.textContent()) === texts.over)
      t.equal(await lines.count(), 2)
      t.same(await shown.audit(), [], 'after the call')
      t.same(shown.faults, [])
      await shown.close()
    })
  }
})
