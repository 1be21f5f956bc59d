import t, { type Test } from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { type LocalParts, openLocalHost } from '../../fixtures/virtual-call/local-media-pool.js'
import type { Vendors } from '../../media/agent/vendor-ports.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { FrameClock } from '../../media/session/frame-clock.js'
import { warmUp } from './warm-up.js'

async function hostOf(t: Test, parts: LocalParts = {}) {
  assertNothingLeft(t)
  const frameClock = new FrameClock(systemClock, () => t.fail('the clock of the thread ran'))
  t.teardown(() => frameClock.close())
  const settings = {
    workers: 1,
    rtpAddress: '127.0.0.1',
    rtpPorts: { first: 0, last: 0 },
    mediaTimeoutMs: 30_000,
    providers: { openai: null },
    clock: systemClock,
    log: silentLog,
  }
  return await openLocalHost(settings, parts, frameClock, new Map())
}

t.test('calls in four codecs have sound in both directions, and nothing of them stays', async (t) => {
  const host = await hostOf(t)
  const written = new Map<string, number>()
  let open = 0
  const { legs, replies } = await warmUp(host, Number.POSITIVE_INFINITY, {
    async create(path) {
      open++
      return {
        async write(_bytes, _offset, length) {
          written.set(path, (written.get(path) ?? 0) + length)
          return { bytesWritten: length }
        },
        truncate: async () => {},
        async close() {
          open--
        },
      }
    },
    remove: async () => {},
  })
  t.equal(legs.length, 8)
  for (const { packetsSent, packetsReceived, refused } of legs) {
    t.ok(packetsSent > 100, `${packetsSent} packets sent`)
    t.ok(packetsReceived > packetsSent / 2, `${packetsReceived} packets received`)
    t.equal(refused, 0)
  }
  t.ok(replies > 0, `the agent asked a model ${replies} times`)
  t.equal(written.size, 8, 'each side was recorded')
  // Of five seconds, the last one is written at the end.
  for (const [path, bytes] of written) t.ok(bytes > 4 * 8000 * 2, `${path}: ${bytes} bytes`)
  t.equal(open, 0, 'no recording stays open')
  t.equal(host.frameClock.load().members, 0)
  t.strictSame(host.breakers.openKeys(), [])
})

t.test('a call that cannot be opened is told, and nothing stays', async (t) => {
  const broken = (): never => {
    throw new Error('no vendor')
  }
  const vendors: Vendors = {
    speechToText: broken,
    textToSpeech: broken,
    speechToSpeech: broken,
    languageModel: broken,
  }
  await t.rejects(warmUp(await hostOf(t, { vendors })), /no vendor/)
})
