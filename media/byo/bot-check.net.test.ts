import t from 'tap'
import { type BotCall, type BotTest, openBot } from '../../fixtures/bots/bot.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import type { Json } from '../../fixtures/service/service.js'
import { openSafeResolver } from '../base/public-address.js'
import { type BotReport, checkBot } from './bot-check.js'
import type { BotSpec } from './bot-spec.js'

/* Findings of the check of bots that do one thing wrong, or something unusual right; 8 s on the test's clock. */

async function check(
  t: BotTest,
  spec: Partial<BotSpec>,
  hears: (call: BotCall, json: Json | null) => void,
): Promise<BotReport> {
  const bot = await openBot(t, { onMessage: (call, { json }) => hears(call, json) })
  const clock = new VirtualClock()
  const report = checkBot({
    spec: {
      type: 'static',
      url: bot.url,
      format: 'mulaw',
      sampleRate: 8000,
      secret: null,
      customParameters: {},
      callId: '0188a5f0-aaaa-4bbb-8ccc-ddddeeeeffff',
      accountId: 'a',
      direction: 'inbound',
      from: '+91',
      to: '+91',
      maxCallSeconds: 60,
      ...spec,
    },
    clock,
    lookup: openSafeResolver(true).lookupOf(''),
    allowPrivate: true,
  })
  let over = false
  const told = () => {
    over = true
  }
  report.then(told, told)
  await bot.call()
  while (!over) await clock.advanceAsync(20, 20)
  return report
}

const loud = Buffer.alloc(1_600, 0x20).toString('base64')
const first = (json: Json | null, run: () => void): void => {
  if (json?.event === 'start' || json?.sampleRate !== undefined) run()
}

t.test('audio with an id is acknowledged when it was played, and may replace queued audio', async (t) => {
  let done = 0
  const play = { audioContent: loud, audioContentType: 'raw', sampleRate: 8000 }
  const report = await check(t, { type: 'jambonz', format: 'linear16' }, (call, json) => {
    first(json, () => call.send({ type: 'playAudio', data: { ...play, id: 'p1', queuePlay: true } }))
    if (json?.type !== 'playDone') return
    done++
    // Five seconds, of which nothing is heard but the last word.
    const long = Buffer.alloc(80_000, 0x20).toString('base64')
    if (done === 1) {
      call.send({ type: 'playAudio', data: { ...play, audioContent: long } })
      call.send({ type: 'playAudio', data: { ...play, id: 'p2' } })
    }
  })
  t.equal(done, 2)
  t.match(report, { unreachable: null, violations: [], commands: { play: 3 }, closedWith: null })
})

t.test('an unknown event is ignored, an invalid one is a violation', async (t) => {
  const report = await check(t, {}, (call, json) =>
    first(json, () => {
      call.send({ event: 'session.hello' })
      call.send('{"event":')
      call.send({ event: 'media', media: { payload: 'AAAA****' } })
      call.send({ event: 'media', media: { payload: loud } })
    }),
  )
  t.strictSame(report.ignored, ['unknown event session.hello'])
  t.equal(report.violations.length, 2)
  t.match(report.violations.join(), /not a JSON object.*not base64/)
})

t.test('a bot that hangs up: its queued audio is played and it receives a stop', async (t) => {
  let stops = 0
  const report = await check(t, {}, (call, json) => {
    first(json, () => {
      call.send({ event: 'media', media: { payload: loud } })
      call.send({ event: 'hangup' })
    })
    if (json?.event === 'stop') stops++
  })
  t.ok((report.hungUpMs ?? 9e9) < 4_000, `${report.hungUpMs}`)
  t.not(report.firstAudioMs, null)
  t.equal(stops, 1)
})

t.test('a closed connection is reported with its code', async (t) => {
  const report = await check(t, {}, (call, json) => first(json, () => call.socket.close(1011)))
  t.equal(report.closedWith, 1011)
})
