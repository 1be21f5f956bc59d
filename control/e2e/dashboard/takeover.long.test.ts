import t from 'tap'
import { joined, toneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { until } from '../../../fixtures/host/until.js'
import { BrowserPhone, openPhoneBrowser, writeTone } from '../../../fixtures/service/browser-phone.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import { openDashboard, signInOwner } from '../../../fixtures/service/dashboard.js'
import { sessionSend } from '../../../fixtures/service/dashboard-data.js'
import type { Json } from '../../../fixtures/service/service.js'

/*
 * A user takes a running call over with the microphone of a real browser, over DTLS-SRTP: the caller hears the tone of the
 * microphone while the user has the call and neither before nor after, the user hears the caller, and the agent gets the
 * caller back.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
/** Talks for ever. */
const CALLER = '+919000000009'
const MICROPHONE_HZ = 1_100
/** Of a tenth of a second of speech (seconds at full scale). */
const SPEECH_ENERGY = 1e-3
const PIECE_MS = 50

t.test('a takeover by the microphone of a browser', { skip, timeout: 250_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const [agent] = (await service.send('GET', '/v1/agents')).body.data as Json[]
  await service.api('PATCH', `/v1/agents/${agent?.id}`, {
    callSettings: {
      nudges: { enabled: false },
      transfer: { preTransferLine: { text: 'A colleague joins us now.' }, recordHumanSegment: true },
    },
  })
  await service.api('POST', `/v1/agents/${agent?.id}/publish`, {})
  const [number] = (await service.send('GET', '/v1/numbers')).body.data as Json[]
  await service.api('PATCH', `/v1/numbers/${number?.id}`, { recordCalls: true })

  const browser = await openPhoneBrowser(CHROMIUM ?? '', writeTone(folder, MICROPHONE_HZ))
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const dashboard = await openDashboard(browser, url, { language: 'en', colours: 'light', width: 1440 })
  const { page } = dashboard
  const phone = await BrowserPhone.watch(page)
  await signInOwner(page, service)

  const call = await service.api('POST', '/v1/calls', {
    ...{ to: CALLER, numberId: number?.id, agentId: agent?.id },
  })
  await dashboard.show('test/live-calls')
  const row = page.getByRole('row', { name: CALLER })
  await row.getByRole('cell', { name: 'In progress' }).waitFor()
  await row.getByRole('link').press('t')
  await page.getByRole('button', { name: 'Take over with this browser' }).click()
  const status = page.getByText(/^(You are talking to|Last takeover:)/)
  await status.waitFor()
  t.equal(await status.textContent(), `You are talking to ${CALLER}. The agent is waiting.`)
  t.same(await dashboard.audit(), [], 'while the user has the call')
  const begun = await phone.received()
  t.equal(begun.state, 'connected')
  await until(async () => (await phone.received()).energy > begun.energy + SPEECH_ENERGY, { everyMs: 100 })
  await until(async () => (await phone.received()).packets > begun.packets + 150, { everyMs: 100 })
  t.equal(await phone.microphones(), 1)
  await page.getByRole('button', { name: 'Hand back' }).click()
  await page.getByText('Last takeover: handed back.').waitFor()
  t.equal(await phone.microphones(), 0, 'the microphone is released')

  const monitors = (await service.send('GET', `/v1/calls/${call.id}/monitors`)).body.data as Json[]
  t.match(monitors, [{ mode: 'takeover', startedAt: /Z$/, endedAt: /Z$/, outcome: 'given_back' }])
  t.equal(monitors.length, 1)
  const { status: state } = await service.api('GET', `/v1/calls/${call.id}`)
  t.equal(state, 'in_progress', 'the agent has the caller again')
  // Long enough to hear on the recording that the user has gone.
  const turns = async () =>
    (await service.api('GET', `/v1/calls/${call.id}/timeline`)).turns as { readonly speaker: string }[]
  const before = (await turns()).filter(({ speaker }) => speaker === 'agent').length
  await until(async () => (await turns()).filter(({ speaker }) => speaker === 'agent').length > before + 1, {
    everyMs: 300,
  })
  const audit = await sessionSend(page, 'GET', '/v1/organization/audit-log?limit=50')
  const actions = (audit as unknown as Json[])
    .map(({ action }) => String(action))
    .filter((action) => action.startsWith('call.takeover'))
  t.same(actions.toReversed(), ['call.takeover_requested', 'call.takeover_started', 'call.takeover_ended'])
  await sessionSend(page, 'POST', `/v1/calls/${call.id}/hangup`, {})

  let recording: Json = {}
  await until(
    async () => {
      const { status, body } = await service.send('GET', `/v1/calls/${call.id}/recording`)
      recording = body.data as Json
      return status === 200
    },
    { everyMs: 300 },
  )
  const bytes = new Uint8Array(await (await fetch(String(recording.url))).arrayBuffer())
  const { rate, channels } = readWav(bytes)
  const [caller = joined(), heard = joined()] = channels
  const size = (rate * PIECE_MS) / 1000
  /** The pieces that have the tone of the microphone. */
  const tones = (pcm: Int16Array) => {
    const found: number[] = []
    for (let at = 0; at + size <= pcm.length; at += size)
      if (toneLevel(pcm.subarray(at, at + size), MICROPHONE_HZ, rate) > 0.1) found.push(at / size)
    return found
  }
  const pieces = tones(heard)
  t.ok(pieces.length > 40, `the caller heard the user: ${pieces.length} pieces`)
  t.ok(Number(pieces[0]) > 20, 'and not before the takeover')
  t.ok(Number(pieces.at(-1)) < heard.length / size - 20, 'nor after it')
  t.same(tones(caller), [], 'the user is not on the side of the caller')
  t.same(dashboard.faults, [])
  await dashboard.close()
  await browser.close()
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})
