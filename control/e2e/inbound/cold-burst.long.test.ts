import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openBot } from '../../../fixtures/bots/bot.js'
import { startServiceProcess } from '../../../fixtures/service/service-process.js'
import { writeSdp } from '../../../fixtures/sip/sdp.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'

const CALLS = 200
const PER_SECOND = 50
/** A busy host may take long to answer them all; none of them may be refused. */
const PATIENCE_MS = 120_000

t.test('200 calls at 50 a second right after the start: none is refused', { timeout: 300_000 }, async (t) => {
  const bot = await openBot(t, { keep: false })
  const service = await startServiceProcess({
    env: { PARLEY_MEDIA_WORKERS: '1', PARLEY_ALLOW_PRIVATE_URLS: 'true' },
    byoCalls: 2 * CALLS,
  })
  t.teardown(() => service.close())
  const numbers = (await service.api('GET', '/v1/numbers')) as {
    readonly data: readonly { readonly id: string; readonly e164: string }[]
  }
  const [number] = numbers.data
  if (number === undefined) throw new Error('there is no sandbox number')
  await service.api('PATCH', `/v1/numbers/${number.id}`, {
    routingMode: 'byo_ws',
    recordCalls: false,
    mediaEndpoint: { type: 'jambonz', format: 'linear16', sampleRate: 8000, url: `${bot.url}/` },
  })
  const peer = await openSipPeer({ transport: 'udp' })
  t.teardown(() => peer.close())
  const target = { address: '127.0.0.1', port: service.sipPort }
  const finals: Promise<number>[] = []
  const dialogs = []
  for (let i = 0; i < CALLS; i++) {
    const dialog = peer.invite({
      uri: `sip:${number.e164}@${target.address}:${target.port}`,
      target,
      from: `sip:+9198${20_000_000 + i}@127.0.0.1`,
      sdp: writeSdp({
        address: '127.0.0.1',
        port: 40_000 + 2 * i,
        codecs: ['PCMA'],
        dtmfPayloadType: 101,
        direction: 'sendrecv',
      }),
    })
    dialogs.push(dialog)
    finals.push(dialog.final(PATIENCE_MS))
    await sleep(1000 / PER_SECOND)
  }
  const counts = new Map<number, number>()
  for (const status of await Promise.all(finals)) counts.set(status, (counts.get(status) ?? 0) + 1)
  t.strictSame([...counts], [[200, CALLS]])
  for (const dialog of dialogs) dialog.bye()
  await Promise.all(dialogs.map((dialog) => dialog.ended(PATIENCE_MS)))
})
