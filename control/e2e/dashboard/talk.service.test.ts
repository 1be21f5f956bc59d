import t from 'tap'
import { clearToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { until } from '../../../fixtures/host/until.js'
import { BrowserPhone, openPhoneBrowser, writeTone } from '../../../fixtures/service/browser-phone.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import { openDashboard, signInOwner } from '../../../fixtures/service/dashboard.js'
import type { Json } from '../../../fixtures/service/service.js'

/* A call from the page of an agent in a real browser: tones both ways, keys, the end, and a second call. */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const HZ = 1_100
const LINE = 'We are open from Monday to Saturday, and closed on Sundays. '

t.test('a person talks to an agent', { skip, timeout: 120_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const browser = await openPhoneBrowser(CHROMIUM ?? '', writeTone(folder, HZ))
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const { page, faults, show, audit } = await openDashboard(browser, url, {
    ...{ language: 'en', colours: 'light', width: 1440 },
  })
  const phone = await BrowserPhone.watch(page)
  await signInOwner(page, service)
  const [agent] = (await service.send('GET', '/v1/agents')).body.data as Json[]
  // A browser on a loaded host misses seconds of what is said, so the agent talks for long.
  await service.api('PATCH', `/v1/agents/${agent?.id}`, {
    callSettings: { inboundOpeningLine: { text: LINE.repeat(12) }, maxCallSeconds: 600 },
  })
  await service.api('POST', `/v1/agents/${agent?.id}/publish`, {})
  await show(`test/agents/${agent?.id}`)

  await phone.talk()
  t.equal(await phone.microphones(), 1)
  await phone.hears()
  t.same(await audit(), [], 'the screen of a call')
  await page.getByRole('button', { name: 'Keys' }).click()
  await page.getByRole('button', { name: '5', exact: true }).click()
  const [call] = (await service.send('GET', '/v1/calls')).body.data as Json[]
  t.match(call, { direction: 'inbound', from: 'browser', agentId: agent?.id })
  const timeline = () => service.api('GET', `/v1/calls/${call?.id}/timeline`)
  await until(async () => JSON.stringify(await timeline()).includes('"5"'), { everyMs: 200 })
  await phone.hangUp()
  t.equal(await phone.microphones(), 0, 'the microphone is released')

  const ended = async () => (await service.api('GET', `/v1/calls/${call?.id}`)) as Json
  await until(async () => (await ended()).status === 'ended', { everyMs: 200 })
  t.match(await ended(), { endedReason: 'caller_hangup' })
  await until(async () => (await ended()).hasRecording === true, { everyMs: 200 })
  const link = (await service.api('GET', `/v1/calls/${call?.id}/recording`)) as { readonly url: string }
  const file = await fetch(`${service.httpUrl}${new URL(link.url).pathname}`)
  const { channels, rate } = readWav(new Uint8Array(await file.arrayBuffer()))
  const heard = channels[0] ?? new Int16Array(0)
  t.ok(clearToneLevel(heard.subarray(heard.length / 2), HZ, rate) > 0.1, 'the service heard the microphone')

  await phone.talk()
  await phone.hears()
  await phone.hangUp()
  t.equal(await phone.microphones(), 0)
  t.same(faults, [])
  await page.context().close()
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})
