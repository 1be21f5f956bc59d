import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tone, toneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { until } from '../../../fixtures/host/until.js'
import {
  BrowserPhone,
  openPhoneBrowser,
  writeSpeech,
  writeTone,
} from '../../../fixtures/service/browser-phone.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { type StartedService, startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import { findCoturn, HOW_TO_GET_COTURN, startCoturn } from '../../../fixtures/service/coturn.js'
import { openDashboard, signInOwner } from '../../../fixtures/service/dashboard.js'
import { sessionSend } from '../../../fixtures/service/dashboard-data.js'
import type { Json } from '../../../fixtures/service/service.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { CLIP_RATE, findClip, readClip } from '../../../fixtures/speech/manifest.js'
import { openFakeOpenAi, pcmReply } from '../../../fixtures/vendors/fake-openai.js'
import { pcmBytes } from '../../../fixtures/vendors/openai-frames.js'
import { projectRoot } from '../../../media/base/project-root.js'

/*
 * Calls of real browsers: interruption, what a network and a page do to a call, a relay, and tickets that are no good.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const VIEW = { language: 'en', colours: 'light', width: 1440 } as const
const CALLER_HZ = 1_100
const AGENT_HZ = 700
const LISTENER_HZ = 1_700
/** Rate of the speech of OpenAI. */
const SPEECH_RATE = 24_000
/** Least level of a tone that is heard, whose source has 0.5; an absent tone has less than a tenth of it. */
const AUDIBLE = 0.1
const PIECE_MS = 50
/** Less than the time for which a page tries to connect again. */
const CUT_MS = 25_000
/** Longer than a call without consent and media is kept. */
const GHOST_MS = 150_000

/** Opens a browser with this microphone, a page of the signed-in owner, and its telephone. */
async function openPhone(
  t: Test,
  service: StartedService,
  microphone: string,
  trusted: readonly string[] = [],
) {
  const browser = await openPhoneBrowser(CHROMIUM ?? '', microphone, trusted)
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const dashboard = await openDashboard(browser, url, VIEW)
  const phone = await BrowserPhone.watch(dashboard.page)
  await signInOwner(dashboard.page, service)
  return { ...dashboard, browser, phone }
}

const calls = async (service: StartedService) => (await service.send('GET', '/v1/calls')).body.data as Json[]
const call = (service: StartedService, id: unknown) => service.api('GET', `/v1/calls/${id}`)
const ended = (service: StartedService, id: unknown, ms?: number) =>
  until(async () => (await call(service, id)).status === 'ended', {
    everyMs: 250,
    ...(ms === undefined ? {} : { ms }),
  })

async function publish(service: StartedService, callSettings: Json): Promise<string> {
  const [agent] = (await service.send('GET', '/v1/agents')).body.data as Json[]
  await service.api('PATCH', `/v1/agents/${agent?.id}`, {
    callSettings: { nudges: { enabled: false }, maxCallSeconds: 600, ...callSettings },
  })
  await service.api('POST', `/v1/agents/${agent?.id}/publish`, {})
  return String(agent?.id)
}

t.test('tickets, reload, a cut WebSocket, and a page that dies', { skip, timeout: 500_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const agentId = await publish(service, {})
  const { page, phone, show, browser } = await openPhone(t, service, writeTone(folder, CALLER_HZ))
  const body = { purpose: 'talk', agentId }
  const stale = await sessionSend(page, 'POST', '/v1/browser-calls', body)
  const used = { data: {} as Json }
  await page.route('**/v1/browser-calls', async (route) => {
    const response = await route.fetch()
    used.data = ((await response.json()) as { data: Json }).data
    await route.fulfill({ response })
  })
  await show(`test/agents/${agentId}`)
  await phone.talk()
  await phone.hears()
  await page.unroute('**/v1/browser-calls')
  const [first] = await calls(service)
  t.equal(first?.id, used.data.callId)

  await phone.cut(CUT_MS)
  const lost = page.getByText('Connection lost, reconnecting.')
  await lost.waitFor()
  const before = (await phone.received()).packets
  await until(async () => (await phone.received()).packets > before + 100, { everyMs: 100 })
  t.equal(await lost.count(), 1, 'media flow meanwhile')
  await phone.mend()
  await page.getByText('You are talking to the agent.').waitFor()
  t.equal(await phone.microphones(), 1)
  t.equal((await call(service, first?.id)).status, 'in_progress')
  await phone.hangUp()
  await ended(service, first?.id)
  t.match(await call(service, first?.id), { endedReason: 'caller_hangup' })
  t.equal((await calls(service)).length, 1, 'no ghost call')

  const dialWith = async (data: Json, words: string) => {
    await page.route('**/v1/browser-calls', (route) => route.fulfill({ status: 201, json: { data } }))
    await page.getByRole('button', { name: 'Talk', exact: true }).click()
    await page.getByText(words).waitFor()
    t.equal(await phone.microphones(), 0, 'the microphone is released')
    await page.unroute('**/v1/browser-calls')
  }
  await dialWith(used.data, 'The permission for this call was used before.')

  await phone.talk()
  await phone.hears()
  const [reloaded] = await calls(service)
  await page.reload()
  await ended(service, reloaded?.id)
  t.match(await call(service, reloaded?.id), { endedReason: 'caller_hangup' })
  await until(async () => Date.parse(String(stale.expiresAt)) < Date.now(), { everyMs: 500, ms: 120_000 })
  await dialWith(stale, 'The permission for this call has expired.')

  await phone.talk()
  await phone.hears()
  const [dying] = await calls(service)
  t.not(dying?.id, reloaded?.id)
  // The process of the page ends without a word to anybody.
  const crash = await page.context().newCDPSession(page)
  crash.send('Page.crash').catch(() => {})
  await ended(service, dying?.id, GHOST_MS)
  t.equal((await calls(service)).length, 3)
  t.equal((await calls(service)).filter(({ status }) => status !== 'ended').length, 0, 'no ghost call')
  await browser.close()
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})

t.test('a person interrupts the agent', { skip, timeout: 200_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const text = 'Welcome to the clinic. '.concat(
    'We are open from Monday to Saturday, and closed on Sundays. '.repeat(6),
  )
  const agentId = await publish(service, { inboundOpeningLine: { text } })
  const speech = readClip(findClip('tuning-u02-clean'))
  const microphone = writeSpeech(folder, speech, CLIP_RATE, 4_000)
  const { page, phone, show } = await openPhone(t, service, microphone)
  await show(`test/agents/${agentId}`)
  await phone.talk()
  await phone.hears()
  const [running] = await calls(service)
  const turns = async () =>
    (await service.api('GET', `/v1/calls/${running?.id}/timeline`)).turns as {
      readonly speaker: string
      readonly interruptedAtMs: number | null
    }[]
  await until(async () => (await turns()).some(({ interruptedAtMs }) => interruptedAtMs !== null), {
    everyMs: 300,
  })
  t.equal((await turns())[0]?.speaker, 'agent')
  await page.getByRole('button', { name: 'Hang up' }).click()
  await ended(service, running?.id)
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})

/** Starts a service whose agent answers with a tone that lasts two minutes. Returns the id of the agent as well. */
async function startWithTone(t: Test, folder: string, env: Readonly<Record<string, string>> = {}) {
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  vendor.setDefault('speech', pcmReply([pcmBytes(tone(AGENT_HZ, 120_000, SPEECH_RATE, 0.5))]))
  const service = await startService(t, folder, {
    env: {
      ...env,
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_OPENAI_SPEECH_MODEL: 'fake-voice',
      PARLEY_OPENAI_SPEECH_VOICE: 'vera',
    },
  })
  const [agent] = (await service.send('GET', '/v1/agents')).body.data as Json[]
  const voice = { ...(agent?.voice as Json), ttsModel: 'fake-voice', ttsVoice: 'vera' }
  await service.api('PATCH', `/v1/agents/${agent?.id}`, { voice })
  const agentId = await publish(service, { inboundOpeningLine: { text: 'Welcome to the clinic.' } })
  return { service, agentId }
}

const hears = (phone: BrowserPhone, ...hz: number[]) =>
  until(async () => (await phone.tones(...hz)).every((level) => level > AUDIBLE), { everyMs: 100 })

/**
 * Counts the pieces of the recording of a call in which the tones of caller and agent are heard at the same time, and those with the
 * tone of a listener.
 */
async function recordedTones(service: StartedService, id: unknown) {
  await until(async () => (await call(service, id)).hasRecording === true, { everyMs: 200 })
  const link = (await service.api('GET', `/v1/calls/${id}/recording`)) as { readonly url: string }
  const file = await fetch(`${service.httpUrl}${new URL(link.url).pathname}`)
  const { channels, rate } = readWav(new Uint8Array(await file.arrayBuffer()))
  const [said = new Int16Array(0), heard = new Int16Array(0)] = channels
  const size = (rate * PIECE_MS) / 1000
  let both = 0
  let foreign = 0
  for (let at = 0; at + size <= said.length; at += size) {
    const mine = said.subarray(at, at + size)
    const theirs = heard.subarray(at, at + size)
    if (toneLevel(mine, CALLER_HZ, rate) > AUDIBLE && toneLevel(theirs, AGENT_HZ, rate) > AUDIBLE) both++
    for (const side of [mine, theirs]) if (toneLevel(side, LISTENER_HZ, rate) > AUDIBLE) foreign++
  }
  return { both, foreign }
}

t.test('tones both ways at once, and a listener whom nobody hears', { skip, timeout: 300_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const { service, agentId } = await startWithTone(t, folder)

  const caller = await openPhone(t, service, writeTone(folder, CALLER_HZ))
  // Before the call: a browser that starts on a busy host takes a good part of the agent's tone.
  const listener = await openPhone(t, service, writeTone(folder, LISTENER_HZ))
  await caller.show(`test/agents/${agentId}`)
  await caller.phone.talk()
  await hears(caller.phone, AGENT_HZ)
  const [running] = await calls(service)

  // The dashboard listens over a WebSocket. Its telephone dials whatever a ticket names.
  const ticket = await sessionSend(listener.page, 'POST', '/v1/browser-calls', {
    ...{ purpose: 'listen', callId: running?.id },
  })
  await listener.page.route('**/v1/browser-calls', (route) =>
    route.fulfill({ status: 201, json: { data: ticket } }),
  )
  await listener.show(`test/agents/${agentId}`)
  await listener.phone.talk()
  t.equal(await listener.phone.microphones(), 1, 'with a microphone that sends')
  await hears(listener.phone, CALLER_HZ, AGENT_HZ)
  const sent = () =>
    listener.page.evaluate<number>(`(async () => {
      const stats = [...(await watched.peers.at(-1).getStats()).values()]
      return stats.find(({ type }) => type === 'outbound-rtp')?.packetsSent ?? 0
    })()`)
  const before = await sent()
  await until(async () => (await sent()) > before + 100, { everyMs: 100 })
  const [own = 1] = await caller.phone.tones(LISTENER_HZ)
  t.ok(own < AUDIBLE / 2, `the caller does not hear the listener: ${own}`)
  await hears(caller.phone, AGENT_HZ)
  const monitors = (await service.send('GET', `/v1/calls/${running?.id}/monitors`)).body.data as Json[]
  t.match(monitors, [{ mode: 'listen', endedAt: null }])
  await listener.phone.hangUp()
  t.equal((await call(service, running?.id)).status, 'in_progress', 'the call goes on')
  await caller.phone.hangUp()
  await ended(service, running?.id)

  const { both, foreign } = await recordedTones(service, running?.id)
  t.ok(both > 40, `both tones at the same time: ${both} pieces`)
  t.equal(foreign, 0, 'nothing of the listener')
  await listener.browser.close()
  await caller.browser.close()
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})

const COTURN = findCoturn()
const noRelay = skip !== false ? skip : COTURN === null ? HOW_TO_GET_COTURN : false

t.test(
  'tones both ways over a relay, in a network without UDP',
  { skip: noRelay, timeout: 200_000 },
  async (t) => {
    const folder = await temporaryFolder(t)
    const secret = 'a secret of both'
    const text = readFileSync(join(projectRoot, 'docs', 'browser-calls.md'), 'utf8')
    const [, configuration = ''] = /```ini\n(.*?)```/s.exec(text) ?? []
    const certificate = makeAuthority(t).issue('IP:127.0.0.1')
    const relay = await startCoturn(COTURN ?? '', configuration, secret, certificate)
    t.teardown(() => relay.close())
    const { service, agentId } = await startWithTone(t, folder, {
      PARLEY_TURN_URLS: relay.urls.join(','),
      PARLEY_TURN_SECRET: secret,
    })
    const { page, phone, show, browser } = await openPhone(t, service, writeTone(folder, CALLER_HZ), [
      certificate.certificate,
    ])
    await show(`test/agents/${agentId}`)
    for (const [scheme, relayProtocol] of [
      ['turn', 'tcp'],
      ['turns', 'tls'],
    ] as const) {
      await phone.useRelay(scheme)
      await phone.talk()
      await hears(phone, AGENT_HZ)
      t.same(await phone.way(), { kind: 'relay', relayProtocol })
      const [running] = await calls(service)
      const { packets } = await phone.received()
      await until(async () => (await phone.received()).packets > packets + 400, { everyMs: 100 })
      await phone.hangUp()
      await ended(service, running?.id)
      const { both } = await recordedTones(service, running?.id)
      t.ok(both > 40, `${scheme}: both tones at the same time: ${both} pieces`)
    }

    const { iceServers } = await sessionSend(page, 'POST', '/v1/browser-calls', { purpose: 'talk', agentId })
    const [given] = iceServers as {
      readonly urls: string[]
      readonly username: string
      readonly credential: string
    }[]
    const signed = (username: string, by: string) => ({
      ...given,
      username,
      credential: createHmac('sha1', by).update(username).digest('base64'),
    })
    const username = given?.username ?? ''
    const [expiry = '', user = ''] = username.split(':')
    t.ok((await phone.relayAddresses(signed(username, secret))) > 0, 'the secret makes the credentials')
    t.equal(await phone.relayAddresses(signed(username, 'another secret')), 0)
    const past = `${Math.floor(Date.now() / 1000) - 60}:${user}`
    t.equal(await phone.relayAddresses(signed(past, secret)), 0, 'expired credentials')
    const later = { ...given, username: `${Number(expiry) + 60}:${user}` }
    t.equal(await phone.relayAddresses(later), 0, 'nobody prolongs them')
    await browser.close()
    service.cli.process.kill('SIGTERM')
    t.equal(await service.cli.exit(), 0)
  },
)
